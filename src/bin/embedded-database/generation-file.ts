/**
 * The file beside an embedded database that identifies the database as it was at the last start of its service: it has
 * a random text, the witness, which the database has too. It also records whether the database was closed since.
 * docs/decisions/0010-generations.md.
 */
import { existsSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { PRIVATE } from '../files/directory.ts'
import { flushToDisk } from '../files/flush-to-disk.ts'
import { runUnlessOpen } from './open-lock.ts'

/** Why the latest changes of a database may be missing. */
export const WAL_MISSING = 'its log was taken away after a service had ended without closing it'
/** The last line of the file from the start of the service until the last process has closed the database. */
const OPEN = 'open'
/** The last line of the file from the moment when the WAL was found missing until a start has handled that. */
const WAL_GONE = 'log-missing'

/** Returns the path of the file. Backups do not include it. */
export function generationFile(databaseFile: string): string {
  return `${databaseFile}-generation`
}

/**
 * Returns the witnesses; none if the file does not exist, or was copied and so does not have its recorded identity.
 * Throws a message for the operator if the file cannot be read.
 */
export function readWitnesses(file: string): readonly string[] {
  try {
    return readLines(file).filter((line) => line !== OPEN && line !== WAL_GONE)
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return []
    const advice =
      'let the user of the service read it. Without it a service takes its database for a copy, and voids what is open'
    throw new Error(`${file} cannot be read (${code}): ${advice}`, { cause: error })
  }
}

/**
 * Tests whether the WAL of a database was removed: a service did not close the database, and there is no WAL, which
 * would have the latest changes.
 */
export function isWalMissing(databaseFile: string): boolean {
  const lastLine = readLastLine(generationFile(databaseFile))
  return lastLine === WAL_GONE || (lastLine === OPEN && !existsSync(`${databaseFile}-wal`))
}

function readLastLine(file: string): string | undefined {
  try {
    return readLines(file).at(-1)
  } catch {
    // The file does not exist, or cannot be read, which makes a start fail.
    return undefined
  }
}

/**
 * Records that a database is closed, if no service has it open and its WAL is missing or empty. The last connection
 * removes the WAL after moving all of it into the file.
 */
export async function noteClosed(databaseFile: string): Promise<void> {
  const [file, wal] = [generationFile(databaseFile), `${databaseFile}-wal`]
  if (readLastLine(file) !== OPEN) return
  await runUnlessOpen(databaseFile, () => {
    const walBytes = existsSync(wal) ? (statSync(wal, { throwIfNoEntry: false })?.size ?? 0) : 0
    // Only truncates the file, so that it keeps its owner and stays valid at any interruption.
    if (walBytes > 0 || readLastLine(file) !== OPEN) return
    truncateSync(file, statSync(file).size - `${OPEN}\n`.length)
    flushToDisk(file)
  })
}

/**
 * Runs `work`, which opens and closes a database, and records that it is closed. If the WAL was missing before, that
 * stays recorded.
 */
export async function withClosingNoted<T>(databaseFile: string, work: () => Promise<T>): Promise<T> {
  const wasMissing = isWalMissing(databaseFile)
  try {
    return await work()
  } finally {
    if (!wasMissing) await noteClosed(databaseFile)
  }
}

/** Runs `work`, which reads a database. If the WAL was missing before, removes the empty one that SQLite creates. */
export async function withMissingWalKept<T>(databaseFile: string, work: () => Promise<T>): Promise<T> {
  const wasMissing = isWalMissing(databaseFile)
  try {
    return await work()
  } finally {
    const wal = `${databaseFile}-wal`
    if (wasMissing && existsSync(wal) && statSync(wal).size === 0) rmSync(wal)
  }
}

/** Returns the lines after the identity; none if the file was copied, so that its identity differs. */
function readLines(file: string): readonly string[] {
  const [identity, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n')
  return identity === identityOf(file) ? lines : []
}

/** Returns the identity of a file: its inode and its time of creation, which a copy does not have. */
function identityOf(file: string): string {
  const { ino, birthtimeNs } = statSync(file, { bigint: true })
  return `${ino}.${birthtimeNs}`
}

/** Writes the witnesses; with `state`, also that the database is open from now on, or that its WAL is missing. */
export function writeWitnesses(file: string, witnesses: readonly string[], state?: 'open' | 'log-missing'): void {
  const temporary = `${file}.${process.pid}`
  try {
    writeFileSync(temporary, '', { mode: PRIVATE })
    writeFileSync(temporary, `${[identityOf(temporary), ...witnesses, ...(state ? [state] : [])].join('\n')}\n`)
    // The database stores the new witness next: a file that a power cut set back would make it look like a copy.
    flushToDisk(temporary)
    renameSync(temporary, file)
    flushToDisk(dirname(file))
  } catch (error) {
    // A full disk leaves an empty file.
    rmSync(temporary, { force: true })
    throw error
  }
}
