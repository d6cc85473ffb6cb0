/**
 * `vouchsafe callbacks`: lists the events that the application has not received, and delivers them now. Does not show
 * session ids and payloads.
 */
import {
  type CallbackQueue,
  type CallbackStore,
  type DeadCallback,
  type PendingCallback,
  retryCallbackNow,
} from '../../callback/queue.ts'
import { removeControlCharacters } from '../../codec/control-characters.ts'
import type { EventCollections } from '../../event/event.ts'
import { redeliverDeadCallback, redeliverDeadCallbacks } from '../../event/redelivery.ts'
import { changeEveryRow, readEveryRow } from '../../store/every-row.ts'
import { END_OF_TIME, partOf, type Store } from '../../store/store.ts'
import { separateUnreadable } from '../../store/unreadable-rows.ts'
import { withStore } from '../database/operator-store.ts'
import { now, random, retryOnConflict } from '../effects.ts'
import { commandName, readSubcommand, UsageError } from '../terminal/command-line.ts'
import { printResult, rowsText } from '../terminal/command-result.ts'
import { timeText } from '../terminal/terminal.ts'

/** The maximum number of sessions with waiting events, and of dead events, in the list. */
const MAX_LISTED_ROWS = 1000
/** The number of dead events that are read at once. */
const ROWS_AT_ONCE = 100
/** An id of 16 bytes that begins with a hyphen and so looks like an option. */
const HYPHENED_ID = /^-[\w-]{21}$/

interface ListedEvent {
  readonly id: string
  readonly type: string
  readonly state: 'pending' | 'dead'
  /** The time of the event, in ISO 8601. */
  readonly timestamp: string
  /** The time of the next attempt; absent if the event is being delivered, waits behind another one, or is dead. */
  readonly next?: string
  readonly failures?: number
  readonly problem?: string
}

/** Runs `vouchsafe callbacks` with the words after it. */
export async function runCallbacks(words: string[]): Promise<void> {
  const isId = (word: string): boolean => HYPHENED_ID.test(word)
  const ids = words.filter(isId)
  const {
    subcommand: word,
    rest: [id, ...more],
    values,
  } = readSubcommand('callbacks', ids.length === 0 ? words : [...words.filter((word) => !isId(word)), '--', ...ids])
  if (word === 'list' && id === undefined) {
    const listsBoth = values.dead === values.pending
    const filter = { dead: listsBoth || values.dead, pending: listsBoth || values.pending }
    const list = await withStore(values, (store) => listEvents(partOf(store), filter))
    if (list.unreadableRows > 0)
      process.stderr.write(`${rowsText(list.unreadableRows)} cannot be read; look for a backup that has them.\n`)
    printResult({ text: textOf(list, filter), facts: list.events }, values.json)
  } else if (word === 'retry' && more.length === 0 && (id === undefined) === values.all) {
    const { retried, text } = await withStore(values, (store) =>
      id === undefined ? retryAllEvents(store) : retryEvent(store, id),
    )
    printResult({ text, facts: { retried } }, values.json)
  } else throw new UsageError('callbacks', wordsProblem(word, id, more, values.all))
}

function wordsProblem(word: 'list' | 'retry', id: string | undefined, more: readonly string[], all: boolean): string {
  if (id === undefined) return 'name the event, or all of them: callbacks retry ID, or callbacks retry --all'
  if (word === 'list') return `callbacks list takes no event; leave out ${id}`
  if (all) return `callbacks retry takes an event or --all; leave out ${id} or --all`
  return `callbacks retry takes one event; leave out ${more[0] ?? ''}`
}

/** The states to list. */
interface StateFilter {
  readonly dead: boolean
  readonly pending: boolean
}

interface EventList {
  readonly events: readonly ListedEvent[]
  /** Whether the list is incomplete. */
  readonly isCut: boolean
  /** The number of rows that are left out, since they cannot be read. */
  readonly unreadableRows: number
}

async function listEvents(store: CallbackStore, filter: StateFilter): Promise<EventList> {
  const pending = filter.pending ? await store.listDue('callback', END_OF_TIME, MAX_LISTED_ROWS + 1) : []
  const dead = filter.dead ? await store.listDue('dead_callback', END_OF_TIME, MAX_LISTED_ROWS + 1) : []
  const listed = { pending: pending.slice(0, MAX_LISTED_ROWS), dead: dead.slice(0, MAX_LISTED_ROWS) }
  const readable = { pending: separateUnreadable(listed.pending).rows, dead: separateUnreadable(listed.dead).rows }
  return {
    events: [
      ...readable.pending.flatMap(({ value }) => describeWaiting(value)),
      ...readable.dead.map(({ value }) => describeDead(value)),
    ],
    isCut: pending.length > MAX_LISTED_ROWS || dead.length > MAX_LISTED_ROWS,
    unreadableRows: listed.pending.length + listed.dead.length - readable.pending.length - readable.dead.length,
  }
}

