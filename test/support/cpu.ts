/** The processor time of some work: the least of three runs, because other work and the collection of garbage only add to it. */

/** Milliseconds of this process, all its threads together. */
export function cpuMilliseconds(work: () => unknown): number {
  const times = [1, 2, 3].map(() => {
    const before = process.cpuUsage()
    work()
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  return Math.min(...times)
}
