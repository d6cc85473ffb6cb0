/** The machine of a service: versions, file system and free space of an embedded database, and the clock. */
import { existsSync, statfsSync } from 'node:fs'
import { cpus, release, totalmem } from 'node:os'
import { dirname } from 'node:path'
import type { DatabaseConfig } from '../../config/database.ts'
import { loadDriver } from '../../store/sqlite.ts'
import { PACKAGE_VERSION } from '../terminal/command-line.ts'
import { databaseFinding, type Finding, makeFinding } from './finding.ts'

const GB = 1e9
/** The free space below which there is a warning. */
const LITTLE_BYTES = GB
/** The clock difference above which there is a warning; wallets and databases tolerate more. */
const CLOCK_SECONDS = 5

/** Linux file systems, by the magic number of statfs(2). */
const FILE_SYSTEMS: Readonly<Record<number, string>> = {
  61267: 'ext4',
  1481003842: 'xfs',
  2435016766: 'btrfs',
  801189825: 'zfs',
  16914836: 'tmpfs',
  2035054128: 'overlayfs',
  26985: 'nfs',
  4283649346: 'cifs',
  4266872130: 'smb2',
  16914839: '9p',
  1702057286: 'fuse',
}
/** File systems with unreliable locks, on which SQLite must not be used. */
const REMOTE: readonly unknown[] = ['nfs', 'cifs', 'smb2', '9p']

/** The facts about the installation and the machine. */
export interface MachineFacts {
  readonly vouchsafe: string
  readonly node: string
  readonly platform: string
  readonly processors: number
  readonly memory_bytes: number
  readonly time: string
}

export function describeMachine(at: Date): MachineFacts {
  return {
    vouchsafe: PACKAGE_VERSION,
    node: process.version,
    platform: `${process.platform} ${process.arch} ${release()}`,
    processors: cpus().length,
    memory_bytes: totalmem(),
    time: at.toISOString(),
  }
}

/**
 * Returns the findings about the storage of an embedded database; none for another database, or if it cannot be read.
 */
export async function findStorageFindings(database: DatabaseConfig): Promise<Finding[]> {
  if (database.kind !== 'sqlite' || database.file === ':memory:') return []
  try {
    const { type, bavail, bsize } = statfsSync(findExistingDirectory(database.file))
    const kind = process.platform === 'linux' ? (FILE_SYSTEMS[type] ?? `file system 0x${type.toString(16)}`) : undefined
    return describeStorage({ sqlite: await sqliteVersion(), kind, freeBytes: bavail * bsize })
  } catch {
    return []
  }
}

export function describeStorage({
  sqlite,
  kind,
  freeBytes,
}: {
  readonly sqlite: string
  readonly kind: string | undefined
  readonly freeBytes: number
}): Finding[] {
  const freeText = `${(freeBytes / GB).toFixed(1)} GB`
  const placeText = kind === undefined ? '' : ` on ${kind}`
  return [
    databaseFinding('ok', `SQLite ${sqlite}${placeText}, with ${freeText} of free space`),
    ...(REMOTE.includes(kind)
      ? [
          databaseFinding(
            'warning',
            `${kind} does not lock files reliably: put the database on a local disk, or use PostgreSQL`,
          ),
        ]
      : []),
    ...(freeBytes < LITTLE_BYTES
      ? [databaseFinding('warning', `only ${freeText} are free: make room, or use another disk`)]
      : []),
  ]
}

/** Compares the clock of this machine with another one, which may have whole seconds only. */
export function clockFinding(otherName: string, otherTime: Date, ownTime: Date): Finding {
  const seconds = (ownTime.getTime() - otherTime.getTime()) / 1000
  if (Math.abs(seconds) <= CLOCK_SECONDS)
    return makeFinding('clock', 'ok', `this machine and ${otherName} have the same time`)
  const differenceText = `${Math.round(Math.abs(seconds))} seconds ${seconds > 0 ? 'ahead of' : 'behind'}`
  return makeFinding(
    'clock',
    'warning',
    `this machine is ${differenceText} ${otherName}: set both clocks by NTP, or proofs and nonces are refused`,
  )
}

async function sqliteVersion(): Promise<string> {
  const Database = await loadDriver()
  const database = new Database(':memory:')
  try {
    return String(database.prepare('select sqlite_version() as version').get()?.version)
  } finally {
    database.close()
  }
}

/** Returns the directory of a file, or its nearest existing parent. */
export function findExistingDirectory(file: string): string {
  let directory = dirname(file)
  while (!existsSync(directory) && dirname(directory) !== directory) directory = dirname(directory)
  return directory
}
