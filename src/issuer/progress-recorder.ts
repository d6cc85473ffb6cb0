/**
 * Records the progress of wallets for the session status: fetched offers, and refused requests. Progress is stored in
 * its own row and up to a second later, so that requests do not wait for the write, and the write does not conflict
 * with changes of the session. Each session has at most one such row.
 */
import type { Retention } from '../config/retention.ts'
import type { Effects } from '../http/effects.ts'
import type { Change, UpdateEffects } from '../store/store.ts'
import type { IssuerCollections } from './collections.ts'
import { endOfIssuance, type IssuanceSession } from './session.ts'
import { joinProgress, type SessionProgress } from './session-progress.ts'

export interface ProgressRecorder {
  /** Queues progress of an existing session for the next write. */
  add(sessionId: string, progress: SessionProgress): void
  /**
   * Queues progress for the next write, unless the session does not exist. Drops the progress at once if the id cannot
   * be a session id, or if 10,000 ids wait for their look-up.
   */
  addIfExists(sessionId: string, progress: SessionProgress): void
  /** Returns when the offer was fetched, if that is still queued. */
  getUnwrittenFetchTime(sessionId: string): number | undefined
  /** Removes the fetch time from the queue, after it was stored with the session itself. */
  forgetUnwrittenFetchTime(sessionId: string): void
  /** Returns the progress of a session, including what is queued in this process. */
  read(sessionId: string): Promise<SessionProgress>
  /** Writes the queue, and resolves when it is written. */
  finish(): Promise<void>
}

const PAUSE_MS = 1000
const NOT_WRITTEN = 'progress was not written, and statuses lack it; look at the database'
const MAX_UNCHECKED = 10_000
/** The maximum length of an id that is looked up. Session ids have 32 characters. */
const MAX_ID = 64
const NOTHING = { committed: undefined }

/** Creates a recorder that writes its queue in rounds. Each row is purged when `retention` purges the session. */
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
        // The queue is taken after the previous write has ended, so that writes do not pile up. Its rows are committed
        // concurrently, so that they share an fsync.
        await reader.finishReads()
        const progressById = [...queue.take()]
        await Promise.all(
          progressById.map(([id, progress]) => writeProgress({ store, retryOnConflict }, id, progress, retention)),
        )
      })
      .catch((err: unknown) => log.warn({ event: 'progress_not_written', err }, NOT_WRITTEN))
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
 * Creates a reader that joins the stored progress with the result of `getQueued`. The queue is not taken during a read,
 * so that no progress is lost or counted twice.
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
    /** Resolves when all running reads have ended, even if they failed. */
    finishReads: () => Promise.allSettled(reads),
  }
}

/** Creates a queue of progress by session id. */
function createQueue(store: UpdateEffects<IssuerCollections>['store']) {
  let unwritten = new Map<string, SessionProgress>()
  /** The ids in {@link unwritten} whose sessions have not been looked up yet. */
  let unchecked = new Set<string>()
  const getQueued = (sessionId: string): SessionProgress => unwritten.get(sessionId) ?? {}
  const add = (sessionId: string, progress: SessionProgress): void => {
    unwritten.set(sessionId, joinProgress(getQueued(sessionId), progress))
  }
  /** Drops the progress if the session does not exist. If the look-up fails, the write fails too and logs the error. */
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

/** Stores progress, unless the session is missing or nothing is new. */
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
    // After a conflict with another process, the progress of both is joined.
    const conflict = await store.commit([change])
    return conflict === undefined ? NOTHING : { conflict }
  })
}

/** Returns when the row can be purged. Each write computes it again, since a refreshed session lasts longer. */
function purgeTimeOf(session: IssuanceSession, { sessionSeconds }: Retention): Date {
  return new Date(endOfIssuance(session) + ((session.refreshSeconds ?? 0) + sessionSeconds) * 1000)
}
