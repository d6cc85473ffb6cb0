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

/** Starts `task`, and turns an exception that it throws at once into a rejection. */
async function start<T>(task: () => Promise<T>): Promise<T> {
  return task()
}
