/**
 * The lock file beside an embedded database. With it, the processes of a service start one after the other, and the
 * process that closes the database knows whether another one still has it open.
 */
import { accessSync, constants, existsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { loadDriver } from '../../store/sqlite.ts'
import { lockFile } from '../../store/sqlite-lock.ts'

/**
 * How often the exclusive lock is tried. Processes that close the database at the same moment keep it from each other,
 * each for less than a millisecond; a mark lasts.
 */
const EXCLUSIVE_TRIES = 10
const TRY_PAUSE_MS = 5

/** Returns the path of the lock file, which is empty and not part of backups. */
export function lockFileOf(databaseFile: string): string {
  return `${databaseFile}-generation-lock`
}

/** Runs `start` in turn, and marks the database as open. Returns a function that ends the mark. */
export function startInTurn(databaseFile: string, start: () => Promise<void>): Promise<() => void> {
  return runInStartTurn(databaseFile, async () => {
    await start()
    return markOpen(lockFileOf(databaseFile))
  })
}

/**
 * Runs `work` while no other process runs one on the database. Rejects with the code `EBUSY` when other processes do
 * for seconds.
 */
export async function runInStartTurn<T>(databaseFile: string, work: () => Promise<T> | T): Promise<T> {
  const file = lockFileOf(databaseFile)
  refuseUnwritable(file)
  const endTurn = await lockFile(file, 'immediate')
  if (endTurn === undefined) {
    const message = 'other processes have been starting on it for seconds; start again'
    throw Object.assign(new Error(message), { code: 'EBUSY' })
  }
  try {
    return await work()
  } finally {
    endTurn()
  }
}

/** Takes a shared lock, which allows the turn of another process and no exclusive lock. */
async function markOpen(file: string): Promise<() => void> {
  const mark = new (await loadDriver())(file)
  try {
    // A transaction that has read keeps its lock.
    mark.exec('begin')
    mark.prepare('select count(*) from sqlite_master').get()
  } catch (error) {
    mark.close()
    throw error
  }
  return () => {
    mark.exec('rollback')
    mark.close()
  }
}

/** Runs `work` unless a process has the database marked as open, or the lock file cannot be used. */
export async function runUnlessOpen(databaseFile: string, work: () => void): Promise<void> {
  const file = lockFileOf(databaseFile)
  // A process of another user must not make the file, which the service could not write then.
  if (!existsSync(file)) {
    work()
    return
  }
  const lock = await lockUnlessOpen(file)
  if (!('release' in lock)) return
  try {
    work()
  } finally {
    lock.release()
  }
}

/** Tests whether a process has the database marked as open. Returns false where this user cannot know that. */
export async function isMarkedOpen(databaseFile: string): Promise<boolean> {
  const file = lockFileOf(databaseFile)
  if (!existsSync(file)) return false
  const lock = await lockUnlessOpen(file)
  if ('isOpen' in lock) return lock.isOpen === true
  lock.release()
  return false
}

/** The exclusive lock; or why there is none: a process has the database marked as open, or undefined if unknown. */
type ExclusiveLock = { readonly release: () => void } | { readonly isOpen: true | undefined }

/** Takes the exclusive lock. It is not known whether the database is open where this user cannot use the file. */
async function lockUnlessOpen(file: string): Promise<ExclusiveLock> {
  try {
    refuseUnwritable(file)
    for (let tries = 1; ; tries++) {
      const release = await lockFile(file, 'exclusive', 0)
      if (release !== undefined) return { release }
      if (tries === EXCLUSIVE_TRIES) return { isOpen: true }
      await pause(TRY_PAUSE_MS)
    }
  } catch {
    return { isOpen: undefined }
  }
}

/** Throws where this user may only read the file: SQLite would take no lock, and not say so. */
function refuseUnwritable(file: string): void {
  if (!existsSync(file)) return
  try {
    accessSync(file, constants.W_OK)
  } catch (error) {
    throw new Error(`${file}: this user may not write it; give it to the user of the service`, { cause: error })
  }
}
