/** Runs the background tasks of a service. The rounds of a task never overlap. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Task } from '../../async/task.ts'
import { machineClocks, watchForClockJump } from './clock-watch.ts'

/** The number of failed rounds in this process, by task name, for metrics. */
export const failedRounds = new Map<string, number>()

/** The time limit for a running round when the service stops. The next start continues its work. */
const STOP_WAIT_MS = 1000

/**
 * Runs the tasks. Returns the function that stops them, and resolves when the last rounds have ended or take too long.
 */
export function runTasks(tasks: readonly Task[], log: Logger, clocks = machineClocks): () => Promise<void> {
  const isClockDoubtful = watchForClockJump(clocks, log)
  const stop = new AbortController()
  const rounds = tasks.map(async (task) => {
    let failures = 0
    while (await waitOrAbort(task.everyMs, stop.signal)) {
      if (task.needsTrustedClock === true && isClockDoubtful()) continue
      failures = await runRound(task, log, { earlierFailures: failures, stop: stop.signal, isClockDoubtful })
    }
  })
  return async () => {
    stop.abort()
    const late = new AbortController()
    await Promise.race([Promise.all(rounds), waitOrAbort(STOP_WAIT_MS, late.signal)])
    late.abort()
    for (const task of tasks.filter(({ atStop }) => atStop === true)) await runRound(task, log)
  }
}

interface Round {
  /** How many rounds of the task have failed in a row before this one. */
  readonly earlierFailures?: number
  readonly stop?: AbortSignal
  readonly isClockDoubtful?: () => boolean
}

/**
 * Runs a round. Returns how many rounds of the task have failed in a row. The first, second, fourth and so on are
 * logged, since a task may fail several times a second.
 */
async function runRound(
  { name, run }: Task,
  log: Logger,
  { earlierFailures = 0, stop, isClockDoubtful }: Round = {},
): Promise<number> {
  try {
    await run(stop, isClockDoubtful)
    return 0
  } catch (err) {
    const failures = earlierFailures + 1
    failedRounds.set(name, (failedRounds.get(name) ?? 0) + 1)
    if (Number.isInteger(Math.log2(failures))) {
      const line = { event: 'upkeep_failed', task: name, failures, err }
      log.error(line, 'a background task failed; its next round tries again')
    }
    return failures
  }
}

/** Resolves with true after the time, or with false when the signal is aborted. */
async function waitOrAbort(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  try {
    await wait(milliseconds, undefined, { signal, ref: false })
    return true
  } catch {
    return false
  }
}
