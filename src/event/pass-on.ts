/**
 * Moves events into the audit log and to the callback queue, many at a time, so that recording an event costs only one
 * insert. One batch updates the head of the log, writes the records, queues the callbacks and deletes the events. When
 * several processes do this at once, one of them commits first, and the others retry.
 */
import { type AuditHead, blockId, HEAD } from '../audit/collections.ts'
import { HEAD_SET_BACK } from '../audit/copy.ts'
import { type AuditEntry, chainRecords, hashSessionId, LOG_START_TYPE, ORIGIN } from '../audit/record.ts'
import { makeEnqueueChange, type PendingCallback, type PendingCallbacks } from '../callback/queue.ts'
import { toBase64url } from '../codec/base64url.ts'
import type { Attempt, RetryOnConflict } from '../store/retry.ts'
import { DamagedValueError } from '../store/statements.ts'
import { type Change, type DueRow, END_OF_TIME, insertOrUpdate, partOf, type Row, type Store } from '../store/store.ts'
import { separateUnreadable } from '../store/unreadable-rows.ts'
import { type Event, type EventCollections, eventTypes } from './event.ts'

export interface PassOnContext {
  readonly store: Store<EventCollections>
  readonly retryOnConflict: RetryOnConflict
  /** Whether a callback is configured. */
  readonly hasCallback: boolean
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
}

const MAX_AT_ONCE = 200
/** The most events that stay stored and behind which further events are looked for. */
const MAX_UNMOVED = 2000

/**
 * Moves all stored events in batches, until a batch is not full or `stop` is aborted. Returns why an event stays
 * stored, which is that it or the queue of its session cannot be read; undefined if none does. Throws when another
 * program has changed the audit log in the database.
 */
export async function passOnEvents(context: PassOnContext, stop?: AbortSignal): Promise<Error | undefined> {
  let unmoved = 0
  while (stop?.aborted !== true) {
    const batch = await context.retryOnConflict(() => passOnBatch(context, unmoved))
    if (!batch.mayHaveMore) return batch.damage
    unmoved = batch.unmoved
  }
  return undefined
}

interface PassedBatch {
  /** Whether more events may be stored that can be moved: this batch was full, and moved some or met more that stay. */
  readonly mayHaveMore: boolean
  /** The number of events of this batch that stay stored; they are the oldest of the next batch too. */
  readonly unmoved: number
  /** Why an event stays stored: it, or the queue of its session, cannot be read. */
  readonly damage: Error | undefined
}

/**
 * Moves the oldest events in one batch, but for those that cannot be read and those of {@link CallbackPlan.held}.
 * `unmovedBefore` is the number of events that stayed in the batch before.
 */
async function passOnBatch(context: PassOnContext, unmovedBefore: number): Promise<Attempt<PassedBatch>> {
  const { store } = context
  // Events with any due time are read, so that none waits when the clock is set back.
  const oldestEvents = await store.listDue('event', END_OF_TIME, MAX_AT_ONCE + unmovedBefore)
  const { rows, damage: eventDamage } = separateUnreadable(oldestEvents)
  const callbacks = context.hasCallback ? await planCallbacks(context, rows) : NO_CALLBACKS
  const events = rows.filter(({ value: { sessionId = '' } }) => !callbacks.held.has(sessionId))
  const damage = eventDamage ?? callbacks.damage
  const unmoved = oldestEvents.length - events.length
  const hasProgress = events.length > 0 || unmoved > unmovedBefore
  const mayHaveMore = oldestEvents.length === MAX_AT_ONCE + unmovedBefore && hasProgress && unmoved <= MAX_UNMOVED
  if (events.length === 0) return { committed: { mayHaveMore, unmoved, damage } }
  const head = await store.get('audit_head', HEAD)
  const [headChange, blockChange] = auditLogChanges(context, head, events)
  const conflict = await store.commit([
    headChange,
    blockChange,
    ...callbacks.changes,
    ...events.map(({ id, version }) => ({ delete: 'event', id, version }) as const),
  ])
  // The head has not changed, so another process of the service cannot have written this block.
  if (conflict === blockChange) throw new Error(HEAD_SET_BACK)
  if (conflict !== undefined) return { conflict }
  return { committed: { mayHaveMore, unmoved, damage } }
}

/**
 * Creates the change of the head of the log, and the change that inserts the new block. The first block begins with a
 * record of the log's start.
 */
function auditLogChanges(
  { random, now }: PassOnContext,
  head: Row<AuditHead> | undefined,
  events: readonly DueRow<Event>[],
): readonly [head: Change<EventCollections>, block: Change<EventCollections>] {
  const log = head?.value.log ?? toBase64url(random(16))
  const startEntry = { at: now().toISOString(), type: LOG_START_TYPE, subject: log }
  const records = chainRecords(head?.value ?? ORIGIN, [
    ...(head === undefined ? [startEntry] : []),
    ...events.map(({ value }) => entryOf(value)),
  ])
  const { sequence, hash } = records.at(-1) ?? ORIGIN
  const block = (head?.value.block ?? 0) + 1
  const value = { log, block, sequence, hash }
  return [
    insertOrUpdate('audit_head', head, { id: HEAD, value }),
    { insert: 'audit_block', id: blockId(block), value: { records } },
  ]
}

function entryOf({ at, type, outcome, caller, subject, sessionId }: Event): AuditEntry {
  return {
    at: new Date(at).toISOString(),
    type,
    ...(outcome === undefined ? {} : { outcome }),
    ...(caller === undefined ? {} : { caller }),
    ...(subject === undefined ? {} : { subject }),
    ...(sessionId === undefined ? {} : { session: hashSessionId(sessionId) }),
  }
}

/** The part of a batch that concerns the queues of callbacks. */
interface CallbackPlan {
  readonly changes: readonly Change<EventCollections>[]
  /** The sessions whose queue cannot be read: their events stay stored, so that none is lost. */
  readonly held: ReadonlySet<string>
  readonly damage: Error | undefined
}

const NO_CALLBACKS: CallbackPlan = { changes: [], held: new Set(), damage: undefined }

async function planCallbacks({ store, now }: PassOnContext, events: readonly DueRow<Event>[]): Promise<CallbackPlan> {
  const at = now()
  const results = await Promise.all(
    [...callbacksBySession(events, at)].map(async ([sessionId, pending]) => {
      try {
        return { sessionId, changes: [await makeEnqueueChange(partOf(store), sessionId, pending, at)] }
      } catch (error) {
        if (error instanceof DamagedValueError) return { sessionId, changes: [], damage: error }
        throw error
      }
    }),
  )
  const damaged = results.filter(({ damage }) => damage !== undefined)
  return {
    changes: results.flatMap(({ changes }) => changes),
    held: new Set(damaged.map(({ sessionId }) => sessionId)),
    damage: damaged[0]?.damage,
  }
}

function callbacksBySession(events: readonly DueRow<Event>[], at: Date): ReadonlyMap<string, PendingCallbacks> {
  const bySession = new Map<string, PendingCallbacks>()
  for (const { id, value } of events) {
    if (value.sessionId === undefined || !eventTypes[value.type].isPosted) continue
    const pending: PendingCallback = {
      id,
      type: value.type,
      at: value.at,
      queuedAt: at.getTime(),
      ...(value.data === undefined ? {} : { data: value.data }),
      ...(value.trace === undefined ? {} : { trace: value.trace }),
    }
    const earlier = bySession.get(value.sessionId)
    bySession.set(value.sessionId, earlier === undefined ? [pending] : [...earlier, pending])
  }
  return bySession
}
