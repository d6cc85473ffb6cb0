/** Converts the outcome of a job to that of a call. */
import type { WorkerReport } from './messages.ts'
import type { RunOutcome } from './runtime.ts'

const NO_EFFECTS = { storage: [], transactions: [], timers: [], spentRequests: [], signers: [], log: [] } as const

export type JobOutcome = Exclude<WorkerReport, { report: 'ready' }> | { readonly report: 'deadline' | 'overloaded' }

export function runOutcomeOf(outcome: JobOutcome): RunOutcome {
  switch (outcome.report) {
    case 'done':
      return {
        kind: 'done',
        response: outcome.response,
        result: outcome.result,
        effects: { ...NO_EFFECTS, ...outcome.effects },
      }
    case 'hooks':
      return { kind: 'trap', message: 'the worker misunderstood', log: [] }
    case 'deadline':
    case 'overloaded':
      return { kind: outcome.report }
    default:
      return { kind: outcome.report, message: outcome.message, log: outcome.log }
  }
}
