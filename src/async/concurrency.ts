/** Limits on how many tasks run at once. */
import { setImmediate } from 'node:timers/promises'

/**
 * Returns a function that starts tasks in the order of the calls, at most `most` at a time. A task that runs for longer
 * than `longMs` frees its slot, so that slow tasks, however many, delay no others; without `longMs` every task keeps
 * its slot.
 */
export function limitConcurrency(most: number, longMs?: number): <T>(task: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let running = 0
  const startNext = (): void => {
    while (running < most) {
      const next = waiting.shift()
      if (next === undefined) return
      running++
      next()
    }
  }
  return (task) =>
    new Promise((resolve, reject) => {
      waiting.push(() => {
        let hasSlot = true
        const freeSlot = (): void => {
          if (!hasSlot) return
          hasSlot = false
          running--
          startNext()
        }
        const timer = longMs === undefined ? undefined : setTimeout(freeSlot, longMs)
        start(task)
          .then(resolve, reject)
          .finally(() => {
            clearTimeout(timer)
            freeSlot()
          })
      })
      startNext()
    })
}

/** Starts `task`, and turns a synchronous exception into a rejection. */
async function start<T>(task: () => Promise<T>): Promise<T> {
  return task()
}

/**
 * Returns a function that runs tasks one after another in the order of the calls. A task that fails delays no other.
 */
export function serialQueue(): <T>(task: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (task) => {
    const result = last.then(task)
    last = result.catch(() => undefined)
    return result
  }
}

/**
 * Returns a function that runs the tasks with the same key one after another, in the order of the calls, and tells each
 * whether it had to wait. When `most` tasks of a key wait or run, `refuse` is called in place of another one.
 */
export function serialQueueByKey(
  most: number,
  refuse: () => never,
): <T>(key: string, task: (hasWaited: boolean) => Promise<T>) => Promise<T> {
  const queues = new Map<string, { readonly run: ReturnType<typeof serialQueue>; taskCount: number }>()
  return async (key, task) => {
    const queue = queues.get(key) ?? { run: serialQueue(), taskCount: 0 }
    if (queue.taskCount >= most) refuse()
    queues.set(key, queue)
    queue.taskCount += 1
    const hasWaited = queue.taskCount > 1
    try {
      return await queue.run(() => task(hasWaited))
    } finally {
      queue.taskCount -= 1
      if (queue.taskCount === 0) queues.delete(key)
    }
  }
}

/** Runs `work` on each value, one after another, and yields to the event loop in between. Returns the results. */
export async function runInTurn<T, R>(values: readonly T[], work: (value: T) => R | Promise<R>): Promise<readonly R[]> {
  const results: R[] = []
  for (const value of values) {
    if (results.length > 0) await setImmediate()
    results.push(await work(value))
  }
  return results
}