function describeWaiting({ events, claimed, nextAt, failures, problem }: CallbackQueue): readonly ListedEvent[] {
  return events.map((event, index) => ({
    ...describeEvent(event, 'pending'),
    ...(index === 0 && !claimed ? { next: new Date(nextAt).toISOString() } : {}),
    ...(index === 0 && failures > 0 ? { failures, ...(problem === undefined ? {} : { problem }) } : {}),
  }))
}

function describeDead({ event, problem }: DeadCallback): ListedEvent {
  return { ...describeEvent(event, 'dead'), problem }
}

function describeEvent({ id, type, at }: PendingCallback, state: ListedEvent['state']): ListedEvent {
  return { id, type, state, timestamp: new Date(at).toISOString() }
}

interface RetryOutcome {
  /** The number of events that are retried now. */
  readonly retried: number
  readonly text: string
}

async function retryEvent(store: Store<EventCollections>, id: string): Promise<RetryOutcome> {
  for await (const waiting of readEveryRow(store, 'callback')) {
    const { events } = waiting.value
    if (!events.some((event) => event.id === id)) continue
    const isFirst = events[0].id === id
    const isRetried = isFirst && (await retryCallbackNow({ store: partOf(store), retryOnConflict }, waiting.id, now()))
    return isRetried
      ? RETRY_DONE
      : { retried: 0, text: 'It is being delivered, or stands behind another of its session.' }
  }
  if (await redeliverDeadCallback({ store, retryOnConflict, now, random }, id)) return RETRY_DONE
  throw new Error(
    `There is no event ${removeControlCharacters(id)} that waits or is dead; see: ${commandName()} callbacks list`,
  )
}

const RETRY_DONE: RetryOutcome = { retried: 1, text: 'It is tried again at once.' }

/** Retries all dead events, and those that wait for their next attempt. */
export async function retryAllEvents(store: Store<EventCollections>): Promise<RetryOutcome> {
  let count = await changeEveryRow(store, 'callback', ({ id }) =>
    retryCallbackNow({ store: partOf(store), retryOnConflict }, id, now()),
  )
  const retriedIds = new Set<string>()
  for (;;) {
    // The oldest first, so that the events of a session stay in order. A retried event leaves this collection.
    const dead = await store.listDue('dead_callback', END_OF_TIME, ROWS_AT_ONCE)
    // An event that the service gives up again meanwhile is not retried twice, so that the command ends.
    const callbackIds = dead.map(({ id }) => id).filter((id) => !retriedIds.has(id))
    for (const id of callbackIds) retriedIds.add(id)
    const redeliveredCount = await redeliverDeadCallbacks({ store, retryOnConflict, now, random }, callbackIds)
    // No row is left, or only rows that cannot be read.
    if (redeliveredCount === 0) break
    count += redeliveredCount
  }
  const resultText = `${count} tried again at once, by the service that runs.`
  return { retried: count, text: count === 0 ? 'There is nothing to try again.' : resultText }
}

function textOf({ events, isCut }: EventList, { dead, pending }: StateFilter): string {
  if (events.length === 0) {
    if (!pending) return 'Nothing is dead.'
    return dead ? 'Nothing waits, and nothing is dead.' : 'Nothing waits.'
  }
  const lines = events.map(({ id, type, state, timestamp, next, failures, problem }) => {
    const failuresText = failures === undefined ? '' : `, failed ${failures === 1 ? 'once' : `${failures} times`}`
    const nextText = next === undefined ? '' : `, next attempt ${timeText(new Date(next))}`
    const problemText = problem === undefined ? '' : `\n  ${removeControlCharacters(problem)}`
    return `${id}  ${type}  ${timeText(new Date(timestamp))}  ${state}${failuresText}${nextText}${problemText}`
  })
  const limitText = `\nThere are more: no more than ${MAX_LISTED_ROWS} sessions that wait, and ${MAX_LISTED_ROWS} dead events, are shown.`
  return [...lines, ...(isCut ? [limitText] : [])].join('\n')
}
