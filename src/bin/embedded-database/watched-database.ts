/**
 * Watches the file of an embedded database. SQLite continues to use a deleted file, and its writes are lost; and it
 * notices a damaged page only when it reads the page. The store refuses all calls once the file is damaged, or its path
 * or the configured symbolic link does not lead to the opened file any more.
 */
import { accessSync, constants, statfsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Logger } from 'pino'
import type { DatabasePath } from '../../config/database.ts'
import { hasResultCode } from '../../store/sqlite-error.ts'
import type { Store } from '../../store/store.ts'
import { type FileState, type OpenedFile, openDatabaseFile } from './database-file.ts'
import { createPageCheck, type FindDamage } from './database-pages.ts'
import { findWalProblem, readWalState } from './database-wal.ts'

const CHECK_EVERY_MS = 500
/** The free space below which a service is not ready. */
const LEAST_FREE_BYTES = 1024 * 1024
/** How long a service is not ready after a failed write. */
const REMEMBERED_MS = 5000
/** The errors of a disk that is full or broken, or of a read-only database. */
const MEDIUM_ERRORS = ['full', 'ioError', 'readOnly'] as const
/** The errors of a damaged database, a file that is not a database, and a truncated file. */
const DAMAGE_ERRORS = ['corrupt', 'notADatabase', 'shortRead'] as const

const FILE_REMOVED = 'the database file was taken away; put it back, or a backup of it, and start again'
const FILE_REPLACED = 'another file was put in the place of the database, or into it; start again to use that'
const FILE_DAMAGED = 'the database is damaged; put back a backup, and start again'
const FILE_TRUNCATED = 'the database file was cut off; put back a backup, and start again'

/** The last write that the disk refused, and when. */
interface WriteRefusal {
  readonly at: number
  readonly error: unknown
}

/** Watches whether the file exists and can be written. */
interface Watch extends Pick<LossWatch, 'endWatch'> {
  /** Returns the result of `work`. Rejects after the file was lost. */
  runGuarded<T>(work: () => Promise<T>): Promise<T>
  /** Rejects if the file cannot be written. */
  checkDisk(): Promise<void>
}

interface LossWatch {
  /** Stores the loss and logs it, unless there was one before. */
  noteLoss(loss: Loss | undefined): void
  /** Throws after the file was lost. */
  refuseLost(): void
  /** Throws while the file cannot be looked at. */
  refuseUnchecked(): void
  /** Stops watching after a last check. Returns the loss of the file, if any. */
  endWatch(): Promise<Loss | undefined>
}

/** How the file was lost. */
interface Loss {
  readonly problem: string
  /** Whether the content is damaged, so that closing the database could damage it further. */
  readonly isDamaged: boolean
}

/**
 * Wraps the store. Reads and writes are rejected after `file` or its WAL was deleted, replaced, truncated or damaged.
 * The loss is logged once.
 */
export function watchDatabase<C>(store: Store<C>, path: DatabasePath, log: Logger, findDamage: FindDamage): Store<C> {
  const { file } = path
  const openedFile = openDatabaseFile(file)
  const watch = watchFile(path, openedFile, findDamage, log)
  return {
    ...store,
    get: (collection, id) => watch.runGuarded(() => store.get(collection, id)),
    list: (collection) => watch.runGuarded(() => store.list(collection)),
    listDue: (collection, now, limit, after) => watch.runGuarded(() => store.listDue(collection, now, limit, after)),
    listNewest: (collection, limit, after) => watch.runGuarded(() => store.listNewest(collection, limit, after)),
    purge: (collection, now) => watch.runGuarded(() => store.purge(collection, now)),
    commit: (changes) => watch.runGuarded(() => store.commit(changes)),
    tidy: () => watch.runGuarded(() => store.tidy?.() ?? Promise.resolve()),
    checkDisk: () => watch.checkDisk(),
    close: async () => {
      const loss = await watch.endWatch()
      // A damaged database is not closed, so that the WAL is not moved into the file.
      if (loss?.isDamaged !== true) {
        await store.close()
        openedFile.close()
      }
      if (loss) throw new Error(`${file}: ${loss.problem}; what was answered shortly before may be lost`)
    },
  }
}

