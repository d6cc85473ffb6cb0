/** Runs the tasks of a service, each round after the last, until told to stop. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Task } from '../async/task.ts'

/** The time for which a running round may keep the service from stopping. The next start finds what was left. */
const STOP_WAIT_MS = 3000

/**
 * Runs the tasks, and returns the function that stops them: it resolves when the last rounds have ended, or take too
 * long.
 */
export function runTasks(tasks: readonly Task[], log: Logger): () => Promise<void> {
  const stop = new AbortController()
  const rounds = tasks.map(async (task) => {
    while (await waitOrAbort(task.everyMs, stop.signal)) await runRound(task, log, stop.signal)
  })
  return async () => {
    stop.abort()
    const late = new AbortController()
    await Promise.race([Promise.all(rounds), waitOrAbort(STOP_WAIT_MS, late.signal)])
    late.abort()
    for (const task of tasks.filter(({ atStop }) => atStop === true)) await runRound(task, log)
  }
}

async function runRound(task: Task, log: Logger, stop?: AbortSignal): Promise<void> {
  await task.run(stop).catch((err: unknown) => {
    log.error({ event: 'upkeep_failed', task: task.name, err }, 'a background task failed; its next round tries again')
  })
}

/** Resolves with true after the time, and with false as soon as the signal is given. */
async function waitOrAbort(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  try {
    await wait(milliseconds, undefined, { signal, ref: false })
    return true
  } catch {
    return false
  }
}
