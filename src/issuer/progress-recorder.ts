/**
 * Records how far wallets have come in a session, which the status of the session reports. The progress has a row of
 * its own beside the session's and is written up to a second later: no request waits for the write, and the write
 * conflicts with no request that changes the session. A session has one such row, however often wallets are refused.
 */
import type { Retention } from '../config/retention.ts'
import type { Effects } from '../http/effects.ts'
import type { Change, UpdateEffects } from '../store/store.ts'
import type { IssuerCollections } from './collections.ts'
import { endOfIssuance, type IssuanceSession } from './session.ts'
import { joinProgress, type SessionProgress } from './session-progress.ts'

export interface ProgressRecorder {
  /** Queues progress of a session that exists for the next write. */
  add(sessionId: string, progress: SessionProgress): void
  /**
   * Queues progress for the next write, which drops it where the session does not exist. Progress is dropped at once
   * where the id cannot be that of a session, or ten thousand ids wait to be looked up.
   */
  addIfExists(sessionId: string, progress: SessionProgress): void
  /** Returns when the offer was fetched, where that is not written yet. */
  getUnwrittenFetchTime(sessionId: string): number | undefined
  /** Drops when the offer was fetched, since it was written with the session itself. */
  forgetUnwrittenFetchTime(sessionId: string): void
  /** Reads the progress of a session, also what this process has queued. */
  read(sessionId: string): Promise<SessionProgress>
  /** Writes at once what is not written yet, and resolves when it is. */
  finish(): Promise<void>
}

const PAUSE_MS = 1000
const MAX_UNCHECKED = 10_000
/** The most characters of an id that is looked up: ids of sessions have 32, and a stranger may send any text. */
const MAX_ID = 64
const NOTHING = { committed: undefined }

/**
 * Makes a recorder that collects what wallets do and writes it to the store in rounds. Each row is purged when
 * `retention` has its session purged.
 */
export function createProgressRecorder(
  { store, retryOnConflict, log }: Pick<Effects<IssuerCollections>, 'store' | 'retryOnConflict' | 'log'>,
  retention: Retention,
): ProgressRecorder {
  const queue = createQueue(store)
  const reader = createReader(store, queue.getQueued)
  let timer: NodeJS.Timeout | undefined
  let writing = Promise.resolve()
  const write = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    writing = writing
      .then(async () => {
        // The progress are taken when the write before has ended, so that no more than one write waits beside what is
        // queue. The progress are written together: commits at the same time share one fsync.
        await reader.finishReads()
        const progressById = [...queue.take()]
        await Promise.all(
          progressById.map(([id, progress]) => writeProgress({ store, retryOnConflict }, id, progress, retention)),
        )
      })
      .catch((err: unknown) => log.warn({ event: 'progress_not_written', err }, 'progress was not written'))
    return writing
  }
  const writeSoon = (): void => {
    timer ??= setTimeout(() => void write(), PAUSE_MS).unref()
  }
  return {
    add: (sessionId, progress) => {
      queue.add(sessionId, progress)
      writeSoon()
    },
    addIfExists: (sessionId, progress) => {
      queue.addIfExists(sessionId, progress)
      writeSoon()
    },
    getUnwrittenFetchTime: (sessionId) => queue.getQueued(sessionId).offerFetchedAt,
    forgetUnwrittenFetchTime: (sessionId) => queue.forgetUnwrittenFetchTime(sessionId),
    read: (sessionId) => writing.then(() => reader.read(sessionId)),
    finish: write,
  }
}

/**
 * Makes a reader of the rows, which joins what `getQueued` returns. The queue is not emptied while a read runs, so that
 * each piece of progress is either in the row or joined to it, and never both or neither.
 */
function createReader(store: UpdateEffects<IssuerCollections>['store'], getQueued: (id: string) => SessionProgress) {
  const reads = new Set<Promise<unknown>>()
  return {
    read: async (id: string): Promise<SessionProgress> => {
      const read = store.get('issuance_progress', id)
      reads.add(read)
      try {
        const row = await read
        return joinProgress(row?.value ?? {}, getQueued(id))
      } finally {
        reads.delete(read)
      }
    },
    /** Resolves when the reads that have begun have ended, whether or not they failed. */
    finishReads: () => Promise.allSettled(reads),
  }
}

/** Creates a queue of progress by the ids of sessions. */
function createQueue(store: UpdateEffects<IssuerCollections>['store']) {
  let unwritten = new Map<string, SessionProgress>()
  /** The ids of {@link unwritten} of which it is not known whether there is such a session. */
  let unchecked = new Set<string>()
  const getQueued = (sessionId: string): SessionProgress => unwritten.get(sessionId) ?? {}
  const add = (sessionId: string, progress: SessionProgress): void => {
    unwritten.set(sessionId, joinProgress(getQueued(sessionId), progress))
  }
  /**
   * Drops the progress of a session that does not exist. Where the session cannot be looked up, the write of the
   * progress fails too, and says why.
   */
  const check = async (sessionId: string): Promise<void> => {
    const [progressById, ids] = [unwritten, unchecked]
    const session = await store.get('issuance_session', sessionId)
    if (session === undefined) progressById.delete(sessionId)
    ids.delete(sessionId)
  }
  return {
    getQueued,
    add,
    addIfExists: (sessionId: string, progress: SessionProgress): void => {
      const isNew = !unwritten.has(sessionId)
      if (sessionId.length > MAX_ID || (isNew && unchecked.size >= MAX_UNCHECKED)) return
      add(sessionId, progress)
      if (!isNew) return
      unchecked.add(sessionId)
      check(sessionId).catch(() => undefined)
    },
    forgetUnwrittenFetchTime: (sessionId: string): void => {
      const { problem, earlier } = getQueued(sessionId)
      if (problem === undefined) unwritten.delete(sessionId)
      else unwritten.set(sessionId, { problem, ...(earlier && { earlier }) })
    },
    take: (): ReadonlyMap<string, SessionProgress> => {
      const progressById = unwritten
      unwritten = new Map()
      unchecked = new Set()
      return progressById
    },
  }
}

/** Writes progress of a session, unless the session is missing or all of the progress is stored already. */
function writeProgress(
  { store, retryOnConflict }: UpdateEffects<IssuerCollections>,
  id: string,
  progress: SessionProgress,
  retention: Retention,
): Promise<void> {
  return retryOnConflict<undefined>(async () => {
    const [session, row] = await Promise.all([store.get('issuance_session', id), store.get('issuance_progress', id)])
    if (session === undefined) return NOTHING
    if (row?.value.offerFetchedAt !== undefined && progress.problem === undefined) return NOTHING
    const value = joinProgress(row?.value ?? {}, progress)
    const dueAt = purgeTimeOf(session.value, retention)
    const change: Change<IssuerCollections> =
      row === undefined
        ? { insert: 'issuance_progress', id, value, dueAt }
        : { update: 'issuance_progress', id, version: row.version, value, dueAt }
    // Where another process was first, its progress counts too.
    const conflict = await store.commit([change])
    return conflict === undefined ? NOTHING : { conflict }
  })
}

/**
 * Returns when the row can be purged. The session itself may stay longer where it is refreshed; every write computes
 * the time anew.
 */
function purgeTimeOf(session: IssuanceSession, { sessionSeconds }: Retention): Date {
  return new Date(endOfIssuance(session) + ((session.refreshSeconds ?? 0) + sessionSeconds) * 1000)
}
