/** The background work of each contract: preparing its component, running its state change hook and its timers. */
import { targetOf } from './call-target.ts'
import type { EngineContext } from './context.ts'
import type { ContractEntry } from './contract-entry.ts'
import { mustPrepare, prepare } from './prepare.ts'
import { mustRunHook, runHook } from './state-change.ts'
import { type BackgroundTask, createTaskRunner } from './task-runner.ts'
import { runTimer } from './timers.ts'

export interface Background {
  /** Starts what is to be started, and does not wait for it. */
  readonly round: () => Promise<void>
  /** Resolves when nothing of the background work runs any more. */
  readonly settled: () => Promise<void>
  stop(): void
}

/** Makes the background work, whose rounds come every `everyMs` milliseconds. */
export function createBackground(context: EngineContext, everyMs: number): Background {
  const { watcher, timers, now } = context
  const started = createTaskRunner(context, everyMs)
  const preparing = new WeakSet<ContractEntry>()
  const preparingOf = (entry: ContractEntry): BackgroundTask => {
    const running = (runs: boolean): unknown => (runs ? preparing.add(entry) : preparing.delete(entry))
    return { what: 'component', entry, run: () => prepare(context, entry), running }
  }
  return {
    round: async () => {
      const due = await timers.due(now())
      if (started.isStopped()) return
      const at = now().getTime()
      const calls: BackgroundTask[] = []
      for (const entry of watcher.entries()) {
        if (mustPrepare(entry, at) && !preparing.has(entry)) started.add(preparingOf(entry))
        if (mustRunHook(entry, at)) calls.push(hookOf(context, entry))
      }
      for (const { contract, id } of due) {
        const entry = watcher.get(contract)
        if (entry !== undefined && targetOf(context, entry) !== undefined) calls.push(timerOf(context, entry, id))
      }
      started.addCalls(calls)
    },
    settled: started.settled,
    stop: started.stop,
  }
}

function hookOf(context: EngineContext, entry: ContractEntry): BackgroundTask {
  const running = (runs: boolean): void => {
    entry.hook.running = runs
  }
  return { what: 'state change', entry, run: () => runHook(context, entry), running }
}

function timerOf(context: EngineContext, entry: ContractEntry, id: number): BackgroundTask {
  const running = (runs: boolean): void => context.timers.running(entry.address, id, runs)
  return { what: 'timer', entry, run: () => runTimer(context, entry, id), running }
}
