/**
 * The calls of one contract: so many at once, so many that wait. Of those that change something one runs at a time, in the
 * order in which they came; those that only read run beside it.
 */

export interface Lane {
  /**
   * Runs when there is room. Gives `overloaded` when there are too many, or it waited too long; `again` takes a place that the
   * caller has had already, in front of all that wait.
   */
  run<T>(mode: LaneMode, work: () => Promise<T>, again?: boolean): Promise<T | 'overloaded'>
  queued(): number
}

export type LaneMode = 'shared' | 'serial'

interface Waiting {
  readonly mode: LaneMode
  readonly since: number
  readonly again: boolean
  readonly start: () => void
  readonly giveUp: () => void
}

export interface LaneLimits {
  readonly concurrent: number
  readonly queued: number
  readonly queueSeconds: number
}

export function lane({ concurrent, queued, queueSeconds }: LaneLimits, now: () => Date): Lane {
  const waiting: Waiting[] = []
  let running = 0
  let serial = false
  const mayStart = ({ mode }: Waiting): boolean => running < concurrent && !(mode === 'serial' && serial)
  const next = (): void => {
    for (let index = waiting.findIndex(mayStart); index !== -1; index = waiting.findIndex(mayStart)) {
      const [first] = waiting.splice(index, 1)
      if (first === undefined) return
      if (!first.again && now().getTime() - first.since > queueSeconds * 1000) first.giveUp()
      else first.start()
    }
  }
  return {
    queued: () => waiting.length,
    run: <T>(mode: LaneMode, work: () => Promise<T>, again = false) =>
      new Promise<T | 'overloaded'>((resolve, reject) => {
        const start = (): void => {
          running++
          if (mode === 'serial') serial = true
          work()
            .then(resolve, reject)
            .finally(() => {
              running--
              if (mode === 'serial') serial = false
              next()
            })
        }
        const item = { mode, since: now().getTime(), again, start, giveUp: () => resolve('overloaded') }
        if (mayStart(item)) start()
        else if (again) waiting.unshift(item)
        else if (waiting.length >= queued) resolve('overloaded')
        else waiting.push(item)
      }),
  }
}
