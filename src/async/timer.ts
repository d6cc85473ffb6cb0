/** Time limits of computations that do not yield to the event loop. */

/** Starts a timer of `ms` milliseconds, and returns the function that tests whether its time is over. */
export type StartTimer = (ms: number) => () => boolean

/**
 * A timer whose time is over when both the clock and the processor time of this process have gone on by `ms`: where a
 * machine is busy with other work, a computation keeps the time that it was given.
 */
export const startTimer: StartTimer = (ms) => {
  const endsAt = performance.now() + ms
  const before = process.cpuUsage()
  return () => performance.now() > endsAt && processorMs(process.cpuUsage(before)) > ms
}

function processorMs({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1000
}
