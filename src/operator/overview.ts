/**
 * The common part of the overviews: schemas, and the sessions of the last 24 hours by hour. Only the newest {@link
 * MAX_COUNTED_SESSIONS} sessions are counted, which limits the cost.
 */
import { setImmediate } from 'node:timers/promises'
import * as Type from 'typebox'
import { cacheValue } from '../async/cache.ts'
import { epochSeconds } from '../codec/time.ts'
import type { Effects } from '../http/effects.ts'
import { Seconds } from '../http/openapi-responses.ts'
import { createReadinessCheck } from '../http/readiness.ts'
import type { GenerationCollections } from '../store/generation.ts'
import { DamagedValueError } from '../store/statements.ts'
import type { CreatedRow, RowPosition, Store } from '../store/store.ts'
import { separateUnreadable } from '../store/unreadable-rows.ts'

/** How long an overview is cached. */
const OVERVIEW_MS = 5000
const MAX_COUNTED_SESSIONS = 1000
/** The number of rows that are read at once. A row may be large, since it contains a report. */
const ROWS_AT_ONCE = 25
const HOURS = 24
const HOUR_MS = 3_600_000

const Counts = (description: string) => Type.Record(Type.String(), Type.Integer(), { description })

const SessionHours = Type.Object(
  {
    looked_at: Type.Integer({ description: 'How many sessions were counted' }),
    is_complete: Type.Boolean({
      description: `Whether these are all of the last 24 hours; no more than the newest ${MAX_COUNTED_SESSIONS} are counted`,
    }),
    hours: Type.Array(
      Type.Object({
        from: Seconds,
        states: Counts('Sessions that were started in this hour, by the state that they have now'),
        problems: Counts('The problems of these sessions, by the check that failed or the error'),
      }),
      { description: 'The last 24 hours, the oldest first' },
    ),
  },
  { title: 'SessionHours' },
)

/** The members of all overviews. */
export const overviewMembers = {
  at: Seconds,
  ready: Type.Boolean({ description: 'Whether the database takes writes' }),
  certificates: Type.Array(
    Type.Object({
      key: Type.String({ description: 'The path of its setting' }),
      subject: Type.String(),
      not_after: Seconds,
    }),
    { description: 'The certificates of the keys that this service signs with' },
  ),
  callbacks: Type.Object(
    {
      configured: Type.Boolean(),
      waiting: Type.Integer({ description: 'Sessions with events that wait for their delivery, up to 1000' }),
      oldest_waiting_at: Type.Optional(Seconds),
      last_problem: Type.Optional(Type.String({ description: 'Why a delivery failed' })),
      dead: Type.Integer({ description: 'Events that were given up after a day, up to 1000' }),
    },
    { title: 'CallbackCounts' },
  ),
  sessions: SessionHours,
}

/** Creates the function that returns the overview from a cache. `makeOverview` makes it. */
export function createOverviewReader<C extends GenerationCollections, Overview>(
  effects: Pick<Effects<C>, 'store' | 'now' | 'random' | 'retryOnConflict'>,
  makeOverview: (isReady: boolean) => Promise<Overview>,
): () => Promise<Overview> {
  const checkReady = createReadinessCheck(effects)
  const isReady = (): Promise<boolean> =>
    checkReady().then(
      () => true,
      () => false,
    )
  return cacheValue(async () => makeOverview(await isReady()), { ttlMs: OVERVIEW_MS, now: effects.now }).get
}

/** The state of a session, its problem, and when it succeeded. */
export interface SessionOutcome {
  readonly status: string
  readonly problems: readonly string[]
  /** When the session succeeded, in milliseconds since the epoch. */
  readonly succeededAt?: number | undefined
}

interface CountedHour {
  readonly from: number
  readonly states: Record<string, number>
  readonly problems: Record<string, number>
}

/** The counted sessions by hour, and the last success among them. */
export interface CountedSessions {
  readonly sessions: { readonly looked_at: number; readonly is_complete: boolean; readonly hours: CountedHour[] }
  readonly lastSuccessAt?: number
}

/**
 * Counts the sessions of the last 24 hours by the hour in which they started. Sessions whose rows are damaged are left
 * out. Rejects when the database does not answer.
 */
export async function countSessions<C, K extends keyof C & string>(
  { store, now }: { readonly store: Store<C>; readonly now: () => Date },
  collection: K,
  outcomeOf: (id: string, session: C[K]) => Promise<SessionOutcome>,
): Promise<CountedSessions> {
  const hours = emptyHours(now())
  const dayStart = (hours[0]?.from ?? 0) * 1000
  let lastPosition: RowPosition | undefined
  let lookedAt = 0
  let isComplete = false
  let lastSuccessAt = 0
  while (!isComplete && lookedAt < MAX_COUNTED_SESSIONS) {
    const rows: readonly CreatedRow<C[K]>[] = await store.listNewest(collection, ROWS_AT_ONCE, lastPosition)
    const recent = rows.filter(({ createdAt }) => createdAt.getTime() >= dayStart)
    for (const { id, value, createdAt } of separateUnreadable(recent).rows) {
      const outcome = await outcomeOf(id, value).catch((error: unknown) => {
        if (error instanceof DamagedValueError) return undefined
        throw error
      })
      const hour = hours[Math.min(Math.floor((createdAt.getTime() - dayStart) / HOUR_MS), HOURS - 1)]
      if (outcome === undefined || hour === undefined) continue
      increment(hour.states, outcome.status)
      for (const problem of outcome.problems) increment(hour.problems, problem)
      lastSuccessAt = Math.max(lastSuccessAt, outcome.succeededAt ?? 0)
    }
    lookedAt += recent.length
    isComplete = recent.length < ROWS_AT_ONCE
    lastPosition = rows.at(-1)
    // Serves other requests between two reads.
    await setImmediate()
  }
  if (!isComplete) {
    const [next] = await store.listNewest(collection, 1, lastPosition)
    isComplete = next === undefined || next.createdAt.getTime() < dayStart
  }
  const sessions = { looked_at: lookedAt, is_complete: isComplete, hours }
  return { sessions, ...(lastSuccessAt > 0 && { lastSuccessAt: epochSeconds(lastSuccessAt) }) }
}

/** Returns the last 24 hours with counts of zero. The last hour is not over. */
function emptyHours(now: Date): CountedHour[] {
  const current = Math.floor(now.getTime() / HOUR_MS) * HOUR_MS
  return Array.from({ length: HOURS }, (_, index) => ({
    from: (current - (HOURS - 1 - index) * HOUR_MS) / 1000,
    states: {},
    problems: {},
  }))
}

function increment(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1
}
