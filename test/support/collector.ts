/** A collector of OpenTelemetry: a server on this machine that takes OTLP over HTTP in JSON, and keeps what came. */
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished } from 'vitest'

type Attributes = Readonly<Record<string, unknown>>

export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly traceState?: string
  readonly name: string
  readonly kind: number
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: { readonly code?: number }
  readonly attributes: Attributes
  /** The name of the service that it came from. */
  readonly service: unknown
}

export interface CollectedLog {
  readonly traceId?: string
  readonly spanId?: string
  readonly eventName?: string
  readonly severityText: string
  readonly body: string
  readonly attributes: Attributes
  readonly service: unknown
}

export interface Collector {
  readonly url: string
  readonly spans: readonly CollectedSpan[]
  readonly logs: readonly CollectedLog[]
  /** Every body as it came. */
  readonly bodies: readonly string[]
  readonly headers: readonly IncomingHttpHeaders[]
  /** Waits for a span, at the latest until the test takes too long. */
  whenSpan(test: (span: CollectedSpan) => boolean): Promise<CollectedSpan>
}

interface Entry {
  readonly key: string
  readonly value: Readonly<Record<string, unknown>>
}

interface Body {
  readonly resourceSpans?: readonly {
    readonly resource: SentRecord
    readonly scopeSpans: readonly { readonly spans: SentRecord[] }[]
  }[]
  readonly resourceLogs?: readonly {
    readonly resource: SentRecord
    readonly scopeLogs: readonly { readonly logRecords: SentRecord[] }[]
  }[]
}

type SentRecord = { readonly attributes: readonly Entry[]; readonly body?: Entry['value'] } & Readonly<
  Record<string, unknown>
>

/** Starts a collector for one test; `answer` takes everything when it is not given. */
export async function startCollector(answer?: (response: ServerResponse) => void): Promise<Collector> {
  const collector = await openCollector(answer)
  onTestFinished(collector.close)
  return collector
}

/** Starts a collector, which the caller closes. */
export async function openCollector(
  answer: (response: ServerResponse) => void = (response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}'),
): Promise<Collector & { readonly close: () => void }> {
  const kept = { spans: [] as CollectedSpan[], logs: [] as CollectedLog[], bodies: [] as string[] }
  const headers: IncomingHttpHeaders[] = []
  const server = createServer((request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
    request.on('end', () => {
      headers.push(request.headers)
      kept.bodies.push(text)
      const body = JSON.parse(text) as Body
      if (request.url?.endsWith('/v1/traces')) kept.spans.push(...spansIn(body))
      if (request.url?.endsWith('/v1/logs')) kept.logs.push(...logsIn(body))
      answer(response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    ...kept,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
    headers,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    whenSpan: (test) =>
      expect
        .poll(() => kept.spans.find(test))
        .toBeDefined()
        .then(() => kept.spans.find(test) as CollectedSpan),
  }
}

function spansIn({ resourceSpans = [] }: Body): CollectedSpan[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) => spans.map((span) => addService(span, resource) as unknown as CollectedSpan)),
  )
}

function logsIn({ resourceLogs = [] }: Body): CollectedLog[] {
  return resourceLogs.flatMap(({ resource, scopeLogs }) =>
    scopeLogs.flatMap(({ logRecords }) =>
      logRecords.map(
        (record) => ({ ...addService(record, resource), body: record.body?.stringValue }) as unknown as CollectedLog,
      ),
    ),
  )
}

function addService(sent: SentRecord, resource: SentRecord): object {
  return { ...sent, attributes: attributesOf(sent), service: attributesOf(resource)['service.name'] }
}

function attributesOf({ attributes }: SentRecord): Attributes {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, 'intValue' in value ? Number(value.intValue) : Object.values(value)[0]]),
  )
}
