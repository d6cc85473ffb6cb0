/** How a job ended, as those who asked for it are told. */
import type { Report } from './messages.ts'
import type { Effects, Outcome } from './runtime.ts'

export type Ended = Exclude<Report, { report: 'ready' }> | { readonly report: 'deadline' }

export function outcomeOf(ended: Ended): Outcome {
  switch (ended.report) {
    case 'done':
      return { kind: 'done', response: ended.response, result: ended.result, effects: effectsOf(ended.effects) }
    case 'hooks':
      return { kind: 'trap', message: 'the worker misunderstood', log: [] }
    case 'deadline':
      return { kind: 'deadline' }
    default:
      return { kind: ended.report, message: ended.message, log: ended.log }
  }
}

function effectsOf(sent: Effects | number): Effects {
  if (typeof sent !== 'number') return sent
  return { storage: [], transactions: [], timers: [], spent: [], signers: [], log: [], reads: sent }
}
