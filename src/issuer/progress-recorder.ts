/**
 * Writes what wallets have come to in a session, for whoever asks for its status: in a row of its own beside the
 * session, and a second later, so that no request waits for it and no request that changes the session is in its way.
 * However often wallets are refused, a session has one such row, which is written once a second.
 */
import type { Retention } from '../config/retention.ts'
import type { Effects } from '../http/effects.ts'
import type { Change, UpdateEffects } from '../store/store.ts'
import type { IssuerCollections } from './collections.ts'
import { endOfIssuance, type IssuanceSession } from './session.ts'
import { joinProgress, type SessionProgress } from './session-progress.ts'

export interface ProgressRecorder {
  /** Has the news of a session that exists written. */
  add(sessionId: string, news: SessionProgress): void
  /**
   * Has the news written where the session exists. The ids that are not looked up yet are ten thousand at most; the
   * news of others are dropped, and those under an id that cannot be ours.
   */
  addIfExists(sessionId: string, news: SessionProgress): void
  /** Returns when the offer was fetched, where that is not written yet. */
  getUnwrittenFetchTime(sessionId: string): number | undefined
  /** Drops when the offer was fetched, since it was written with the session itself. */
  forgetUnwrittenFetchTime(sessionId: string): void
  /** Reads the progress of a session with all news that this process has had. */
  read(sessionId: string): Promise<SessionProgress>
  /** Writes at once what is not written yet, and resolves when it is. */
  finish(): Promise<void>
}

const PAUSE_MS = 1000
const MAX_UNCHECKED = 10_000
/** The most characters of the id of a session; ours have 32, and what a stranger sends may name any. */
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
  const collected = collectNews(store)
  const reader = createReader(store, collected.getNews)
  let timer: NodeJS.Timeout | undefined
  let writing = Promise.resolve()
  const write = (): Promise<void> => {
    clearTimeout(timer)
    timer = undefined
    writing = writing
      .then(async () => {
        // The news are taken when the write before has ended, so that no more than one write waits beside what is
        // collected. The news are written together: commits at the same time share one fsync.
        await reader.finishReads()
        const newsById = [...collected.take()]
        await Promise.all(newsById.map(([id, news]) => writeProgress({ store, retryOnConflict }, id, news, retention)))
      })
      .catch((err: unknown) => log.warn({ event: 'progress_not_written', err }, 'progress was not written'))
    return writing
  }
  const writeSoon = (): void => {
    timer ??= setTimeout(() => void write(), PAUSE_MS).unref()
  }
  return {
    add: (sessionId, news) => {
      collected.add(sessionId, news)
      writeSoon()
    },
    addIfExists: (sessionId, news) => {
      collected.addIfExists(sessionId, news)
      writeSoon()
    },
    getUnwrittenFetchTime: (sessionId) => collected.getNews(sessionId).offerFetchedAt,
    forgetUnwrittenFetchTime: (sessionId) => collected.forgetUnwrittenFetchTime(sessionId),
    read: (sessionId) => writing.then(() => reader.read(sessionId)),
    finish: write,
  }
}

/**
 * Makes a reader of the rows, which joins what `getNews` returns. While a read runs no news may be taken, so that each
 * is either in the row or joined to it, and never both or neither.
 */
function createReader(store: UpdateEffects<IssuerCollections>['store'], getNews: (id: string) => SessionProgress) {
  const reads = new Set<Promise<unknown>>()
  return {
    read: async (id: string): Promise<SessionProgress> => {
      const read = store.get('issuance_progress', id)
      reads.add(read)
      try {
        const row = await read
        return joinProgress(row?.value ?? {}, getNews(id))
      } finally {
        reads.delete(read)
      }
    },
    /** Resolves when the reads that have begun have ended, whether or not they failed. */
    finishReads: () => Promise.allSettled(reads),
  }
}

/** Collects news by the ids of their sessions, until they are taken. */
function collectNews(store: UpdateEffects<IssuerCollections>['store']) {
  let unwritten = new Map<string, SessionProgress>()
  /** The ids of {@link unwritten} of which it is not known whether there is such a session. */
  let unchecked = new Set<string>()
  const getNews = (sessionId: string): SessionProgress => unwritten.get(sessionId) ?? {}
  const add = (sessionId: string, news: SessionProgress): void => {
    unwritten.set(sessionId, joinProgress(getNews(sessionId), news))
  }
  /**
   * Drops the news of a session that does not exist. Where the session cannot be looked up, the write of the news fails
   * too, and says why.
   */
  const check = async (sessionId: string): Promise<void> => {
    const [news, ids] = [unwritten, unchecked]
    const session = await store.get('issuance_session', sessionId)
    if (session === undefined) news.delete(sessionId)
    ids.delete(sessionId)
  }
  return {
    getNews,
    add,
    addIfExists: (sessionId: string, news: SessionProgress): void => {
      const isNew = !unwritten.has(sessionId)
      if (sessionId.length > MAX_ID || (isNew && unchecked.size >= MAX_UNCHECKED)) return
      add(sessionId, news)
      if (!isNew) return
      unchecked.add(sessionId)
      check(sessionId).catch(() => undefined)
    },
    forgetUnwrittenFetchTime: (sessionId: string): void => {
      const { problem, earlier } = getNews(sessionId)
      if (problem === undefined) unwritten.delete(sessionId)
      else unwritten.set(sessionId, { problem, ...(earlier && { earlier }) })
    },
    take: (): ReadonlyMap<string, SessionProgress> => {
      const newsById = unwritten
      unwritten = new Map()
      unchecked = new Set()
      return newsById
    },
  }
}

/** Writes the news of a session, unless the session is missing or all news are stored already. */
function writeProgress(
  { store, retryOnConflict }: UpdateEffects<IssuerCollections>,
  id: string,
  news: SessionProgress,
  retention: Retention,
): Promise<void> {
  return retryOnConflict<undefined>(async () => {
    const [session, row] = await Promise.all([store.get('issuance_session', id), store.get('issuance_progress', id)])
    if (session === undefined) return NOTHING
    if (row?.value.offerFetchedAt !== undefined && news.problem === undefined) return NOTHING
    const value = joinProgress(row?.value ?? {}, news)
    const dueAt = purgedAt(session.value, retention)
    const change: Change<IssuerCollections> =
      row === undefined
        ? { insert: 'issuance_progress', id, value, dueAt }
        : { update: 'issuance_progress', id, version: row.version, value, dueAt }
    // Where another process was first, its news count too.
    const conflict = await store.commit([change])
    return conflict === undefined ? NOTHING : { conflict }
  })
}

/**
 * Returns when the row can be purged. The session itself may stay longer where it is refreshed; every write computes
 * the time anew.
 */
function purgedAt(session: IssuanceSession, { sessionSeconds }: Retention): Date {
  return new Date(endOfIssuance(session) + ((session.refreshSeconds ?? 0) + sessionSeconds) * 1000)
}
