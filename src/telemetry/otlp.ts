/** Encodes spans and log lines in the JSON of OTLP. OpenTelemetry Protocol 1.x, OTLP/HTTP, JSON Protobuf Encoding. */
import { isObject, type Json, type JsonObject, stringMemberOf } from '../codec/json.ts'
import type { Attributes, EndedSpan, SpanKind } from './tracer.ts'

type AnyValue = Readonly<Record<string, unknown>>

const KINDS: Readonly<Record<SpanKind, number>> = { internal: 1, server: 2, client: 3 }
const STATUS_ERROR = 2
const SCOPE = { name: 'vouchsafe' }
/** The number and the name of each severity, by the log level of pino. Logs Data Model, SeverityNumber. */
const SEVERITIES: Readonly<Record<number, readonly [number, string]>> = {
  10: [1, 'TRACE'],
  20: [5, 'DEBUG'],
  30: [9, 'INFO'],
  40: [13, 'WARN'],
  50: [17, 'ERROR'],
  60: [21, 'FATAL'],
}
/**
 * The members of a log line that become fields of the log record or attributes of its resource, and not attributes of
 * the record.
 */
const FIELD_MEMBERS: readonly string[] = ['level', 'time', 'service', 'message', 'event', 'traceId', 'spanId']

/** Returns a span as a JSON object, one element of the list in {@link tracesBody}. */
export function spanText(span: EndedSpan): string {
  const { context, parentId, name, kind, startedAt, endedAt, attributes, hasFailed } = span
  return JSON.stringify({
    traceId: context.traceId,
    spanId: context.spanId,
    traceState: context.state,
    parentSpanId: parentId,
    flags: 1,
    name,
    kind: KINDS[kind],
    startTimeUnixNano: nanosecondsOf(startedAt),
    endTimeUnixNano: nanosecondsOf(Math.max(startedAt, endedAt)),
    attributes: keyValues(attributes),
    status: hasFailed ? { code: STATUS_ERROR } : {},
  })
}

/** Returns a line of the log as a JSON log record. The line is redacted already. */
export function logRecordText(line: JsonObject): string {
  const time = nanosecondsOf(Date.parse(stringMemberOf(line, 'time') ?? ''))
  const [severityNumber, severityText] = SEVERITIES[Number(line.level)] ?? [0, '']
  const others = Object.entries(line).filter(([name]) => !FIELD_MEMBERS.includes(name))
  return JSON.stringify({
    timeUnixNano: time,
    observedTimeUnixNano: time,
    severityNumber,
    severityText,
    eventName: stringMemberOf(line, 'event'),
    body: { stringValue: stringMemberOf(line, 'message') ?? '' },
    attributes: keyValues(Object.fromEntries(others)),
    traceId: stringMemberOf(line, 'traceId'),
    spanId: stringMemberOf(line, 'spanId'),
  })
}

/** Writes the body of a request to `/v1/traces`. */
export function tracesBody(resource: Attributes, spans: readonly string[]): string {
  return bodyText('resourceSpans', 'scopeSpans', resource, `"spans":[${spans.join(',')}]`)
}

/** Writes the body of a request to `/v1/logs`. */
export function logsBody(resource: Attributes, records: readonly string[]): string {
  return bodyText('resourceLogs', 'scopeLogs', resource, `"logRecords":[${records.join(',')}]`)
}

function bodyText(outer: string, inner: string, resource: Attributes, items: string): string {
  const [resourceText, scope] = [JSON.stringify({ attributes: keyValues(resource) }), JSON.stringify(SCOPE)]
  return `{"${outer}":[{"resource":${resourceText},"${inner}":[{"scope":${scope},${items}}]}]}`
}

/**
 * Returns a time as nanoseconds since the epoch, exact to the microsecond; as text, since a number has too few digits.
 */
function nanosecondsOf(milliseconds: number): string {
  return Number.isFinite(milliseconds) ? `${Math.round(milliseconds * 1000)}000` : '0'
}

function keyValues(members: Readonly<Record<string, Json>>): readonly { key: string; value: AnyValue }[] {
  return Object.entries(members).map(([key, value]) => ({ key, value: anyValue(value) }))
}

function anyValue(value: Json): AnyValue {
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number')
    return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } }
  return isObject(value) ? { kvlistValue: { values: keyValues(value) } } : {}
}