function watchFile(path: DatabasePath, openedFile: OpenedFile, findDamage: FindDamage, log: Logger): Watch {
  const losses = watchForLoss(path, openedFile, findDamage, log)
  let refusal: WriteRefusal | undefined
  return {
    runGuarded: async (work) => {
      losses.refuseLost()
      const result = await work().catch((error: unknown) => {
        if (hasResultCode(error, ...DAMAGE_ERRORS)) losses.noteLoss({ problem: FILE_DAMAGED, isDamaged: true })
        if (hasResultCode(error, ...MEDIUM_ERRORS)) refusal = { at: performance.now(), error }
        throw error
      })
      // The file may have been lost during the write.
      losses.refuseLost()
      return result
    },
    checkDisk: () =>
      new Promise((resolve) => {
        losses.refuseLost()
        losses.refuseUnchecked()
        refuseUnwritable(path.file, refusal)
        resolve()
      }),
    endWatch: () => losses.endWatch(),
  }
}

/** Checks regularly whether the file was lost. */
function watchForLoss(path: DatabasePath, openedFile: OpenedFile, findDamage: FindDamage, log: Logger): LossWatch {
  const { file } = path
  const findLoss = createFileCheck(path, openedFile)
  const checkPages = createPageCheck(file, findDamage, log)
  let loss: Loss | undefined
  const looks = createLooks(file, log)
  const noteLoss = (newLoss: Loss | undefined): void => {
    if (loss !== undefined || newLoss === undefined) return
    loss = newLoss
    log.fatal({ event: 'database_lost', problem: loss.problem }, `${file}: ${loss.problem}`)
  }
  const checkFile = (): void => {
    if (loss === undefined) looks.run(() => noteLoss(findLoss()))
  }
  const check = async (): Promise<void> => {
    checkFile()
    if (loss !== undefined || !(await checkPages())) return
    // The file may have been replaced while its pages were checked.
    checkFile()
    noteLoss({ problem: FILE_DAMAGED, isDamaged: true })
  }
  let lastCheck: Promise<void> | undefined
  const timer = setInterval(() => {
    lastCheck = check()
  }, CHECK_EVERY_MS).unref()
  return {
    noteLoss,
    refuseLost: () => {
      if (loss !== undefined) throw new Error(`${file}: ${loss.problem}`)
    },
    refuseUnchecked: () => looks.refuseFailed(),
    endWatch: async () => {
      clearInterval(timer)
      await lastCheck
      checkFile()
      return loss
    },
  }
}

/** Runs looks at a file, and keeps the error of the last one. */
interface Looks {
  /** Runs a look. If it fails, logs that, unless the one before it failed too. */
  run(look: () => void): void
  /** Throws if the last look failed. */
  refuseFailed(): void
}

function createLooks(file: string, log: Logger): Looks {
  const message = `${file}: this process cannot look at the file, and so would not notice its loss`
  let failure: unknown
  return {
    run: (look) => {
      try {
        look()
        failure = undefined
      } catch (err) {
        // This process may not search the directory any more, has too many files open, or the disk fails.
        if (failure === undefined) log.error({ event: 'database_unchecked', err }, message)
        failure = err
      }
    },
    refuseFailed: () => {
      if (failure !== undefined) throw new Error(message, { cause: failure })
    },
  }
}

/** Creates the function that returns how the file or its WAL was lost; undefined if they were not. */
function createFileCheck({ file, link = file }: DatabasePath, openedFile: OpenedFile): () => Loss | undefined {
  const fileAtOpening = statSync(file)
  let stateBefore = openedFile.readState()
  const findWalLoss = createWalCheck(file)
  return () => {
    // The WAL is beside the file, so that its own path must lead to it as well as the link.
    for (const path of [file, link]) {
      const current = statSync(path, { throwIfNoEntry: false })
      if (current === undefined) return { problem: FILE_REMOVED, isDamaged: false }
      const isSame = current.ino === fileAtOpening.ino && current.dev === fileAtOpening.dev
      if (!isSame) return { problem: FILE_REPLACED, isDamaged: false }
    }
    const state = openedFile.readState()
    const problem = stateProblem(state, stateBefore)
    stateBefore = state
    if (problem !== undefined) return { problem, isDamaged: false }
    return findWalLoss()
  }
}

/** Creates the function that returns how the WAL of a file was lost; undefined if it was not. */
function createWalCheck(file: string): () => Loss | undefined {
  let before = readWalState(file)
  return () => {
    let wal = readWalState(file)
    let loss = findWalProblem(wal, before)
    if (loss !== undefined) {
      // The WAL may have been restarted while it was read.
      wal = readWalState(file)
      loss = findWalProblem(wal, before)
    }
    before = wal ?? before
    return loss
  }
}

function stateProblem(state: FileState | undefined, before: FileState | undefined): string | undefined {
  if (state === undefined) return FILE_TRUNCATED
  if (!state.hasWal || state.walCount < (before?.walCount ?? 0)) return FILE_REPLACED
  return state.isWhole ? undefined : FILE_TRUNCATED
}

/** Throws if the disk refused a write recently, or the file cannot be written now. */
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
