/** Passes a request on to a service with its API key, and the answer back as fast as the browser reads it. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ForwardedRequest } from './endpoints.ts'

const MAX_BODY_BYTES = 1024 * 1024
const SERVICE_MS = 30_000

/** Passes a request on. Rejects when the service cannot be reached, or breaks its answer off. */
export async function passOn(
  fetchFrom: typeof globalThis.fetch,
  { service, method, target }: ForwardedRequest,
  body: Buffer<ArrayBuffer>,
  response: ServerResponse,
): Promise<void> {
  const clientAbort = new AbortController()
  response.on('close', () => clientAbort.abort())
  // A stream of events goes on for as long as somebody looks.
  const isStream = target.includes('/events/')
  const hasBody = body.length > 0
  const answer = await fetchFrom(service.url + target, {
    method,
    headers: {
      ...(service.apiKey && { authorization: `Bearer ${service.apiKey}` }),
      ...(hasBody && { 'content-type': 'application/json' }),
    },
    ...(hasBody && { body }),
    redirect: 'error',
    signal: isStream ? clientAbort.signal : AbortSignal.any([clientAbort.signal, AbortSignal.timeout(SERVICE_MS)]),
  })
  for (const name of ['content-type', 'x-request-id', 'retry-after']) {
    const value = answer.headers.get(name)
    if (value !== null) response.setHeader(name, value)
  }
  response.writeHead(answer.status)
  if (answer.body === null) {
    response.end()
    return
  }
  // The head of a stream says that it is open, long before its first event.
  response.flushHeaders()
  await pipeline(Readable.fromWeb(answer.body), response)
}

/** Reads a body; undefined when it is too large. */
export async function readBody(request: IncomingMessage): Promise<Buffer<ArrayBuffer> | undefined> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Uint8Array>) {
    length += chunk.length
    if (length > MAX_BODY_BYTES) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
