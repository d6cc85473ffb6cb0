/**
 * Watches the file of an embedded database: SQLite goes on with a file that was deleted, and its writes are lost. When
 * the path is no longer the opened file, the store refuses everything.
 */
import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Logger } from 'pino'
import type { Store } from '../store/store.ts'
import { type FileState, type OpenedFile, openDatabaseFile } from './database-file.ts'
import { findLogProblem, readLogState } from './database-log.ts'

const CHECK_EVERY_MS = 500
/** The free space below which a service is not ready, before its writes fail. */
const LEAST_FREE_BYTES = 1024 * 1024
/** The time for which a failed write keeps a service from being ready. */
const REMEMBERED_MS = 5000
/** SQLite result codes: the disk is full, or broken; the database can only be read. */
const MEDIUM_ERRORS: readonly number[] = [13, 10, 8]
/**
 * SQLite result codes: the database is damaged; the file is not a database; a file or its log is shorter than it was.
 */
const DAMAGE_ERRORS: readonly number[] = [11, 26, 522]

const FILE_REMOVED = 'the database file was taken away; put it back, or a backup of it, and start again'
const FILE_REPLACED = 'another file was put in the place of the database, or into it; start again to use that'
const FILE_DAMAGED = 'the database is damaged; put back a backup, and start again'
const FILE_TRUNCATED = 'the database file was cut off; put back a backup, and start again'

/** The last write that the disk refused, with its time by the clock of this process. */
interface WriteRefusal {
  readonly at: number
  readonly error: unknown
}

/** Watches the file: whether it exists, and whether it can be written. */
interface Watch {
  /** Returns the result of `work`; rejects when the file is lost, and from then on. */
  runGuarded<T>(work: () => Promise<T>): Promise<T>
  /** Rejects while the file cannot be written. */
  checkMedium(): Promise<void>
  /** Ends the watch with a last check; returns the problem when the file is lost. */
  endWatch(): Loss | undefined
}

/** The problem of a file that is lost. */
interface Loss {
  readonly problem: string
  /** Whether SQLite would write into the file what does not fit together, when it closes the database. */
  readonly isDamaged: boolean
}

/**
 * Wraps the store, which rejects every call after `file` or its log was deleted, replaced, truncated or damaged; the
 * loss is logged once.
 */
export function watchDatabase<C>(store: Store<C>, file: string, log: Logger): Store<C> {
  const openedFile = openDatabaseFile(file)
  const watch = watchFile(file, openedFile, log)
  return {
    ...store,
    get: (collection, id) => watch.runGuarded(() => store.get(collection, id)),
    list: (collection) => watch.runGuarded(() => store.list(collection)),
    listDue: (collection, now, limit) => watch.runGuarded(() => store.listDue(collection, now, limit)),
    listNewest: (collection, limit, after) => watch.runGuarded(() => store.listNewest(collection, limit, after)),
    purge: (collection, now) => watch.runGuarded(() => store.purge(collection, now)),
    commit: (changes) => watch.runGuarded(() => store.commit(changes)),
    tidy: () => watch.runGuarded(() => store.tidy?.() ?? Promise.resolve()),
    checkMedium: () => watch.checkMedium(),
    close: async () => {
      const loss = watch.endWatch()
      // A damaged database stays as it is: the process ends without moving the log into the file.
      if (loss?.isDamaged !== true) {
        await store.close()
        openedFile.close()
      }
      if (loss) throw new Error(`${file}: ${loss.problem}; what was answered shortly before may be lost`)
    },
  }
}

function watchFile(file: string, openedFile: OpenedFile, log: Logger): Watch {
  const findLoss = createFileCheck(file, openedFile)
  let loss: Loss | undefined
  let refusal: WriteRefusal | undefined
  const noteLoss = (newLoss: Loss | undefined): void => {
    if (loss !== undefined || newLoss === undefined) return
    loss = newLoss
    log.fatal({ event: 'database_lost', problem: loss.problem }, `${file}: ${loss.problem}`)
  }
  const checkFile = (): void => {
    if (loss === undefined) noteLoss(findLoss())
  }
  const timer = setInterval(checkFile, CHECK_EVERY_MS).unref()
  const refuseLost = (): void => {
    if (loss !== undefined) throw new Error(`${file}: ${loss.problem}`)
  }
  return {
    runGuarded: async (work) => {
      refuseLost()
      const result = await work().catch((error: unknown) => {
        if (hasResultCode(error, DAMAGE_ERRORS)) noteLoss({ problem: FILE_DAMAGED, isDamaged: true })
        if (hasResultCode(error, MEDIUM_ERRORS)) refusal = { at: performance.now(), error }
        throw error
      })
      // The file may have been lost during the write.
      refuseLost()
      return result
    },
    checkMedium: () =>
      new Promise((resolve) => {
        refuseLost()
        refuseUnwritable(file, refusal)
        resolve()
      }),
    endWatch: () => {
      clearInterval(timer)
      checkFile()
      return loss
    },
  }
}

/** Makes the function that returns why the paths are no longer the opened file and its log; undefined otherwise. */
function createFileCheck(file: string, openedFile: OpenedFile): () => Loss | undefined {
  const fileAtOpening = statSync(file)
  let stateBefore = openedFile.readState()
  const findLogLoss = createLogCheck(file)
  return () => {
    const current = statSync(file, { throwIfNoEntry: false })
    if (current === undefined) return { problem: FILE_REMOVED, isDamaged: false }
    const isSame = current.ino === fileAtOpening.ino && current.dev === fileAtOpening.dev
    if (!isSame) return { problem: FILE_REPLACED, isDamaged: false }
    const state = openedFile.readState()
    const problem = stateProblem(state, stateBefore)
    stateBefore = state
    if (problem !== undefined) return { problem, isDamaged: false }
    return findLogLoss()
  }
}

/** Makes the function that returns what is wrong with the log of a file; undefined while nothing is. */
function createLogCheck(file: string): () => Loss | undefined {
  let before = readLogState(file)
  return () => {
    let log = readLogState(file)
    let loss = findLogProblem(log, before)
    if (loss !== undefined) {
      // A log may have begun anew while it was read.
      log = readLogState(file)
      loss = findLogProblem(log, before)
    }
    before = log ?? before
    return loss
  }
}

function stateProblem(state: FileState | undefined, before: FileState | undefined): string | undefined {
  if (state === undefined) return FILE_TRUNCATED
  if (!state.hasLog || state.logCount < (before?.logCount ?? 0)) return FILE_REPLACED
  return state.isWhole ? undefined : FILE_TRUNCATED
}

/** Throws when the disk has refused a write a moment ago, or the file cannot be written now. */
function refuseUnwritable(file: string, refusal: WriteRefusal | undefined): void {
  if (refusal !== undefined && performance.now() - refusal.at < REMEMBERED_MS) {
    throw new Error(`${file}: the disk has refused a write`, { cause: refusal.error })
  }
  try {
    accessSync(file, constants.W_OK)
    accessSync(dirname(file), constants.W_OK)
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    const why = `this user may not write it, or the directory that it is in (${code})`
    throw new Error(`${file}: ${why}`, { cause: error })
  }
  const { bavail, bsize } = statfsSync(dirname(file))
  if (bavail * bsize < LEAST_FREE_BYTES) throw new Error(`${file}: the disk is full`)
}

/** Tests whether an error has one of `codes` of SQLite; extended codes have the others in their lowest byte. */
function hasResultCode(error: unknown, codes: readonly number[]): boolean {
  const code = (error as { readonly errcode?: number }).errcode
  return code !== undefined && (codes.includes(code) || codes.includes(code & 0xff))
}
