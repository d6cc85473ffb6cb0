/** The metric of the spans and log lines that a service sent to its collector. */
import { Counter, type Registry } from 'prom-client'

/** The counts of spans and log lines that were sent to a collector, and of those that it did not take. */
export interface TelemetryCounts {
  readonly traces: { readonly sent: number; readonly dropped: number }
  readonly logs: { readonly sent: number; readonly dropped: number }
}

/** Registers the counter, which has no values where the setting `telemetry` is absent. */
export function registerTelemetryMetrics(
  prefix: string,
  registry: Registry,
  counts: TelemetryCounts | undefined,
): void {
  new Counter({
    name: `${prefix}telemetry_total`,
    help: 'Spans (traces) and log lines (logs) for the collector, by whether they were sent or dropped',
    labelNames: ['signal', 'end'],
    registers: [registry],
    collect() {
      this.reset()
      if (counts === undefined) return
      for (const signal of ['traces', 'logs'] as const) {
        this.inc({ signal, end: 'sent' }, counts[signal].sent)
        this.inc({ signal, end: 'dropped' }, counts[signal].dropped)
      }
    },
  })
}
