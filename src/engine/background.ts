/** The background work for each contract: prepares its component, and runs its state change hook and its timers. */
import type { EngineContext } from './context.ts'
import { type ContractEntry, findCallTarget } from './contract-entry.ts'
import { type BackgroundJob, createJobRunner } from './job-runner.ts'
import { needsPreparation, prepareComponent } from './prepare.ts'
import { needsHookRun, runHook } from './state-change.ts'
import { runTimer } from './timers.ts'

export interface Background {
  /** Starts the jobs that are due, without waiting for their end. */
  readonly runRound: () => Promise<void>
  /** Resolves when no background job is running. */
  readonly waitUntilIdle: () => Promise<void>
  /** Stops the background work: no more jobs start. */
  stop(): void
}

/** Makes the background work of an engine. The caller calls `runRound` every `everyMs` milliseconds. */
export function createBackground(context: EngineContext, everyMs: number): Background {
  const { watcher, timers, now, monotonicMs } = context
  const runner = createJobRunner(context, everyMs)
  const entriesInPreparation = new WeakSet<ContractEntry>()
  const preparationTask = (entry: ContractEntry): BackgroundJob => {
    const markRunning = (runs: boolean): unknown =>
      runs ? entriesInPreparation.add(entry) : entriesInPreparation.delete(entry)
    return { what: 'component', entry, run: () => prepareComponent(context, entry), markRunning }
  }
  return {
    runRound: async () => {
      const dueTimers = await timers.listDue(now())
      if (runner.isStopped()) return
      const time = monotonicMs()
      const calls: BackgroundJob[] = []
      for (const entry of watcher.entries()) {
        if (needsPreparation(entry, time) && !entriesInPreparation.has(entry)) runner.add(preparationTask(entry))
        if (needsHookRun(entry, time)) calls.push(hookTask(context, entry))
      }
      for (const { contract, id } of dueTimers) {
        const entry = watcher.findEntry(contract)
        if (entry !== undefined && findCallTarget(context, entry) !== undefined)
          calls.push(timerTask(context, entry, id))
      }
      runner.addCalls(calls)
    },
    waitUntilIdle: runner.waitUntilIdle,
    stop: runner.stop,
  }
}

function hookTask(context: EngineContext, entry: ContractEntry): BackgroundJob {
  const markRunning = (runs: boolean): void => {
    entry.stateChange.running = runs
  }
  return { what: 'state change', entry, run: () => runHook(context, entry), markRunning }
}

function timerTask(context: EngineContext, entry: ContractEntry, id: number): BackgroundJob {
  const markRunning = (runs: boolean): void => context.timers.markRunning(entry.address, id, runs)
  return { what: 'timer', entry, run: () => runTimer(context, entry, id), markRunning }
}
