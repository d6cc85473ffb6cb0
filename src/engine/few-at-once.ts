/**
 * Starts tasks in the order in which they came, so many at once. One that takes long counts no more after a while: it keeps nobody
 * waiting, however many there are of its kind.
 */
export function fewAtOnce(most: number, longMs: number): <T>(task: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = []
  let counted = 0
  const next = (): void => {
    while (counted < most) {
      const start = waiting.shift()
      if (start === undefined) return
      counted++
      start()
    }
  }
  return (task) =>
    new Promise((resolve, reject) => {
      waiting.push(() => {
        let counts = true
        const countNoMore = (): void => {
          if (!counts) return
          counts = false
          counted--
          next()
        }
        const timer = setTimeout(countNoMore, longMs)
        begin(task)
          .then(resolve, reject)
          .finally(() => {
            clearTimeout(timer)
            countNoMore()
          })
      })
      next()
    })
}

/** What it throws at once is its failure too, and not that of the task whose end made room for it. */
async function begin<T>(task: () => Promise<T>): Promise<T> {
  return task()
}
