/** The metrics of published status lists: their validity and age. */
import { Gauge, type Registry } from 'prom-client'
import type { RecordSignedList, SignedListTimes } from '../../issuer/context.ts'

/** The maximum number of lists in the metrics. */
const MAX_LISTS = 10_000

/** Registers the gauges. Returns the function that records each signed list. */
export function registerListMetrics(prefix: string, registry: Registry, now: () => Date): RecordSignedList {
  const lists = new Map<string, SignedListTimes>()
  const gauge = (
    name: string,
    help: string,
    aggregator: 'min' | 'max',
    read: (each: SignedListTimes) => number,
  ): void => {
    new Gauge({
      name: `${prefix}${name}`,
      help,
      aggregator,
      registers: [registry],
      collect() {
        for (const [list, { servedUntil }] of lists) if (now() > servedUntil) lists.delete(list)
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
    if (lists.size < MAX_LISTS || lists.has(name)) lists.set(name, times)
  }
}

function secondsBetween(from: Date, to: Date): number {
  return Math.round((to.getTime() - from.getTime()) / 1000)
}
