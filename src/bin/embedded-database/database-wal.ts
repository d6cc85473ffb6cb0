/**
 * The write-ahead log of an embedded database that is open in this process. SQLite continues to use a deleted WAL, and
 * its content is lost with the process. SQLite documentation, The Write-Ahead Log.
 */
import { closeSync, existsSync, fstatSync, openSync } from 'node:fs'
import { readFrom } from './rollback-journal.ts'

/** The state of a WAL: its identity, its size, and the beginning of its header. */
export interface WalState {
  readonly identity: string
  /** The size of the file in bytes. */
  readonly size: number
  /** The magic number; 0 if the file is empty. */
  readonly magic: number
  /** The salts, which are random for each WAL. */
  readonly salts: string
}

const HEADER_BYTES = 32
/** The magic numbers, one for each byte order of the checksums. */
const MAGICS: readonly number[] = [0x377f0682, 0x377f0683]

const WAL_REMOVED =
  'its log (-wal) was taken away or replaced; stop the service, which writes into the file what it still has, and start it again'
const WAL_TRUNCATED = 'its log (-wal) was cut off or overwritten; put back a backup, and start again'

/** Returns the state of the WAL of a database; undefined if there is none. */
export function readWalState(databaseFile: string): WalState | undefined {
  const file = `${databaseFile}-wal`
  if (!existsSync(file)) return undefined
  const descriptor = openSync(file, 'r')
  try {
    // Reads the header before the size: a WAL that restarts in between is then not larger than expected. An empty file
    // is read as zeros.
    const header = Buffer.concat([readFrom(descriptor, 0, HEADER_BYTES)], HEADER_BYTES)
    const { ino, dev, size } = fstatSync(descriptor)
    return { identity: `${dev}.${ino}`, size, magic: header.readUInt32BE(0), salts: header.toString('hex', 16, 24) }
  } finally {
    closeSync(descriptor)
  }
}

/** Returns how the WAL was lost since `before`; undefined if it was not, or did not exist before. */
export function findWalProblem(
  wal: WalState | undefined,
  before: WalState | undefined,
): { readonly problem: string; readonly isDamaged: boolean } | undefined {
  if (before !== undefined && wal?.identity !== before.identity) return { problem: WAL_REMOVED, isDamaged: false }
  if (wal === undefined || wal.size === 0) return undefined
  const isShorter = before !== undefined && wal.salts === before.salts && wal.size < before.size
  return isShorter || !MAGICS.includes(wal.magic) ? { problem: WAL_TRUNCATED, isDamaged: true } : undefined
}
