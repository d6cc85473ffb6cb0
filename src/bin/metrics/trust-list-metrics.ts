/** The metrics of the trust lists of a verifier. */
import { Gauge, type Registry } from 'prom-client'
import { cacheValue } from '../../async/cache.ts'
import { readInTime } from './state-metrics.ts'

/** How long the rows of the lists are cached. */
const ROWS_MS = 10_000

/** Registers the gauge of the time until each list ends. `readEnds` returns the ends by URL, in milliseconds. */
export function registerTrustListMetrics(
  prefix: string,
  registry: Registry,
  readEnds: () => Promise<ReadonlyMap<string, number | undefined>>,
  now: () => Date,
): void {
  const ends = cacheValue(() => readInTime(readEnds()), { ttlMs: ROWS_MS, now })
  new Gauge({
    name: `${prefix}trust_list_ends_seconds`,
    help: 'Time until a trust list ends, and its anchors with it; 0 when there is no list yet, negative since its end',
    labelNames: ['list'],
    // All workers read the rows of the same database.
    aggregator: 'min',
    registers: [registry],
    async collect() {
      const endsByUrl = (await ends.get()) ?? new Map<string, number | undefined>()
      this.reset()
      for (const [list, endsAt] of endsByUrl) {
        this.set({ list }, endsAt === undefined ? 0 : Math.round((endsAt - now().getTime()) / 1000))
      }
    },
  })
}
