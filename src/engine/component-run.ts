/** Runs a component once: makes the call of its contract and block, and reports how the run ended. */
import type { Logger } from 'pino'
import { ChainError } from '../chain/chain.ts'
import { type Hook, type RunOutcome, SilenceError } from '../component/runtime.ts'
import { NO_ROW_VERSION } from '../store/store.ts'
import type { StorageReads } from './commit.ts'
import { createHost } from './component-host.ts'
import type { EngineContext } from './context.ts'
import type { CallTarget } from './contract-entry.ts'
import type { ContractRow } from './contract-rows.ts'

interface ComponentRun {
  readonly hook: Hook
  /** The id of the HTTP request, for the log. */
  readonly requestId?: string
  /** The milliseconds that the run may wait for a worker. */
  readonly queueMs: number
  readonly contractRow: ContractRow
  readonly storageReads: StorageReads
}

/** Runs a hook of the component of a contract, and reports the outcome to the metrics and the log. */
export async function runHookOnce(
  context: EngineContext,
  target: CallTarget,
  { hook, requestId, queueMs, contractRow, storageReads }: ComponentRun,
): Promise<RunOutcome> {
  const { runtime, chain, engine, config, metrics, now, log } = context
  const { httpSeconds, stateChangeSeconds } = config.limits
  const { component, contract, block } = target
  const began = now().getTime()
  const outcome = await runtime.run(
    {
      component,
      hook,
      contract: contract.address,
      engine,
      chain: { id: chain.id, addresses: chain.addresses },
      block: { number: block.number, time: block.time },
      state: contract.state,
      now: now(),
      deadlineMs: (hook.kind === 'http' ? httpSeconds : stateChangeSeconds) * 1000,
      queueMs,
      // A commit compares the version of the row, so a call may use values that a worker has cached for this version.
      storageVersion: contractRow.version ?? NO_ROW_VERSION,
    },
    createHost(context, target, storageReads),
  )
  metrics.calls.inc({ hook: hook.kind, outcome: outcome.kind })
  metrics.seconds.observe({ hook: hook.kind }, (now().getTime() - began) / 1000)
  logRun(log, outcome, { request: requestId, contract: contract.address, hook: hook.kind })
  return outcome
}

/**
 * Logs why a run failed, and the lines that the component logged. The error of an outage that is not the chain's is
 * left to the caller, whom it reaches.
 */
function logRun(log: Logger, outcome: RunOutcome, line: object): void {
  if (outcome.kind === 'stopped') return
  if (outcome.kind === 'overloaded') log.warn({ event: 'no_worker', ...line }, 'no worker was free in time')
  else if (outcome.kind === 'deadline')
    log.warn({ event: 'component_deadline', ...line }, 'the component took too long')
  else {
    if (outcome.kind === 'outage' && isChainOutage(outcome.error))
      log.warn({ event: 'chain_not_read', ...line, why: outcome.error.message }, NOT_READ_TEXT)
    if (outcome.kind === 'trap' || outcome.kind === 'bad-response') {
      const event = outcome.kind === 'trap' ? 'component_trap' : 'bad_component_response'
      log.warn({ event, ...line, why: outcome.message }, 'the component failed, and nothing of its call was kept')
    }
    const lines = outcome.kind === 'done' ? outcome.effects.log : outcome.log
    for (const text of lines) log.info({ event: 'component_log', ...line, text }, 'a line that the component logged')
  }
}

/** Tests whether an outage is one of the chain: its error says so, or a read of the contract was never answered. */
export function isChainOutage(error: unknown): error is Error {
  return error instanceof ChainError || (error instanceof SilenceError && error.operation === 'readContract')
}

const NOT_READ_TEXT = 'the chain did not answer what the component asked it, and nothing of its call was kept'
