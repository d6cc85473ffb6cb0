/**
 * An embedded database while it is used: SQLite goes on with a file that was taken away, and what it then writes is nowhere. Once the file is
 * not the one that was opened, the store gives and takes nothing more.
 */
import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Logger } from 'pino'
import type { Store } from '../store/store.ts'
import { type FileState, readFileState } from './database-file.ts'

const LOOK_EVERY_MS = 500
/** With less room than this a service is told to be not ready before its writes fail. */
const LEAST_FREE_BYTES = 1024 * 1024
/** So long a write that the disk did not take keeps a service from being ready. */
const REMEMBERED_MS = 5000
/** SQLite result codes: the disk is full, or broken; the database can only be read, or is damaged. */
const MEDIUM_ERRORS: readonly unknown[] = [13, 10, 8, 11, 26]

const TAKEN_AWAY = 'the database file was taken away; put it back, or a backup of it, and start again'
const REPLACED = 'another file was put in the place of the database, or into it; start again to use that'
const CUT_OFF = 'the database file was cut off; put back a backup, and start again'

/** Whether the file is still there, and whether it takes what is written. */
interface Watch {
  /** Gives the result of `work`; rejects instead, and afterwards, where the file is lost. */
  guarded<T>(work: () => Promise<T>): Promise<T>
  /** Rejects while the file is known not to take what is written. */
  checkMedium(): Promise<void>
  /** Looks a last time; gives why the file is lost. */
  end(): string | undefined
}

/** The store, which rejects whatever it is asked once `file` was taken away, replaced or cut off; it then says so in the log, once. */
export function watchedDatabase<C>(store: Store<C>, file: string, log: Logger): Store<C> {
  const watch = watchFile(file, log)
  return {
    ...store,
    get: (collection, id) => watch.guarded(() => store.get(collection, id)),
    list: (collection) => watch.guarded(() => store.list(collection)),
    due: (collection, now, limit) => watch.guarded(() => store.due(collection, now, limit)),
    purge: (collection, now) => watch.guarded(() => store.purge(collection, now)),
    commit: (changes) => watch.guarded(() => store.commit(changes)),
    tidy: () => watch.guarded(() => store.tidy?.() ?? Promise.resolve()),
    checkMedium: () => watch.checkMedium(),
    close: async () => {
      const lost = watch.end()
      await store.close()
      if (lost !== undefined) throw new Error(`${file}: ${lost}; what was answered shortly before may be lost`)
    },
  }
}

function watchFile(file: string, log: Logger): Watch {
  const lookAt = lookout(file)
  let lost: string | undefined
  let refusedAt = -Infinity
  const look = (): void => {
    if (lost !== undefined) return
    lost = lookAt()
    if (lost !== undefined) log.fatal({ event: 'database_lost', problem: lost }, `${file}: ${lost}`)
  }
  const timer = setInterval(look, LOOK_EVERY_MS).unref()
  const refuseLost = (): void => {
    if (lost !== undefined) throw new Error(`${file}: ${lost}`)
  }
  return {
    guarded: async (work) => {
      refuseLost()
      const result = await work().catch((error: unknown) => {
        if (isOfMedium(error)) refusedAt = performance.now()
        throw error
      })
      // The file may have gone while this was written.
      refuseLost()
      return result
    },
    checkMedium: () =>
      new Promise((resolve) => {
        refuseLost()
        const isRefusing = performance.now() - refusedAt < REMEMBERED_MS
        const problem = isRefusing ? 'the disk has refused a write' : mediumProblem(file)
        if (problem !== undefined) throw new Error(`${file}: ${problem}`)
        resolve()
      }),
    end: () => {
      clearInterval(timer)
      look()
      return lost
    },
  }
}

/** The function that says, in words, why the file is not any more the one that was opened. */
function lookout(file: string): () => string | undefined {
  const opened = statSync(file)
  let before = readFileState(file)
  return () => {
    const current = statSync(file, { throwIfNoEntry: false })
    if (current === undefined) return TAKEN_AWAY
    if (current.ino !== opened.ino || current.dev !== opened.dev) return REPLACED
    const state = readFileState(file)
    const problem = stateProblem(state, before)
    before = state
    return problem
  }
}

function stateProblem(state: FileState | undefined, before: FileState | undefined): string | undefined {
  if (state === undefined) return CUT_OFF
  if (!state.hasLog || state.logs < (before?.logs ?? 0)) return REPLACED
  // While the log is moved into it, the file is for a moment shorter than it says.
  return state.isWhole || before?.isWhole === true ? undefined : CUT_OFF
}

function mediumProblem(file: string): string | undefined {
  try {
    accessSync(file, constants.W_OK)
    accessSync(dirname(file), constants.W_OK)
  } catch {
    return 'this user may not write it, or the directory that it is in'
  }
  const { bavail, bsize } = statfsSync(dirname(file))
  return bavail * bsize < LEAST_FREE_BYTES ? 'the disk is full' : undefined
}

function isOfMedium(error: unknown): boolean {
  const code = (error as { readonly errcode?: number }).errcode
  // The extended codes have the others in their lowest byte.
  return code !== undefined && MEDIUM_ERRORS.includes(code & 0xff)
}
