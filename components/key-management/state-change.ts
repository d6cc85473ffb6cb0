/**
 * The state change of an engine: when the contract has changed, or may have, it forgets keys and goes on with others
 * that are being made. The contract tells what has changed since the engine looked last, so that keys of which nothing
 * has changed cost nothing.
 *
 * A run is all or nothing, has a limit of its time, and anyone may create keys: so it forgets keys, or takes one step
 * for one key, and a timer goes on at once. What is to be forgotten never waits for a step.
 */
import type { Context } from 'vouchsafe/component'
import { uint } from '../abi.ts'
import { concat, equal } from '../bytes.ts'
import * as contract from './contract.ts'
import { nextStep, type Place, recoverKeyShare } from './key-generation.ts'
import { forgetNonces } from './nonces.ts'
import { addSentStep, dropSentSteps, msUntilDue, sentStepsDue } from './sent-steps.ts'
import { forgetGeneration, forgetKeyShares, loadGeneration } from './stored.ts'

/** The timer that looks again, as long as something is to be done or was sent. */
export const RESEND_TIMER = 1
/** The most that one run looks through or looks for: changes of the contract, and steps that were sent. */
const CHANGES_AT_ONCE = 256
const STEPS_AT_ONCE = 64
/** The number of deleted values after which a run forgets no other key: half of what a run may change by default. */
const DELETED_AT_ONCE = 500

const BUCKET = 'CHANGES'
/** The change up to which steps were taken. */
const REACHED = 'reached'
/** The change up to which keys were forgotten; storage of before has {@link REACHED} alone, for both. */
const FORGOTTEN = 'forgotten'
const START: contract.Reached = { count: 0n, entry: new Uint8Array(32) }

interface Run {
  readonly context: Context
  /** The engines of the contract, once they were needed. */
  engines?: readonly string[]
}

export function stateChange(context: Context): void {
  const run: Run = { context }
  const goesOn = forgetKeys(run) || sendAgain(run) || takeNextStep(run)
  const delayMs = goesOn ? 0 : msUntilDue(context)
  if (delayMs !== undefined) context.timers.schedule(RESEND_TIMER, delayMs)
}

/**
 * Forgets what keys leave behind that are made, have failed or are disabled, and returns whether that was all of this
 * run. What belongs to another fork of the chain stays: it may come back.
 */
function forgetKeys(run: Run): boolean {
  const { context } = run
  const stepped = loadReached(REACHED, context) ?? START
  const before = loadReached(FORGOTTEN, context) ?? stepped
  const { changes, reached, more } = contract.changesAfter(before, CHANGES_AT_ONCE, context)
  const over = changes.filter(({ status }) => !isBeingMade(status))
  let deleted = 0
  const forgotten = over.filter((change) => {
    if (deleted >= DELETED_AT_ONCE) return false
    deleted += forgetKey(run, change)
    return true
  })
  const last = forgotten.length < over.length ? forgotten.at(-1) : undefined
  const passed = last === undefined ? changes : changes.slice(0, changes.indexOf(last) + 1)
  const end = last?.reached ?? reached
  storeReached(FORGOTTEN, before, end, context)
  // Where no step was waiting, and none is to be taken, nobody has to look through these changes again.
  if (isSame(before, stepped) && passed.every(({ status }) => !isBeingMade(status)))
    storeReached(REACHED, stepped, end, context)
  return more || over.length > 0
}

/** Forgets what one key leaves behind, and returns how many values that were; after long work, as many as end a run. */
function forgetKey(run: Run, change: contract.Change): number {
  const { context } = run
  const { status, registration } = change
  if (status === 'active') {
    const wasBeingMade = loadGeneration(registration, context) !== undefined
    const isRecovered = wasBeingMade && recoverKeyShare(placeOf(run, change))
    forgetGeneration(registration, context)
    return isRecovered ? DELETED_AT_ONCE : 1
  }
  forgetGeneration(registration, context)
  forgetKeyShares(registration, context)
  return 2 + forgetNonces(registration, context)
}

/** Sends again the first of the steps that are due which the contract still waits for; the next run, the others. */
function sendAgain(run: Run): boolean {
  const { context } = run
  const due = sentStepsDue(STEPS_AT_ONCE, context)
  const [lost] = contract.awaited(due, context)
  dropSentSteps(lost === undefined ? due.length : due.indexOf(lost) + 1, context)
  return lost === undefined ? due.length === STEPS_AT_ONCE : takeStep(run, lost)
}

/** Takes the next step that a change of the contract asks for, and returns whether there may be others. */
function takeNextStep(run: Run): boolean {
  const { context } = run
  const before = loadReached(REACHED, context) ?? START
  const { changes, reached, more } = contract.changesAfter(before, CHANGES_AT_ONCE, context)
  const taken = changes.find((change) => isBeingMade(change.status) && takeStep(run, change))
  storeReached(REACHED, before, taken?.reached ?? reached, context)
  return taken !== undefined || more
}

function isBeingMade(status: contract.Status): boolean {
  return status === 'commitments' || status === 'shares' || status === 'confirmation'
}

/** Sends the transaction that a key waits for, and returns whether there was one to send. */
function takeStep(run: Run, change: contract.Change): boolean {
  const { context } = run
  const transaction = nextStep(placeOf(run, change))
  if (!transaction) return false
  context.transact(transaction)
  addSentStep(change, context)
  return true
}

function placeOf(run: Run, change: contract.Change): Place {
  const { context } = run
  run.engines ??= contract.engines(context)
  const { engines } = run
  const index = engines.indexOf(context.engine)
  if (index < 0) throw new Error('this engine is none of those that the contract names')
  return { id: change.id, key: change, engines, index, context }
}

function loadReached(key: string, context: Context): contract.Reached | undefined {
  const stored = context.storage(BUCKET).get(key)
  return stored && contract.readReached(stored)
}

function storeReached(key: string, before: contract.Reached, now: contract.Reached, context: Context): void {
  if (!isSame(before, now)) context.storage(BUCKET).set(key, concat([uint(now.count), now.entry]))
}

function isSame(one: contract.Reached, other: contract.Reached): boolean {
  return one.count === other.count && equal(one.entry, other.entry)
}
