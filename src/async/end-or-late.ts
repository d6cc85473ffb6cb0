/**
 * Waits for `work`, but for at most `milliseconds`. Returns whether `work` ended in time. Rejects when `work` rejects.
 */
export async function endOrLate(work: Promise<unknown>, milliseconds: number): Promise<boolean> {
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
