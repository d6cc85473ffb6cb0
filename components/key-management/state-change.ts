/** What an engine does when the contract has changed, or may have: goes on with keys that are being made, forgets those that are no more. */
import type { Context } from 'vouchsafe/component'
import * as contract from './contract.ts'
import { nextStep } from './key-generation.ts'
import { forgetGeneration, forgetKeyShare } from './stored.ts'

/** How long a transaction has, before it is sent again. */
const RESEND_MS = 60_000
/** The timer that looks again, as long as a key is being made. */
export const RESEND_TIMER = 1
/** Of one run. */
const SENT_AT_ONCE = 4

const SENT = 'SENT'
const HELD = 'HELD'

export function stateChange(context: Context): void {
  const pending = contract.pending(context)
  const engines = contract.engines(context)
  const index = engines.indexOf(context.engine)
  if (index < 0) throw new Error('this engine is none of those that the contract names')
  let sent = 0
  for (const id of pending) {
    if (sent === SENT_AT_ONCE) break
    hold(id, context)
    const key = contract.keyOf(id, context)
    if (wasSent(id, key.status, context)) continue
    const transaction = nextStep({ id, key, engines, index, context })
    if (!transaction) continue
    context.transact(transaction)
    context.storage(SENT).set(String(id), new TextEncoder().encode(`${key.status} ${context.now().getTime()}`))
    sent++
  }
  forget(context)
  if (pending.length > 0) context.timers.schedule(RESEND_TIMER, sent === SENT_AT_ONCE ? 0 : RESEND_MS)
}

function wasSent(id: bigint, status: contract.Status, context: Context): boolean {
  const [step, time] = textOf(context.storage(SENT).get(String(id))).split(' ')
  return step === status && context.now().getTime() - Number(time) < RESEND_MS
}

function hold(id: bigint, context: Context): void {
  const held = heldKeys(context)
  if (!held.includes(String(id))) setHeld([...held, String(id)], context)
}

/** Keys that have failed or are disabled leave nothing behind. */
function forget(context: Context): void {
  const held = heldKeys(context)
  const left = held.filter((name) => {
    const { status } = contract.keyOf(BigInt(name), context)
    if (status === 'active' && context.storage(SENT).get(name)) context.storage(SENT).delete(name)
    return status !== 'failed' && status !== 'disabled'
  })
  for (const name of held) {
    if (left.includes(name)) continue
    context.storage(SENT).delete(name)
    forgetGeneration(BigInt(name), context)
    forgetKeyShare(BigInt(name), context)
  }
  if (left.length < held.length) setHeld(left, context)
}

function heldKeys(context: Context): readonly string[] {
  return textOf(context.storage(HELD).get('keys')).split(' ').filter(Boolean)
}

function setHeld(names: readonly string[], context: Context): void {
  context.storage(HELD).set('keys', new TextEncoder().encode(names.join(' ')))
}

function textOf(bytes: Uint8Array | undefined): string {
  return new TextDecoder().decode(bytes ?? new Uint8Array())
}
