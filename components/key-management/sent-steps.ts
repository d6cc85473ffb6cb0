/**
 * Steps that this engine has sent a transaction for, oldest first: a minute later the contract is asked which of them
 * it still waits for.
 */
import type { Context } from 'vouchsafe/component'
import type { Change } from './contract.ts'
import { replace, revive } from './stored.ts'

/** The time that a transaction has before it is looked for. */
export const RESEND_MS = 60_000

const BUCKET = 'SENT'
const ENDS = 'ends'

interface SentStep extends Change {
  /** Milliseconds since 1970. */
  readonly at: number
}

interface Ends {
  readonly head: number
  readonly tail: number
}

export function addSentStep(change: Change, at: number, context: Context): void {
  const { head, tail } = loadEnds(context)
  const sent: SentStep = { ...change, at }
  context.storage(BUCKET).set(String(tail), JSON.stringify(sent, replace))
  context.storage(BUCKET).set(ENDS, JSON.stringify({ head, tail: tail + 1 }))
}

/** Lists the first steps of the queue, `most` at most, that were sent a minute ago or earlier. */
export function sentStepsDue(most: number, context: Context): readonly SentStep[] {
  const latest = context.now().getTime() - RESEND_MS
  const { head, tail } = loadEnds(context)
  const due: SentStep[] = []
  while (head + due.length < tail && due.length < most) {
    const step = load(String(head + due.length), context) as SentStep
    if (step.at > latest) break
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

export function hasSentSteps(context: Context): boolean {
  const { head, tail } = loadEnds(context)
  return head < tail
}

function loadEnds(context: Context): Ends {
  return (load(ENDS, context) ?? { head: 0, tail: 0 }) as Ends
}

function load(key: string, context: Context): unknown {
  const stored = context.storage(BUCKET).get(key)
  return stored && JSON.parse(new TextDecoder().decode(stored), revive)
}
