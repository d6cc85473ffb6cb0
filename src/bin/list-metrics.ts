/** The metrics of status lists as they are published: for how long they are valid, and how old they are. */
import { Gauge, type Registry } from 'prom-client'
import type { RecordSignedList, SignedListTimes } from '../issuer/context.ts'

/** The most lists that are remembered. */
const MAX_LISTS = 10_000

/** Registers the gauges; returns the function that they learn of each signed list by. */
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
