import { expect, it, vi } from 'vitest'
import { engineConfig } from '../../test/support/engine.ts'
import { createMetrics, type GaugeValues, registerGauges } from './metrics.ts'

it('reads the values of all gauges once for each time that the metrics are fetched', async () => {
  const metrics = createMetrics(engineConfig().limits)
  const values: GaugeValues = {
    ...{ running: 1, waiting: 2, workers: 3, queued: 4, deadHooks: 5, timers: 6, bufferedBytes: 7 },
    outbox: { count: 8, oldestSeconds: 9 },
    chain: { block: 10, unseenSeconds: 11, headAgeSeconds: 12, unread: 13 },
    contracts: { served: 14, starting: 0, reconciling: 0, failed: 0, 'not-this-engine': 0 },
    storage: [{ contract: 'c', bytes: 15 }],
  }
  const readValues = vi.fn(() => values)
  registerGauges(metrics, readValues)
  const answer = await metrics.registry.metrics()
  expect(readValues).toHaveBeenCalledTimes(1)
  expect(answer).toContain('vouchsafe_engine_running 1\n')
  expect(answer).toContain('vouchsafe_engine_buffered_bytes 7\n')
  expect(answer).toContain('vouchsafe_engine_contracts{state="served"} 14\n')
  expect(answer).toContain('vouchsafe_engine_storage_bytes{contract="c"} 15')
})
