/** Time limits: for computations that block the event loop, and for waiting. */

/** Starts a timer of `ms` milliseconds, and returns the function that tests whether its time is over. */
export type StartTimer = (ms: number) => () => boolean

/**
 * A timer that ends when both the clock and the CPU time of this process have advanced by `ms`, so that a computation
 * does not lose its time while the machine is busy with other work.
 */
export const startTimer: StartTimer = (ms) => {
  const endsAt = performance.now() + ms
  const before = process.cpuUsage()
  return () => performance.now() > endsAt && processorMs(process.cpuUsage(before)) > ms
}

function processorMs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000
}

/**
 * Tests whether `work` ends within `milliseconds`, and waits no longer than that. Rejects when `work` rejects in time.
 */
export async function endsWithin(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(resolve, milliseconds, false)
  })
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}

/** Returns the value of `work`; undefined when `work` rejects, or has not ended within `milliseconds`. */
export async function valueWithin<T>(work: Promise<T>, milliseconds: number): Promise<T | undefined> {
  let value: T | undefined
  const keeping = work.then((result) => {
    value = result
  })
  await endsWithin(keeping, milliseconds).catch(() => false)
  return value
}
