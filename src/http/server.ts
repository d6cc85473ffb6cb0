/**
 * The frame of a server: time limits, request ids, the requests of a connection in turn, headers of every answer, and
 * the answer to bytes that are not an HTTP request. Routes and refusals are each service's own.
 */
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type ConnectionError, type FastifyReply, type FastifyRequest } from 'fastify'
import { toBase64url } from '../codec/base64url.ts'
import type { App } from './app-type.ts'
import { watchConnections } from './connections.ts'

/** The time for a TLS handshake: less than a stop waits for connections. */
const HANDSHAKE_MS = 8000

type Validate = (data: unknown) => true | { readonly value: unknown } | { readonly error: Error }

export interface ServerOptions {
  readonly random: (bytes: number) => Uint8Array
  readonly tls?: object | undefined
  /** Addresses and networks that are believed when they say, in X-Forwarded-For, from where they were called. */
  readonly trustedProxies?: readonly string[] | undefined
  /** How long a request may take to arrive. */
  readonly requestTimeoutMs: number
  /** The most bytes of a request before its body, as far as the parser of Node reads; its own limit when absent. */
  readonly maxHeaderSize?: number
  /** The most bytes of a body that a route reads by the server. */
  readonly bodyLimit?: number
  /** Changes the target before a route is looked for. */
  readonly rewriteUrl?: (request: IncomingMessage) => string
  /** Gives the validator of a schema of a route; nothing is validated when absent. */
  readonly validatorOf?: (schema: object) => Validate
  /** Describes the answer to bytes that are not an HTTP request, or to a request that has not arrived in time. */
  readonly describeBrokenRequest: (error: ConnectionError) => ErrorResponse
  /** Answers a request whose target the router cannot read, or whose id is longer than any; no hook runs for it. */
  readonly answerUnreadableRequest: (request: FastifyRequest, reply: FastifyReply) => void
}

/** An answer that is written by hand, because no route could write it. */
export interface ErrorResponse {
  readonly status: number
  /** The reason phrase of the status. */
  readonly title: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

/** Makes a server that does not listen yet and has no routes. */
export function createServer(options: ServerOptions): App {
  const { random, tls, trustedProxies = [], maxHeaderSize, bodyLimit, rewriteUrl, validatorOf } = options
  // A request without a Host header is refused by the service, in its own form.
  const ofNode = { requireHostHeader: false, ...(maxHeaderSize === undefined ? {} : { maxHeaderSize }) }
  const app = Fastify({
    ...(bodyLimit === undefined ? {} : { bodyLimit }),
    ...(rewriteUrl && { rewriteUrl }),
    ...(tls ? { https: { ...tls, ...ofNode, handshakeTimeout: HANDSHAKE_MS } } : { http: ofNode }),
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    requestTimeout: options.requestTimeoutMs,
    keepAliveTimeout: 65_000,
    // A connection on which nothing moves at all is closed, also when it is the client that does not read.
    connectionTimeout: 70_000,
    forceCloseConnections: 'idle',
    // Requests on an open connection while the service stops are still answered, and the connection then closed.
    return503OnClosing: false,
    logger: false,
    genReqId: () => makeRequestId(random),
    schemaController: makeSchemaController(validatorOf),
    clientErrorHandler: (error: ConnectionError, socket: Socket) =>
      app.connections.answerUnreadableBytes(socket, () => answerUnreadableBytes(options, error, socket)),
    frameworkErrors: (_error: unknown, request: FastifyRequest, reply: FastifyReply) =>
      options.answerUnreadableRequest(request, reply),
  } as unknown as Parameters<typeof Fastify>[0]) as unknown as App
  watchConnections(app)
  // An expectation that RFC 9110 does not define is ignored, which its section 10.1.1 allows.
  app.server.on('checkExpectation', (request, response) => void app.server.emit('request', request, response))
  return app
}

/**
 * Makes the option that keeps Fastify from its own schema compilers, which are in no bundle. Answers are our own
 * objects: compiling a serializer for each would cost time at start-up and memory ever after.
 */
export function makeSchemaController(validatorOf: ServerOptions['validatorOf'] = () => () => true) {
  return {
    compilersFactory: {
      buildValidator: () => (route: { readonly schema: object }) => validatorOf(route.schema),
      buildSerializer: () => () => (value: unknown) => JSON.stringify(value),
    },
  }
}

function makeRequestId(random: ServerOptions['random']): string {
  return toBase64url(random(12))
}

/** Adds the headers that every answer has. */
export function addCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  reply.header('x-content-type-options', 'nosniff')
  reply.header('cache-control', 'no-store')
}

function answerUnreadableBytes(
  { describeBrokenRequest, random }: ServerOptions,
  error: ConnectionError,
  socket: Socket,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  // Before its handshake, a connection takes no answer.
  if (error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT') return void socket.destroy()
  const { status, title, headers, body } = describeBrokenRequest(error)
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const fields = {
    ...headers,
    'x-request-id': makeRequestId(random),
    'x-content-type-options': 'nosniff',
    'content-length': String(bytes.length),
    connection: 'close',
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n`
  if (socket.writable) socket.write(Buffer.concat([Buffer.from(head), bytes]))
  socket.destroySoon()
}
