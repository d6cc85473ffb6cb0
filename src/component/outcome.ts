/** How a job ended, as those who asked for it are told. */
import type { WorkerReport } from './messages.ts'
import type { RunOutcome } from './runtime.ts'

const NOTHING = { storage: [], transactions: [], timers: [], spent: [], signers: [], log: [] } as const

export type JobOutcome = Exclude<WorkerReport, { report: 'ready' }> | { readonly report: 'deadline' | 'overloaded' }

export function runOutcomeOf(ended: JobOutcome): RunOutcome {
  switch (ended.report) {
    case 'done':
      return { kind: 'done', response: ended.response, result: ended.result, effects: { ...NOTHING, ...ended.effects } }
    case 'hooks':
      return { kind: 'trap', message: 'the worker misunderstood', log: [] }
    case 'deadline':
    case 'overloaded':
      return { kind: ended.report }
    default:
      return { kind: ended.report, message: ended.message, log: ended.log }
  }
}
