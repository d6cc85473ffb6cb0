/**
 * Traces and log lines for a collector, by OTLP over HTTP in JSON. This part of the command is loaded only where the
 * setting `telemetry` is there. Decision 20 (docs/decisions/0020-telemetry.md) says why no library does it.
 */
import type { InSpan } from '../async/in-span.ts'
import type { JsonObject } from '../codec/json.ts'
import type { TelemetryConfig } from '../config/telemetry.ts'
import type { Outbound } from '../http/outbound.ts'
import type { RequestTracer } from '../http/request-tracer.ts'
import type { TelemetryCounts } from '../http/telemetry-metrics.ts'
import type { Store } from '../store/store.ts'
import { createExporter, type Exporter } from './exporter.ts'
import { logRecordText, logsBody, spanText, tracesBody } from './otlp.ts'
import { traceOutbound } from './outbound.ts'
import { createRequestTracer } from './requests.ts'
import { traceStore } from './store.ts'
import { type Attributes, createTracer, type Tracer } from './tracer.ts'

/** The trace in the lines of a log, and a copy of each line for the collector. */
export interface LogExtension {
  /** Returns the members that a line has more, by what is being worked for. */
  readonly members: () => object
  /** Takes a line as it is written, redacted. */
  readonly copy: (line: string) => void
}

export interface Telemetry {
  readonly inSpan: InSpan
  readonly requests: RequestTracer
  readonly outbound: Outbound
  readonly traceStore: <C>(store: Store<C>, system: 'sqlite' | 'postgresql') => Store<C>
  readonly log: LogExtension
  readonly counts: TelemetryCounts
  /** Sends what waits, within two seconds. */
  close(): Promise<void>
}

interface TelemetryOptions {
  /** The attributes of this process. */
  readonly resource: Attributes
  readonly outbound: Outbound
  readonly random: (bytes: number) => Uint8Array
  /** Returns the milliseconds since the epoch, with a fraction. */
  readonly clock: () => number
  /** Is told why the collector does not take the traces or the logs, once for each time that it stops to. */
  readonly failed: (signal: keyof TelemetryCounts, why: string) => void
}

/** The time that the collector has at the end: with all else that ends, it fits into the time for stopping. */
const CLOSE_MS = 2000

export function createTelemetry(config: TelemetryConfig, options: TelemetryOptions): Telemetry {
  const { outbound, random, clock } = options
  const { traces, logs } = createExporters(config, options)
  const tracer = createTracer({
    ...{ random, clock, sampleRatio: config.sampleRatio },
    take: (span) => traces.add(spanText(span)),
  })
  return {
    inSpan: (name, work) => tracer.step({ name, kind: 'internal' }, work),
    requests: createRequestTracer(tracer),
    outbound: traceOutbound(outbound, tracer),
    traceStore: (store, system) => traceStore(store, tracer, system),
    log: {
      members: () => traceMembers(tracer),
      copy: config.logs ? (line) => logs.add(logRecordText(JSON.parse(line) as JsonObject)) : () => undefined,
    },
    counts: { traces: traces.counts, logs: logs.counts },
    close: async () => {
      await Promise.all([traces.close(CLOSE_MS), logs.close(CLOSE_MS)])
    },
  }
}

function createExporters(
  { endpoint, headers }: TelemetryConfig,
  { resource, outbound, failed }: TelemetryOptions,
): Readonly<Record<keyof TelemetryCounts, Exporter>> {
  const base = { headers, outbound }
  return {
    traces: createExporter({
      ...base,
      url: `${endpoint}/v1/traces`,
      bodyOf: (spans) => tracesBody(resource, spans),
      rejectedMember: 'rejectedSpans',
      failed: (why) => failed('traces', why),
    }),
    logs: createExporter({
      ...base,
      url: `${endpoint}/v1/logs`,
      bodyOf: (records) => logsBody(resource, records),
      rejectedMember: 'rejectedLogRecords',
      failed: (why) => failed('logs', why),
    }),
  }
}

function traceMembers(tracer: Tracer): object {
  const context = tracer.current()
  return context === undefined ? {} : { traceId: context.traceId, spanId: context.spanId }
}
