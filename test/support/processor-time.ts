/** The milliseconds of processor time that `run` took in this process, which other work of the machine does not lengthen. */
export async function processorMs(run: () => unknown): Promise<number> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
