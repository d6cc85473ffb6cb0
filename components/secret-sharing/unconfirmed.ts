/**
 * Shares that are stored, and of which the contract may not know yet. They are collected for a moment, so that many become one
 * transaction. What was sent stays in a queue, oldest first: a transaction can fail after the owner was told that the share is stored.
 * So the contract is asked a minute later which of them it still awaits, and told again until it is none.
 */

import type { Context } from 'vouchsafe/component'
import { concat, equal } from '../bytes.ts'
import { awaited, registerShared } from './contract.ts'

/** How long shares are collected, from the first on. */
export const COLLECTED_MS = 200
/** The timer that sends them. */
export const COLLECTED_TIMER = 2
/** In one transaction: so many take some two million gas. */
const MOST_TOGETHER = 64
/** How long a transaction has, before it is looked for. */
export const RESEND_MS = 60_000
/** The timer that looks. */
export const RESEND_TIMER = 1
/** Of one run: for how many transactions it is looked. With the deletions of a run they are no more than an engine sends at once. */
const LOOKED_AT = 7
/** For how many transactions a repeated upload looks back. */
const LOOKED_BACK = 64n

const BUCKET = 'UNCONFIRMED'
/** Where shares are stored, each under the 16 bytes of its id. */
export const SHARES = 'SHARES'
const ENDS = 'ends'
const COLLECTED = 'new'

/** Shares of one transaction, as 16 bytes each, and when it was sent; of those that are collected, since when they are. */
interface Batch {
  readonly ids: readonly Uint8Array[]
  readonly at: number
}

/** Has the contract told of a share, shortly; of one that was stored before, unless it was told within the last minute. */
export function announce(id: bigint, wasStored: boolean, context: Context): void {
  const own = toBytes(id, 16)
  // Every telling costs the engine a transaction, and an owner may repeat an upload as often as he likes.
  if (wasStored && wasToldLately(own, context)) return
  const now = context.now().getTime()
  const { ids: before, at } = batchAt(COLLECTED, context) ?? { ids: [], at: now }
  const ids = before.some((each) => equal(each, own)) ? before : [...before, own]
  if (ids !== before) setBatch(COLLECTED, { ids, at }, context)
  // A timer that has failed too often is given up.
  if (ids.length >= MOST_TOGETHER || at <= now - RESEND_MS) announceCollected(context)
  else if (before.length === 0) context.timers.schedule(COLLECTED_TIMER, COLLECTED_MS)
}

/** Tells the contract of what was collected, and remembers to see whether it heard. */
export function announceCollected(context: Context): void {
  const collected = batchAt(COLLECTED, context)
  if (collected === undefined) return
  context.storage(BUCKET).delete(COLLECTED)
  const ids = heldOf(collected.ids, context)
  if (ids.length === 0) return
  const { head, tail } = ends(context)
  tell(ids, tail, context)
  setEnds(head, tail + 1n, context)
  if (head === tail) context.timers.schedule(RESEND_TIMER, RESEND_MS)
}

/** Looks at what has been waiting for long enough. As long as anything waits, a timer is set. */
export function announceAgain(context: Context): void {
  const latest = context.now().getTime() - RESEND_MS
  const collected = batchAt(COLLECTED, context)
  if (collected !== undefined && collected.at <= latest) announceCollected(context)
  const queue = ends(context)
  if (queue.head === queue.tail) return
  let { head, tail } = queue
  for (let looked = 0; head < queue.tail && looked < LOOKED_AT; looked++) {
    const { ids, at } = sentAt(head, context)
    if (at > latest) break
    context.storage(BUCKET).delete(key(head++))
    const missing = heldOf(awaited(ids, context), context)
    if (missing.length > 0) tell(missing, tail++, context)
  }
  setEnds(head, tail, context)
  const more = head < queue.tail && sentAt(head, context).at <= latest
  if (head < tail) context.timers.schedule(RESEND_TIMER, more ? 0 : RESEND_MS)
}

/** An id may have been deleted since, and registered anew: then this engine holds nothing under it. */
function heldOf(ids: readonly Uint8Array[], context: Context): readonly Uint8Array[] {
  return ids.filter((id) => context.storage(SHARES).get(id) !== undefined)
}

function wasToldLately(id: Uint8Array, context: Context): boolean {
  const earliest = context.now().getTime() - RESEND_MS
  const { head, tail } = ends(context)
  for (let at = tail; at > head && tail - at < LOOKED_BACK; at--) {
    const batch = sentAt(at - 1n, context)
    if (batch.at <= earliest) return false
    if (batch.ids.some((each) => equal(each, id))) return true
  }
  return false
}

function tell(ids: readonly Uint8Array[], at: bigint, context: Context): void {
  registerShared(ids, context)
  setBatch(key(at), { ids, at: context.now().getTime() }, context)
}

function ends(context: Context): { readonly head: bigint; readonly tail: bigint } {
  const stored = context.storage(BUCKET).get(ENDS)
  return stored
    ? { head: fromBytes(stored.subarray(0, 8)), tail: fromBytes(stored.subarray(8)) }
    : { head: 0n, tail: 0n }
}

function setEnds(head: bigint, tail: bigint, context: Context): void {
  context.storage(BUCKET).set(ENDS, concat([toBytes(head, 8), toBytes(tail, 8)]))
}

function sentAt(at: bigint, context: Context): Batch {
  const batch = batchAt(key(at), context)
  if (batch === undefined) throw new Error('the queue of unconfirmed shares has a hole')
  return batch
}

function batchAt(at: string | Uint8Array, context: Context): Batch | undefined {
  const stored = context.storage(BUCKET).get(at)
  if (stored === undefined) return undefined
  const count = Math.floor(stored.length / 16)
  const ids = Array.from({ length: count }, (_, index) => stored.subarray(16 * index, 16 * (index + 1)))
  return { ids, at: Number(fromBytes(stored.subarray(16 * count))) }
}

function setBatch(at: string | Uint8Array, batch: Batch, context: Context): void {
  context.storage(BUCKET).set(at, concat([...batch.ids, toBytes(BigInt(batch.at), 8)]))
}

function key(at: bigint): Uint8Array {
  return toBytes(at, 8)
}

/** Big-endian. */
export function toBytes(value: bigint, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => Number((value >> BigInt(8 * (length - 1 - at))) & 0xffn))
}

function fromBytes(bytes: Uint8Array): bigint {
  return bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n)
}
