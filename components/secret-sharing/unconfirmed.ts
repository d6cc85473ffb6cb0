/**
 * Shares that are stored, and of which the contract may not know yet: a queue in the engine's storage, oldest first. A transaction
 * can fail after the owner was told that the share is stored; so whatever is older than a minute is looked for in the contract, and
 * told to it again until it is there.
 */

import type { Context } from 'vouchsafe/component'
import { concat } from '../bytes.ts'
import { ownIndex, registerShared, sharingOf } from './contract.ts'

/** How long a transaction has, before it is sent again. */
export const RESEND_MS = 60_000
/** The timer that looks again. */
export const RESEND_TIMER = 1
/** Of one run: how many entries are looked at, and how many transactions are sent. */
const LOOKED_AT = 64
const SENT = 8

const BUCKET = 'UNCONFIRMED'
const ENDS = 'ends'

/** Tells the contract of a share, and remembers to see whether it heard. */
export function announce(id: bigint, context: Context): void {
  registerShared(id, context)
  const { head, tail } = ends(context)
  append(id, tail, context)
  setEnds(head, tail + 1n, context)
  if (head === tail) context.timers.schedule(RESEND_TIMER, RESEND_MS)
}

/** Looks at what has been waiting for long enough. As long as anything waits, a timer is set. */
export function announceAgain(context: Context): void {
  const queue = ends(context)
  if (queue.head === queue.tail) return
  const latest = context.now().getTime() - RESEND_MS
  const last = queue.head + BigInt(LOOKED_AT)
  let { head, tail } = queue
  let sent = 0
  while (head < queue.tail && head < last && sent < SENT) {
    const entry = entryAt(head, context)
    if (entry.sentAt > latest) break
    context.storage(BUCKET).delete(key(head++))
    if (!isUnconfirmed(entry.id, context)) continue
    registerShared(entry.id, context)
    append(entry.id, tail++, context)
    sent++
  }
  setEnds(head, tail, context)
  const more = head < queue.tail && entryAt(head, context).sentAt <= latest
  if (head < tail) context.timers.schedule(RESEND_TIMER, more ? 0 : RESEND_MS)
}

function isUnconfirmed(id: bigint, context: Context): boolean {
  const sharing = sharingOf(id, context)
  return sharing !== undefined && !sharing.deleting && sharing.uploaded[ownIndex(context)] === false
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

function append(id: bigint, at: bigint, context: Context): void {
  const entry = concat([toBytes(id, 16), toBytes(BigInt(context.now().getTime()), 8)])
  context.storage(BUCKET).set(key(at), entry)
}

function entryAt(at: bigint, context: Context): { readonly id: bigint; readonly sentAt: number } {
  const stored = context.storage(BUCKET).get(key(at))
  if (stored === undefined) throw new Error('the queue of unconfirmed shares has a hole')
  return { id: fromBytes(stored.subarray(0, 16)), sentAt: Number(fromBytes(stored.subarray(16))) }
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
