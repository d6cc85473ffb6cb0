/**
 * Watches the file of an embedded database: SQLite goes on with a file that was deleted, and its writes are lost. When
 * the path is no longer the opened file, the store refuses everything.
 */
import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Logger } from 'pino'
import type { Store } from '../store/store.ts'
import { type FileState, type OpenedFile, openDatabaseFile } from './database-file.ts'

const CHECK_EVERY_MS = 500
/** The free space below which a service is not ready, before its writes fail. */
const LEAST_FREE_BYTES = 1024 * 1024
/** The time for which a failed write keeps a service from being ready. */
const REMEMBERED_MS = 5000
/** SQLite result codes: the disk is full, or broken; the database can only be read, or is damaged. */
const MEDIUM_ERRORS: readonly unknown[] = [13, 10, 8, 11, 26]

const FILE_REMOVED = 'the database file was taken away; put it back, or a backup of it, and start again'
const FILE_REPLACED = 'another file was put in the place of the database, or into it; start again to use that'
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
  endWatch(): string | undefined
}

/** Wraps the store, which rejects every call after `file` was deleted, replaced or truncated; this is logged once. */
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
      const problem = watch.endWatch()
      await store.close()
      openedFile.close()
      if (problem !== undefined) throw new Error(`${file}: ${problem}; what was answered shortly before may be lost`)
    },
  }
}

function watchFile(file: string, openedFile: OpenedFile, log: Logger): Watch {
  const findProblem = createFileCheck(file, openedFile)
  let lossProblem: string | undefined
  let refusal: WriteRefusal | undefined
  const checkFile = (): void => {
    if (lossProblem !== undefined) return
    lossProblem = findProblem()
    if (lossProblem !== undefined)
      log.fatal({ event: 'database_lost', problem: lossProblem }, `${file}: ${lossProblem}`)
  }
  const timer = setInterval(checkFile, CHECK_EVERY_MS).unref()
  const refuseLost = (): void => {
    if (lossProblem !== undefined) throw new Error(`${file}: ${lossProblem}`)
  }
  return {
    runGuarded: async (work) => {
      refuseLost()
      const result = await work().catch((error: unknown) => {
        if (isMediumError(error)) refusal = { at: performance.now(), error }
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
      return lossProblem
    },
  }
}

/** Makes the function that returns why the path is no longer the opened file; undefined while it is. */
function createFileCheck(file: string, openedFile: OpenedFile): () => string | undefined {
  const opened = statSync(file)
  let stateBefore = openedFile.readState()
  return () => {
    const current = statSync(file, { throwIfNoEntry: false })
    if (current === undefined) return FILE_REMOVED
    if (current.ino !== opened.ino || current.dev !== opened.dev) return FILE_REPLACED
    const state = openedFile.readState()
    const problem = stateProblem(state, stateBefore)
    stateBefore = state
    return problem
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

function isMediumError(error: unknown): boolean {
  const code = (error as { readonly errcode?: number }).errcode
  // The extended codes have the others in their lowest byte.
  return code !== undefined && MEDIUM_ERRORS.includes(code & 0xff)
}
