/**
 * The state change of an engine: when the contract has changed, or may have, it goes on with keys that are being made
 * and forgets others. The contract tells what has changed since the engine looked last, so that keys of which nothing
 * has changed cost nothing.
 */
import type { Context } from 'vouchsafe/component'
import { uint } from '../abi.ts'
import { concat, equal } from '../bytes.ts'
import * as contract from './contract.ts'
import { nextStep } from './key-generation.ts'
import { addSentStep, hasSentSteps, RESEND_MS, takeSentSteps } from './sent-steps.ts'
import { forgetGeneration, forgetKeyShares } from './stored.ts'

/** The timer that looks again, as long as something is to be done or was sent. */
export const RESEND_TIMER = 1
/**
 * The most that one run does: transactions that are sent, changes that are looked through, steps that are looked for.
 */
const SENT_AT_ONCE = 4
const CHANGES_AT_ONCE = 256
const STEPS_AT_ONCE = 64

const BUCKET = 'CHANGES'
const REACHED = 'reached'
const START: contract.Reached = { count: 0n, entry: new Uint8Array(32) }

interface Run {
  readonly context: Context
  /** The engines of the contract, once one of them was needed. */
  engines?: readonly string[]
  sent: number
}

export function stateChange(context: Context): void {
  const run: Run = { context, sent: 0 }
  sendAgain(run)
  const hasMore = readChanges(run)
  if (hasMore || run.sent >= SENT_AT_ONCE) context.timers.schedule(RESEND_TIMER, 0)
  else if (hasSentSteps(context)) context.timers.schedule(RESEND_TIMER, RESEND_MS)
}

/**
 * Sends again the steps of a minute ago that the contract still waits for; those that one run has no room for wait for
 * the next.
 */
function sendAgain(run: Run): void {
  const steps = takeSentSteps(STEPS_AT_ONCE, run.context)
  for (const step of contract.awaited(steps, run.context)) {
    if (run.sent < SENT_AT_ONCE) takeStep(run, step)
    else addSentStep(step, step.at, run.context)
  }
}

/** Applies changes of the contract, and returns whether there are others. */
function readChanges(run: Run): boolean {
  const { context } = run
  const before = loadReached(context)
  const { changes, reached, more } = contract.changesAfter(before, CHANGES_AT_ONCE, context)
  let last = before
  for (const change of changes) {
    if (run.sent >= SENT_AT_ONCE) {
      storeReached(before, last, context)
      return true
    }
    applyChange(run, change)
    last = change.reached
  }
  storeReached(before, reached, context)
  return more
}

/**
 * Applies a change of a key. A key that has failed or is disabled leaves nothing behind. What belongs to another fork
 * of the chain stays: it may come back.
 */
function applyChange(run: Run, change: contract.Change): void {
  const { status, registration } = change
  const isOver = status === 'failed' || status === 'disabled'
  if (isOver || status === 'active') forgetGeneration(registration, run.context)
  if (isOver) forgetKeyShares(registration, run.context)
  if (!isOver && status !== 'active') takeStep(run, change)
}

function takeStep(run: Run, change: contract.Change): void {
  const { context } = run
  run.engines ??= contract.engines(context)
  const index = run.engines.indexOf(context.engine)
  if (index < 0) throw new Error('this engine is none of those that the contract names')
  const transaction = nextStep({ id: change.id, key: change, engines: run.engines, index, context })
  if (!transaction) return
  context.transact(transaction)
  addSentStep(change, context.now().getTime(), context)
  run.sent++
}

function loadReached(context: Context): contract.Reached {
  const stored = context.storage(BUCKET).get(REACHED)
  return stored ? contract.readReached(stored) : START
}

function storeReached(before: contract.Reached, now: contract.Reached, context: Context): void {
  if (before.count === now.count && equal(before.entry, now.entry)) return
  context.storage(BUCKET).set(REACHED, concat([uint(now.count), now.entry]))
}
