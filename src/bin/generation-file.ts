/**
 * The file beside an embedded database that records the last start of its service, by a random text that the database
 * has too: a witness; and whether the database was closed since. docs/decisions/0010-generations.md.
 */
import { existsSync, readFileSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'

/** The reason to believe that a database is without the newest of what was answered. */
export const LOG_MISSING = 'its log was taken away after a service had ended without closing it'
/** The line that the file ends with from a start of the service until the last process has closed the database. */
const OPEN = 'open'

/** Returns the path of the file, which is not part of backups. */
export function generationFile(databaseFile: string): string {
  return `${databaseFile}-generation`
}

/**
 * Reads the witnesses; none when the file is missing, or is a copy and so does not have the identity that it names.
 * Throws a message for the operator when the file cannot be read, since then nothing is known of the database.
 */
export function readWitnesses(file: string): readonly string[] {
  try {
    return readLines(file).filter((line) => line !== OPEN)
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return []
    const advice =
      'let the user of the service read it. Without it a service takes its database for a copy, and voids what is open'
    throw new Error(`${file} cannot be read (${code}): ${advice}`, { cause: error })
  }
}

/**
 * Tests whether the log of a database was taken away: a service used the database and did not close it, and there is no
 * log, which would have the newest of what was answered.
 */
export function isLogMissing(databaseFile: string): boolean {
  return !existsSync(`${databaseFile}-wal`) && isNotedOpen(generationFile(databaseFile))
}

function isNotedOpen(file: string): boolean {
  try {
    return readLines(file).at(-1) === OPEN
  } catch {
    // There is no such file, or it cannot be read, which a start refuses.
    return false
  }
}

/**
 * Notes that a database is closed where its log is gone or empty, as the last connection leaves it: all of it is in the
 * file then.
 */
export function noteClosed(databaseFile: string): void {
  const [file, log] = [generationFile(databaseFile), `${databaseFile}-wal`]
  const logBytes = existsSync(log) ? (statSync(log, { throwIfNoEntry: false })?.size ?? 0) : 0
  // Only the end of the file goes, so that the file stays that of its user, and whole whatever happens.
  if (logBytes === 0 && isNotedOpen(file)) truncateSync(file, statSync(file).size - `${OPEN}\n`.length)
}

/**
 * Runs `work`, which opens and closes a database that a service may have left open, and notes that it is closed where
 * that removed the log. A log that was missing before stays noticed.
 */
export async function withClosingNoted<T>(databaseFile: string, work: () => Promise<T>): Promise<T> {
  const wasMissing = isLogMissing(databaseFile)
  try {
    return await work()
  } finally {
    if (!wasMissing) noteClosed(databaseFile)
  }
}

/** Runs `work`, which reads a database, and removes the empty log that SQLite makes where the log was missing. */
export async function withMissingLogKept<T>(databaseFile: string, work: () => Promise<T>): Promise<T> {
  const wasMissing = isLogMissing(databaseFile)
  try {
    return await work()
  } finally {
    const log = `${databaseFile}-wal`
    if (wasMissing && existsSync(log) && statSync(log).size === 0) rmSync(log)
  }
}

/** Reads the lines after the identity; none where the file is a copy, so that its identity is another. */
function readLines(file: string): readonly string[] {
  const [identity, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n')
  return identity === identityOf(file) ? lines : []
}

/** Returns the identity of a file: its number and its time of creation, which a replacement does not share. */
function identityOf(file: string): string {
  const { ino, birthtimeNs } = statSync(file, { bigint: true })
  return `${ino}.${birthtimeNs}`
}

/** Writes the witnesses, and whether a service has the database open from now on. */
export function writeWitnesses(file: string, witnesses: readonly string[], isOpen = false): void {
  const temporary = `${file}.${process.pid}`
  try {
    writeFileSync(temporary, '', { mode: 0o600 })
    writeFileSync(temporary, `${[identityOf(temporary), ...witnesses, ...(isOpen ? [OPEN] : [])].join('\n')}\n`)
    renameSync(temporary, file)
  } catch (error) {
    // A full disk leaves an empty file.
    rmSync(temporary, { force: true })
    throw error
  }
}
