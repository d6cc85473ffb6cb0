/**
 * Steps that this engine has sent a transaction for, oldest first: when a block of a minute later is seen, the contract
 * is asked which of them it still waits for.
 */
import type { Context } from 'vouchsafe/component'
import { isOver, lookTime, msUntilLook } from '../sending.ts'
import type { Change } from './contract.ts'
import { replace, revive } from './stored.ts'

const BUCKET = 'SENT'
const ENDS = 'ends'

interface SentStep extends Change {
  /** The time from which the transaction is looked for, in milliseconds since 1970. */
  readonly at: number
}

interface Ends {
  readonly head: number
  readonly tail: number
}

export function addSentStep(change: Change, context: Context): void {
  const { head, tail } = loadEnds(context)
  const sent: SentStep = { ...change, at: lookTime(context) }
  context.storage(BUCKET).set(String(tail), JSON.stringify(sent, replace))
  context.storage(BUCKET).set(ENDS, JSON.stringify({ head, tail: tail + 1 }))
}

/** Lists the first steps of the queue, `most` at most, that are to be looked for. */
export function sentStepsDue(most: number, context: Context): readonly SentStep[] {
  const { head, tail } = loadEnds(context)
  const due: SentStep[] = []
  while (head + due.length < tail && due.length < most) {
    const step = stepAt(head + due.length, context)
    if (!isOver(step.at, context)) break
    due.push(step)
  }
  return due
}

/** Deletes the first `count` steps of the queue. */
export function dropSentSteps(count: number, context: Context): void {
  if (count === 0) return
  const { head, tail } = loadEnds(context)
  for (let at = head; at < head + count; at++) context.storage(BUCKET).delete(String(at))
  context.storage(BUCKET).set(ENDS, JSON.stringify({ head: head + count, tail }))
}

/** Returns the milliseconds until the first step of the queue is to be looked for; undefined where there is none. */
export function msUntilDue(context: Context): number | undefined {
  const { head, tail } = loadEnds(context)
  return head < tail ? msUntilLook(stepAt(head, context).at, context) : undefined
}

function stepAt(at: number, context: Context): SentStep {
  return load(String(at), context) as SentStep
}

function loadEnds(context: Context): Ends {
  return (load(ENDS, context) ?? { head: 0, tail: 0 }) as Ends
}

function load(key: string, context: Context): unknown {
  const stored = context.storage(BUCKET).get(key)
  return stored && JSON.parse(new TextDecoder().decode(stored), revive)
}
