/**
 * Shares that are stored, and of which the contract may not know yet. They are collected for a moment, so that many
 * become one transaction. What was sent stays in a queue, oldest first: a transaction can fail after the owner was
 * told that the share is stored. So the contract is asked, when a block of a minute later is seen, which of them it
 * still awaits, and told again until it is none.
 */

import type { Context } from 'vouchsafe/component'
import { concat, equal } from '../bytes.ts'
import { INCLUSION_MS, isOver, lookTime, msUntilLook } from '../sending.ts'
import { awaited, registerShared, TICKET } from './contract.ts'

/**
 * The time for which shares are collected, from the first on; and up to 255 ms more, so that many contracts do not all
 * send at once.
 */
const COLLECTED_MS = 500
/** The timer that sends the collected tickets. */
export const COLLECTED_TIMER = 2
/** The most tickets in one transaction. */
const MOST_TOGETHER = 64
/** The timer that looks. */
export const RESEND_TIMER = 1
/** The number of transactions that one run looks up. */
const LOOKED_AT = 7
/** The number of transactions through which a repeated upload looks back. */
const LOOKED_BACK = 64n

const BUCKET = 'UNCONFIRMED'
const ENDS = 'ends'
const COLLECTED = 'new'

/** The tickets of one transaction, and from when it is looked for; of those that are collected, since when they are. */
interface Batch {
  readonly tickets: Uint8Array
  readonly at: number
}

/** Has the contract told of a share, shortly; of one that was stored before, unless it was told lately. */
export function announce(ticket: Uint8Array, wasStored: boolean, context: Context): void {
  // Every telling costs the engine a transaction, and an owner may repeat an upload as often as he likes.
  if (wasStored && wasToldLately(ticket, context)) return
  const now = context.now().getTime()
  const { tickets: before, at } = batchAt(COLLECTED, context) ?? { tickets: new Uint8Array(), at: now }
  // A ticket that was not stored before cannot be there yet.
  const isCollected = wasStored && has(before, ticket)
  const tickets = isCollected ? before : concat([before, ticket])
  if (!isCollected) setBatch(COLLECTED, { tickets, at }, context)
  // A timer that has failed too often is given up.
  if (tickets.length >= MOST_TOGETHER * TICKET || isForgotten(at, now)) announceCollected(context)
  else if (before.length === 0) context.timers.schedule(COLLECTED_TIMER, COLLECTED_MS + lastByte(context.contract))
}

/** Tells the contract of what was collected, and remembers to see whether it heard. */
export function announceCollected(context: Context): void {
  const collected = batchAt(COLLECTED, context)
  if (collected === undefined) return
  context.storage(BUCKET).delete(COLLECTED)
  const { head, tail } = ends(context)
  tell(collected.tickets, tail, context)
  setEnds(head, tail + 1n, context)
  if (head === tail) scheduleLook(head, context)
}

/** Sends again what has waited for long enough. As long as anything waits, a timer is set. */
export function announceAgain(context: Context): void {
  const collected = batchAt(COLLECTED, context)
  if (collected !== undefined && isForgotten(collected.at, context.now().getTime())) announceCollected(context)
  const queue = ends(context)
  if (queue.head === queue.tail) return
  let { head, tail } = queue
  for (let looked = 0; head < queue.tail && looked < LOOKED_AT; looked++) {
    const { tickets, at } = sentAt(head, context)
    if (!isOver(at, context)) break
    context.storage(BUCKET).delete(key(head++))
    const missing = awaited(tickets, context)
    if (missing.length > 0) tell(missing, tail++, context)
  }
  setEnds(head, tail, context)
  if (head < tail) scheduleLook(head, context)
}

function scheduleLook(head: bigint, context: Context): void {
  context.timers.schedule(RESEND_TIMER, msUntilLook(sentAt(head, context).at, context))
}

/** Tests whether the timer of what is collected since `at` was given up, or the clock was set back. */
function isForgotten(at: number, now: number): boolean {
  return at <= now - INCLUSION_MS || at > now
}

function lastByte(address: string): number {
  return Number.parseInt(address.slice(-2), 16)
}

function wasToldLately(ticket: Uint8Array, context: Context): boolean {
  const { head, tail } = ends(context)
  for (let at = tail; at > head && tail - at < LOOKED_BACK; at--) {
    const batch = sentAt(at - 1n, context)
    if (isOver(batch.at, context)) return false
    if (has(batch.tickets, ticket)) return true
  }
  return false
}

function has(tickets: Uint8Array, ticket: Uint8Array): boolean {
  for (let at = 0; at < tickets.length; at += TICKET) if (equal(tickets.subarray(at, at + TICKET), ticket)) return true
  return false
}

function tell(tickets: Uint8Array, at: bigint, context: Context): void {
  registerShared(tickets, context)
  setBatch(key(at), { tickets, at: lookTime(context) }, context)
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
  const end = stored.length - 8
  return { tickets: stored.subarray(0, end), at: Number(fromBytes(stored.subarray(end))) }
}

function setBatch(at: string | Uint8Array, batch: Batch, context: Context): void {
  context.storage(BUCKET).set(at, concat([batch.tickets, toBytes(BigInt(batch.at), 8)]))
}

function key(at: bigint): Uint8Array {
  return toBytes(at, 8)
}

/** Encodes a number big-endian. */
export function toBytes(value: bigint, length: number): Uint8Array {
  return Uint8Array.from({ length }, (_, at) => Number((value >> BigInt(8 * (length - 1 - at))) & 0xffn))
}

export function fromBytes(bytes: Uint8Array): bigint {
  return bytes.reduce((value, byte) => (value << 8n) | BigInt(byte), 0n)
}
