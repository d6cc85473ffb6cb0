/** Forwards a request to a service with its API key, and streams the response back. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { jsonAnswer, sendAnswer } from './answer.ts'
import type { ConsoleEngine, ForwardedRequest } from './endpoints.ts'

const MAX_BODY_BYTES = 1024 * 1024
const SERVICE_MS = 30_000

/** The content of a request that is forwarded, and the key by which the service knows it again when it is repeated. */
interface ForwardedContent {
  readonly body: Buffer<ArrayBuffer>
  readonly idempotencyKey: string | undefined
}

/** Forwards a request. Rejects if the service cannot be reached, or its response is incomplete. */
export async function forwardRequest(
  fetchFrom: typeof globalThis.fetch,
  { service, keyVariable, method, target }: ForwardedRequest,
  content: ForwardedContent,
  response: ServerResponse,
): Promise<void> {
  const clientAbort = new AbortController()
  response.on('close', () => clientAbort.abort())
  // An event stream has no time limit.
  const isStream = isEventStream(target)
  const answer = await fetchFrom(service.url + target, {
    method,
    headers: headersFor(service, content),
    ...(content.body.length > 0 && { body: content.body }),
    redirect: 'error',
    signal: isStream ? clientAbort.signal : AbortSignal.any([clientAbort.signal, AbortSignal.timeout(SERVICE_MS)]),
  })
  if (answer.status === 401) {
    await answer.body?.cancel()
    sendAnswer(
      response,
      jsonAnswer({ error: 'unauthorized', error_description: refusedKeyText(service.url, keyVariable) }, 401),
    )
    return
  }
  for (const name of ['content-type', 'x-request-id', 'retry-after']) {
    const value = answer.headers.get(name)
    if (value !== null) response.setHeader(name, value)
  }
  response.writeHead(answer.status)
  if (answer.body === null) {
    response.end()
    return
  }
  // Sends the headers now, long before the first event of a stream.
  response.flushHeaders()
  await pipeline(Readable.fromWeb(answer.body), response)
}

function headersFor({ apiKey }: ConsoleEngine, { body, idempotencyKey }: ForwardedContent): Record<string, string> {
  return {
    ...(apiKey && { authorization: `Bearer ${apiKey}` }),
    ...(body.length > 0 && { 'content-type': 'application/json' }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  }
}

/** Tests whether a target is a stream of events. */
export function isEventStream(target: string): boolean {
  return target.includes('/events/')
}

/** Says that a service refuses the key of the console, and what the person who started the console does. */
export function refusedKeyText(url: string, keyVariable: string): string {
  return `${url} refuses the API key of this console; start the console again with a key of its integrations.authentication in ${keyVariable}`
}

/** Returns the body; undefined if it is too large. */
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
