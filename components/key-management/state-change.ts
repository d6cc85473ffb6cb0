/** What an engine does when the contract has changed, or may have: goes on with keys that are being made, forgets those that are no more. */
import type { Context } from 'vouchsafe/component'
import { equal, fromHex, toHex } from '../bytes.ts'
import * as contract from './contract.ts'
import { nextStep } from './key-generation.ts'
import { forgetGeneration, forgetKeyShares } from './stored.ts'

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
    const key = contract.keyOf(id, context)
    hold({ id, registration: key.registration }, context)
    if (wasSent(key, context)) continue
    const transaction = nextStep({ id, key, engines, index, context })
    if (!transaction) continue
    context.transact(transaction)
    context.storage(SENT).set(key.registration, new TextEncoder().encode(`${key.status} ${context.now().getTime()}`))
    sent++
  }
  forget(context)
  if (pending.length > 0) context.timers.schedule(RESEND_TIMER, sent === SENT_AT_ONCE ? 0 : RESEND_MS)
}

function wasSent({ registration, status }: contract.Key, context: Context): boolean {
  const [step, time] = textOf(context.storage(SENT).get(registration)).split(' ')
  return step === status && context.now().getTime() - Number(time) < RESEND_MS
}

function hold({ id, registration }: contract.Registered, context: Context): void {
  const held = heldKeys(context)
  const name = `${id}:${toHex(registration)}`
  if (!held.includes(name)) setHeld([...held, name], context)
}

/** Keys that have failed or are disabled leave nothing behind. Those of another fork of the chain are left as they are: it may come back. */
function forget(context: Context): void {
  const held = heldKeys(context)
  const left = held.filter((name) => {
    const { id, registration } = heldKey(name)
    const key = contract.keyOf(id, context)
    if (!equal(key.registration, registration)) return true
    if (key.status === 'active' && context.storage(SENT).get(registration)) forgetSteps(registration, context)
    return key.status !== 'failed' && key.status !== 'disabled'
  })
  for (const name of held) {
    if (left.includes(name)) continue
    const { registration } = heldKey(name)
    forgetSteps(registration, context)
    forgetKeyShares(registration, context)
  }
  if (left.length < held.length) setHeld(left, context)
}

/** Of a key that is made, or never will be. */
function forgetSteps(registration: Uint8Array, context: Context): void {
  context.storage(SENT).delete(registration)
  forgetGeneration(registration, context)
}

function heldKey(name: string): contract.Registered {
  const [id = '', registration = ''] = name.split(':')
  return { id: BigInt(id), registration: fromHex(registration) }
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
