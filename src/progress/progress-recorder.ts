/**
 * Records the progress of wallets for the session status: fetched offers and request objects, and refused requests.
 * Progress is stored in its own row and up to a second later, so that requests do not wait for the write, and the write
 * does not conflict with changes of the session. Each session has at most one such row.
 */
import type { Effects } from '../http/effects.ts'
import type { Attempt } from '../store/retry.ts'
import type { Row } from '../store/store.ts'
import { hasProgress, joinProgress, type SessionProgress } from './session-progress.ts'

/** The rows of a service's sessions, and of their progress. */
export interface ProgressRows<Session> {
  readonly findSession: (sessionId: string) => Promise<Session | undefined>
  readonly findProgress: (sessionId: string) => Promise<Row<SessionProgress> | undefined>
  /** Stores a row in the place of `before`. Returns the change if its condition did not hold. */
  readonly commitProgress: (
    content: { readonly id: string; readonly value: SessionProgress; readonly dueAt: Date },
    before: Row<SessionProgress> | undefined,
  ) => Promise<object | undefined>
  /** Returns when the row can be purged. Each write computes it again, since a refreshed session lasts longer. */
  readonly purgeTimeOf: (session: Session) => Date
  /** Returns the part of the progress that a session in its present state still shows. */
  readonly selectRelevantProgress: (session: Session, progress: SessionProgress) => SessionProgress
}

export interface ProgressRecorder {
  /** Queues progress of an existing session for the next write. */
  add(sessionId: string, progress: SessionProgress): void
  /**
   * Queues progress for the next write, unless the session does not exist. Drops the progress at once if the id cannot
   * be a session id, or if 10,000 ids wait for their look-up.
   */
  addIfExists(sessionId: string, progress: SessionProgress): void
  /** Returns the progress of a session that is still queued in this process. */
  getUnwritten(sessionId: string): SessionProgress
  /** Removes the fetch times from the queue, after they were stored with the session itself. */
  forgetUnwrittenFetch(sessionId: string): void
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

/** Creates a recorder that writes its queue in rounds. */
export function createProgressRecorder<Session>(
  { retryOnConflict, log }: Pick<Effects<unknown>, 'retryOnConflict' | 'log'>,
  rows: ProgressRows<Session>,
): ProgressRecorder {
  const queue = createQueue(rows)
  const reader = createReader(rows, queue.getQueued)
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
          progressById.map(([id, progress]) => retryOnConflict(() => writeProgress(rows, id, progress))),
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
    getUnwritten: queue.getQueued,
    forgetUnwrittenFetch: queue.forgetUnwrittenFetch,
    read: (sessionId) => writing.then(() => reader.read(sessionId)),
    finish: write,
  }
}

/**
 * Creates a reader that joins the stored progress with the result of `getQueued`. The queue is not taken during a read,
 * so that no progress is lost or counted twice.
 */
function createReader(
  { findProgress }: Pick<ProgressRows<unknown>, 'findProgress'>,
  getQueued: (id: string) => SessionProgress,
) {
  const reads = new Set<Promise<unknown>>()
  return {
    read: async (id: string): Promise<SessionProgress> => {
      const read = findProgress(id)
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
function createQueue({ findSession }: Pick<ProgressRows<unknown>, 'findSession'>) {
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
    if ((await findSession(sessionId)) === undefined) progressById.delete(sessionId)
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
    forgetUnwrittenFetch: (sessionId: string): void => {
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

/** Stores progress once, unless the session is missing or nothing is new. */
async function writeProgress<Session>(
  rows: ProgressRows<Session>,
  id: string,
  progress: SessionProgress,
): Promise<Attempt<undefined>> {
  const [session, row] = await Promise.all([rows.findSession(id), rows.findProgress(id)])
  if (session === undefined) return NOTHING
  const addedProgress = rows.selectRelevantProgress(session, progress)
  if (hasProgress(row?.value ?? {}, addedProgress)) return NOTHING
  const value = joinProgress(row?.value ?? {}, addedProgress)
  // After a conflict with another process, the progress of both is joined.
  const conflict = await rows.commitProgress({ id, value, dueAt: rows.purgeTimeOf(session) }, row)
  return conflict === undefined ? NOTHING : { conflict }
}
