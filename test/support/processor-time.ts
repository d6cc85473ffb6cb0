/** Processor time of this process, all its threads together: other work of the machine does not lengthen it. */

/** The milliseconds of processor time that `run` took. */
export async function processorMs(run: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** The least of three times, because threads beside and the collection of garbage only add to what `run` takes. */
export async function leastProcessorMs(run: () => unknown): Promise<number> {
  const times = [await processorMs(run), await processorMs(run), await processorMs(run)]
  return Math.min(...times)
}
