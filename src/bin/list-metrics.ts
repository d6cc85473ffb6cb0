/** The metrics of status lists as they are published: for how long they are valid, and how old they are. */
import { Gauge, type Registry } from 'prom-client'

/** The time after which a list is signed anew before it is served: older ones are not published any more. */
const SERVED_MS = 12 * 3_600_000
/** The most lists that are remembered. */
const MOST_LISTS = 10_000

interface ListTimes {
  readonly issuedAt: Date
  readonly expiresAt: Date
}

/** Makes the gauges; the function is told of each list that is signed. */
export function measureLists(
  prefix: string,
  registry: Registry,
  now: () => Date,
): (name: string, times: ListTimes) => void {
  const lists = new Map<string, ListTimes>()
  const gauge = (name: string, help: string, aggregator: 'min' | 'max', read: (each: ListTimes) => number): void => {
    new Gauge({
      name: `${prefix}${name}`,
      help,
      aggregator,
      registers: [registry],
      collect() {
        for (const [list, { issuedAt }] of lists) {
          if (now().getTime() - issuedAt.getTime() > SERVED_MS) lists.delete(list)
        }
        this.remove()
        if (lists.size > 0) this.set([...lists.values()].map(read).reduce((one, other) => Math[aggregator](one, other)))
      },
    })
  }
  gauge('status_list_expires_seconds', 'Time until the first of the status lists in use ends', 'min', ({ expiresAt }) =>
    secondsBetween(now(), expiresAt),
  )
  gauge(
    'status_list_age_seconds',
    'Time since the oldest of the status lists in use was signed',
    'max',
    ({ issuedAt }) => secondsBetween(issuedAt, now()),
  )
  return (name, times) => {
    if (lists.size < MOST_LISTS || lists.has(name)) lists.set(name, times)
  }
}

function secondsBetween(from: Date, to: Date): number {
  return Math.round((to.getTime() - from.getTime()) / 1000)
}
