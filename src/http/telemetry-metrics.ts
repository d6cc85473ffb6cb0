/** The metric of spans and log lines that were sent to the collector. */
import { Counter, type Registry } from 'prom-client'

/** The numbers of spans and log lines that were sent to the collector, and of those that it did not accept. */
export interface TelemetryCounts {
  readonly traces: { readonly sent: number; readonly dropped: number }
  readonly logs: { readonly sent: number; readonly dropped: number }
}

/** Registers the counter. It has no values without the setting `telemetry`. */
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
