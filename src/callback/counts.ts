/** Counts the waiting and the dead callbacks, for an overview. */
import { epochSeconds } from '../codec/time.ts'
import { END_OF_TIME, partOf, type Store } from '../store/store.ts'
import { separateUnreadable } from '../store/unreadable-rows.ts'
import type { CallbackCollections } from './queue.ts'

export interface CallbackCounts {
  /** The number of sessions with waiting events. */
  readonly waiting: number
  /** The time at which the oldest waiting event was queued, in seconds since the epoch. */
  readonly oldest_waiting_at?: number
  readonly last_problem?: string
  readonly dead: number
}

/** The most rows of each kind that are counted. */
const MAX_COUNTED_ROWS = 1000

/** Counts the sessions with waiting events and the dead callbacks, each up to {@link MAX_COUNTED_ROWS}. */
export async function countCallbacks<C extends CallbackCollections>(serviceStore: Store<C>): Promise<CallbackCounts> {
  const store = partOf<C, CallbackCollections>(serviceStore)
  const queues = await store.listDue('callback', END_OF_TIME, MAX_COUNTED_ROWS)
  const dead = await store.listDue('dead_callback', END_OF_TIME, MAX_COUNTED_ROWS)
  const { rows: readableQueues } = separateUnreadable(queues)
  const times = readableQueues.map(({ value }) => value.events[0].queuedAt)
  const problem = readableQueues.find(({ value }) => value.problem !== undefined)?.value.problem
  return {
    waiting: queues.length,
    ...(times.length > 0 && { oldest_waiting_at: epochSeconds(Math.min(...times)) }),
    ...(problem !== undefined && { last_problem: problem }),
    dead: dead.length,
  }
}
