/** Runs the tasks of a service, each round after the last, until told to stop. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Task } from '../store/upkeep.ts'

/** Gives the function that stops them: it resolves when the rounds that run have ended. */
export function keepUp(tasks: readonly Task[], log: Logger): () => Promise<void> {
  const stop = new AbortController()
  const rounds = tasks.map(async (task) => {
    while (await hasPassed(task.everyMs, stop.signal)) {
      await task.run().catch((err: unknown) => log.error({ event: 'upkeep_failed', task: task.name, err }, 'next time'))
    }
  })
  return async () => {
    stop.abort()
    await Promise.all(rounds)
  }
}

/** False as soon as the signal is given. */
async function hasPassed(milliseconds: number, signal: AbortSignal): Promise<boolean> {
  try {
    await wait(milliseconds, undefined, { signal, ref: false })
    return true
  } catch {
    return false
  }
}
