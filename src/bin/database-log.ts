/**
 * The write-ahead log of an embedded database that this process has open: SQLite goes on with a log that was deleted,
 * and what is in it alone is lost with the process. SQLite documentation, The Write-Ahead Log.
 */
import { closeSync, existsSync, fstatSync, openSync } from 'node:fs'
import { readFrom } from './rollback-journal.ts'

/** The file of a log: which one it is, how long it is, and the first bytes of its header. */
export interface LogState {
  readonly identity: string
  /** The bytes of the file. */
  readonly size: number
  /** The number by which a log begins; 0 in an empty one. */
  readonly magic: number
  /** The numbers that are random in each log. */
  readonly salts: string
}

const HEADER_BYTES = 32
/** The numbers by which a log begins, one for each order of bytes in its checksums. */
const MAGICS: readonly number[] = [0x377f0682, 0x377f0683]

const LOG_REMOVED =
  'its log (-wal) was taken away or replaced; stop the service, which writes into the file what it still has, and start it again'
const LOG_TRUNCATED = 'its log (-wal) was cut off or overwritten; put back a backup, and start again'

/** Reads the state of the log of a database; undefined where there is none. */
export function readLogState(databaseFile: string): LogState | undefined {
  const file = `${databaseFile}-wal`
  if (!existsSync(file)) return undefined
  const descriptor = openSync(file, 'r')
  try {
    // The header comes first: a log that begins anew in between is then shorter, and never longer, than it says. An
    // empty log has zeros here.
    const header = Buffer.concat([readFrom(descriptor, 0, HEADER_BYTES)], HEADER_BYTES)
    const { ino, dev, size } = fstatSync(descriptor)
    return { identity: `${dev}.${ino}`, size, magic: header.readUInt32BE(0), salts: header.toString('hex', 16, 24) }
  } finally {
    closeSync(descriptor)
  }
}

/** Returns the loss of a log that is no longer as it was `before`; undefined while it is, or where there was none. */
export function findLogProblem(
  log: LogState | undefined,
  before: LogState | undefined,
): { readonly problem: string; readonly isDamaged: boolean } | undefined {
  if (before !== undefined && log?.identity !== before.identity) return { problem: LOG_REMOVED, isDamaged: false }
  if (log === undefined || log.size === 0) return undefined
  const isShorter = before !== undefined && log.salts === before.salts && log.size < before.size
  return isShorter || !MAGICS.includes(log.magic) ? { problem: LOG_TRUNCATED, isDamaged: true } : undefined
}
