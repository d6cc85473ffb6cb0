/**
 * Sends traces and log lines to a collector, by OTLP over HTTP in JSON. This code is loaded only with the setting
 * `telemetry`. docs/decisions/0020-telemetry.md says why no library does this.
 */
import type { InSpan } from '../async/in-span.ts'
import type { JsonObject } from '../codec/json.ts'
import type { TelemetryConfig } from '../config/telemetry.ts'
import type { Outbound } from '../http/outbound.ts'
import type { RequestTracer } from '../http/request-tracer.ts'
import type { TelemetryCounts } from '../http/telemetry-metrics.ts'
import type { Store } from '../store/store.ts'
import { createExporter, type Exporter, type ReportFailure } from './exporter.ts'
import { logRecordText, logsBody, spanText, tracesBody } from './otlp.ts'
import { traceOutbound } from './outbound.ts'
import { createRequestTracer } from './requests.ts'
import { traceStore } from './store.ts'
import { type Attributes, createTracer, type Tracer } from './tracer.ts'

/** Adds trace members to the lines of a log, and copies the lines to the collector. */
export interface LogExtension {
  /** Returns the additional members of a line: the ids of the current trace and span. */
  readonly getTraceMembers: () => object
  /** Queues a copy of a line for the collector, redacted as in the log. */
  readonly copyLine: (line: string) => void
  /** Sends the queued copies, and the queued spans, within two seconds, and drops the rest. */
  readonly flush: () => Promise<void>
}

export interface Telemetry {
  readonly inSpan: InSpan
  readonly requests: RequestTracer
  readonly outbound: Outbound
  readonly traceStore: <C>(store: Store<C>, system: 'sqlite' | 'postgresql') => Store<C>
  readonly log: LogExtension
  readonly counts: TelemetryCounts
}

interface TelemetryOptions {
  /** The attributes of this process in all traces and logs. */
  readonly resource: Attributes
  readonly outbound: Outbound
  readonly random: (bytes: number) => Uint8Array
  /** Returns the milliseconds since the epoch, with a fraction. */
  readonly clock: () => number
  /** Reports why the collector does not accept traces or logs; called once until it accepts them again. */
  readonly reportFailure: (signal: keyof TelemetryCounts, ...failure: Parameters<ReportFailure>) => void
}

/** The time limit for the last requests to the collector; it is part of the time for stopping the service. */
const CLOSE_MS = 2000

/** Makes the exporters and the tracer of a process, and the wrappers that trace its parts. */
export function createTelemetry(config: TelemetryConfig, options: TelemetryOptions): Telemetry {
  const { outbound, random, clock } = options
  const { traces, logs } = createExporters(config, options)
  const tracer = createTracer({
    random,
    clock,
    sampleRatio: config.sampleRatio,
    onSpanEnd: (span) => traces.add(spanText(span)),
  })
  return {
    inSpan: (name, work) => tracer.runStep({ name, kind: 'internal' }, work),
    requests: createRequestTracer(tracer),
    outbound: traceOutbound(outbound, tracer),
    traceStore: (store, system) => traceStore(store, tracer, system),
    log: {
      getTraceMembers: () => traceMembersOf(tracer),
      copyLine: config.logs ? (line) => logs.add(logRecordText(JSON.parse(line) as JsonObject)) : () => undefined,
      flush: async () => {
        await Promise.all([traces.close(CLOSE_MS), logs.close(CLOSE_MS)])
      },
    },
    counts: { traces: traces.counts, logs: logs.counts },
  }
}

function createExporters(
  { endpoint, headers }: TelemetryConfig,
  { resource, outbound, reportFailure }: TelemetryOptions,
): Readonly<Record<keyof TelemetryCounts, Exporter>> {
  const base = { headers, outbound }
  return {
    traces: createExporter({
      ...base,
      url: `${endpoint}/v1/traces`,
      bodyOf: (spans) => tracesBody(resource, spans),
      rejectedMember: 'rejectedSpans',
      reportFailure: (...failure) => reportFailure('traces', ...failure),
    }),
    logs: createExporter({
      ...base,
      url: `${endpoint}/v1/logs`,
      bodyOf: (records) => logsBody(resource, records),
      rejectedMember: 'rejectedLogRecords',
      reportFailure: (...failure) => reportFailure('logs', ...failure),
    }),
  }
}

function traceMembersOf(tracer: Tracer): object {
  const context = tracer.getCurrentContext()
  return context === undefined ? {} : { traceId: context.traceId, spanId: context.spanId }
}
