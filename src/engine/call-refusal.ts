/** Tells a client why its call was not committed: the problem response for each result of a call. */
import type { Quota } from './commit.ts'
import type { EngineContext } from './context.ts'
import type { ContractEntry } from './contract-entry.ts'
import type { FailedCall } from './perform.ts'
import { makeProblem, type ProblemCode, type ProblemResponse } from './problem.ts'

const PROBLEM_CODES: Readonly<Record<Exclude<FailedCall['kind'], 'quota'>, ProblemCode>> = {
  trap: 'component-trap',
  'bad-response': 'bad-component-response',
  deadline: 'deadline',
  overloaded: 'overloaded',
  // The contract was stopped, or changed its component, while the call waited; or the engine is stopping.
  unavailable: 'starting',
  reconciling: 'reconciling',
  'stale-chain': 'stale-chain',
}

const QUOTA_PROBLEM_CODES: Readonly<Record<Quota['limit'], ProblemCode>> = {
  storageBytes: 'storage-quota',
  timers: 'storage-quota',
  outboxTransactions: 'transaction-quota',
  outboxBytes: 'transaction-quota',
  transactionsPerDay: 'transaction-quota',
}

/** Returns the problem code that a client gets for a call that was not committed. */
export function problemCode(result: FailedCall): ProblemCode {
  return result.kind === 'quota' ? QUOTA_PROBLEM_CODES[result.limit] : PROBLEM_CODES[result.kind]
}

/** Returns the problem response that a client gets for a call that was not committed. */
export function callRefusal(context: EngineContext, entry: ContractEntry, result: FailedCall): ProblemResponse {
  if (result.kind === 'quota') return quotaRefusal(context, result)
  if (result.kind === 'reconciling') return reconcilingRefusal(context, entry)
  return makeProblem(problemCode(result))
}

/**
 * Returns the problem for a contract that is being reconciled. If its hook has failed, the problem has the time of the
 * next run.
 */
function reconcilingRefusal({ monotonicMs }: EngineContext, { fork, stateChange }: ContractEntry): ProblemResponse {
  if (fork.standing !== 'reconciling' || stateChange.problem === undefined) return makeProblem('reconciling')
  return makeProblem('reconciling', {
    retryAfter: Math.max(1, Math.ceil((stateChange.notBefore - monotonicMs()) / 1000)),
    detail:
      'the chain took back a block that this contract had been served at, and its state change hook, ' +
      `which has to run first, fails (${stateChange.problem}); the engine tries it again, and its log has the reason`,
  })
}

function quotaRefusal({ now }: EngineContext, result: Extract<FailedCall, { kind: 'quota' }>): ProblemResponse {
  const { limit, until } = result
  return makeProblem(problemCode(result), {
    retryAfter: until && Math.max(1, Math.ceil((until.getTime() - now().getTime()) / 1000)),
    detail: `the contract is at limits.${limit} of this engine, and nothing of the call was kept`,
  })
}
