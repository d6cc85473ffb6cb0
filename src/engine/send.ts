/** Sends HTTP responses, also to a client that is still sending its request. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../http/app-type.ts'
import type { EngineContext } from './context.ts'
import { corsHeaders } from './cors.ts'
import type { ProblemResponse } from './problem.ts'

/** A request, and the response that is to be written. */
export interface PendingResponse {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly id: string
  readonly countUnreadBytes: App['countUnreadBytes']
}

export type HeaderPair = readonly [name: string, value: string]

/** Takes the response over from the router. The caller must write and end it. */
export function takeResponse(request: FastifyRequest, reply: FastifyReply): PendingResponse {
  reply.hijack()
  const { countUnreadBytes } = request.server
  return { request: request.raw, response: reply.raw, id: request.id, countUnreadBytes }
}

/** Sends a problem response of the engine itself. */
export function sendProblem(
  context: Pick<EngineContext, 'watcher' | 'config'>,
  pending: PendingResponse,
  { status, headers, body }: ProblemResponse,
  cors = context.config.cors,
): void {
  const block = context.watcher.getHead()
  const allHeaders: HeaderPair[] = [
    ...Object.entries(headers),
    ...(block === undefined ? [] : [['x-engine-block', String(block.number)] as const]),
    ...corsHeaders(cors),
  ]
  sendResponse(pending, status, allHeaders, body)
}

/** Sends a response. Does nothing when one was sent before, or the client has disconnected. */
export function sendResponse(
  pending: PendingResponse,
  status: number,
  headers: readonly HeaderPair[],
  body: Uint8Array,
): void {
  const { request, response, id, countUnreadBytes } = pending
  if (response.headersSent || response.destroyed) return
  const isRequestUnread = hasUnreadBody(request)
  const hasLength = status !== 204 && status !== 304
  const fields = fieldsOf([['x-request-id', id], ['x-content-type-options', 'nosniff'], ...headers])
  if (hasLength) fields.set('content-length', String(body.length))
  if (isRequestUnread) fields.set('connection', 'close')
  const sentBody = hasLength && request.method !== 'HEAD' ? body : undefined
  countUnreadBytes(response, sentBody?.length ?? 0)
  // A single call sets all fields, because Node checks and stores each field that is set on its own.
  response.writeHead(status, [...fields].flat(1))
  if (isRequestUnread) drainRequest(pending, sentBody)
  else response.end(sentBody)
}

/** Returns each header name once, with all its values. */
function fieldsOf(headers: readonly HeaderPair[]): Map<string, string | string[]> {
  const fields = new Map<string, string | string[]>()
  for (const [name, value] of headers) {
    const before = fields.get(name)
    fields.set(name, before === undefined ? value : [before, value].flat())
  }
  return fields
}

/** Tests whether the client may still be sending its body. */
function hasUnreadBody({ complete, readableEnded, headers }: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = headers
  return !complete && !readableEnded && (coding !== undefined || Number(length) > 0)
}

const LINGER_MS = 1000

/**
 * Reads and discards the rest of the request for a moment, so that the client finishes sending and reads the response.
 */
function drainRequest({ request, response }: PendingResponse, body: Uint8Array | undefined): void {
  if (body !== undefined) response.write(body)
  const end = (): void => {
    clearTimeout(timer)
    response.end()
  }
  const timer = setTimeout(end, LINGER_MS)
  request.once('end', end).once('close', end).resume()
}
