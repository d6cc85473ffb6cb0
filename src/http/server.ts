/**
 * The base of all servers: timeouts, request ids, connections, common headers, the header fields that a request must
 * have once (Node takes the first of several, and a proxy perhaps another), and the response to invalid HTTP. Each
 * service adds its routes and errors.
 */
import type { IncomingMessage, ServerOptions as NodeServerOptions, Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyHttpOptions, FastifyHttpsOptions, FastifyReply, FastifyRequest } from 'fastify'
import Fastify from 'fastify'
import { toBase64url } from '../codec/base64url.ts'
import { originFormOf } from '../codec/url.ts'
import type { App } from './app-type.ts'
import { watchConnections } from './connections.ts'

/** The time limit for a TLS handshake, below the time that a stop waits for connections. */
const HANDSHAKE_MS = 8000

/** The time without any traffic after which a connection is closed, where no response takes longer. */
export const SILENCE_MS = 70_000
/** The least time for which a connection stays open beyond the longest time until a response begins. */
const ANSWER_MARGIN_MS = 10_000

type Validate = (data: unknown) => true | { readonly value: unknown } | { readonly error: Error }

export interface ServerOptions {
  readonly random: (bytes: number) => Uint8Array
  readonly tls?: object | undefined
  /** The addresses and networks of proxies whose X-Forwarded-For is trusted. */
  readonly trustedProxies?: readonly string[] | undefined
  /** The time limit for receiving a request. */
  readonly requestTimeoutMs: number
  /** The longest time that a request may take until its response begins; below a minute when absent. */
  readonly longestAnswerMs?: number
  /** The maximum size of the headers; Node's default when absent. */
  readonly maxHeaderSize?: number
  /** The maximum size of a body. */
  readonly bodyLimit?: number
  /** Rewrites the request target before routing; {@link originFormOf} when absent. */
  readonly rewriteUrl?: (request: IncomingMessage) => string
  /**
   * Returns the validator for a schema of a route, which is that of a part: `body`, `querystring` or another. Without
   * it, nothing is validated.
   */
  readonly validatorOf?: (schema: object, part: string | undefined) => Validate
  /** Returns the response to bytes that are not an HTTP request, or to a request that did not arrive in time. */
  readonly describeBrokenRequest: (error: ConnectionError) => ErrorResponse
  /** Answers a request whose path the router cannot decode or whose parameter is too long. Hooks do not run for it. */
  readonly answerUnroutableRequest: (request: FastifyRequest, reply: FastifyReply) => void
}

/** A response that is written directly to the socket. */
export interface ErrorResponse {
  readonly status: number
  /** The reason phrase. */
  readonly title: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

/** The options of a server with TLS or without it, for which Fastify has a type each. */
type FastifyOptions = FastifyHttpOptions<Server> & Partial<Pick<FastifyHttpsOptions<TlsServer>, 'https'>>
type SchemaController = NonNullable<FastifyOptions['schemaController']>
type BuildValidator = NonNullable<NonNullable<SchemaController['compilersFactory']>['buildValidator']>

/** Creates a server without routes. The caller makes it listen. */
export function createServer(options: ServerOptions): App {
  const { random, tls, trustedProxies = [], maxHeaderSize, bodyLimit, validatorOf } = options
  const { rewriteUrl = ({ url = '/' }: IncomingMessage) => originFormOf(url) } = options
  // The service itself refuses requests without `Host`, with its own error.
  const ofNode: NodeServerOptions = {
    requireHostHeader: false,
    ...(maxHeaderSize === undefined ? {} : { maxHeaderSize }),
  }
  const ofProtocol: Pick<FastifyOptions, 'http' | 'https'> = tls
    ? { https: { ...tls, ...ofNode, handshakeTimeout: HANDSHAKE_MS } }
    : { http: ofNode }
  const fastifyOptions: FastifyOptions = {
    ...(bodyLimit === undefined ? {} : { bodyLimit }),
    rewriteUrl,
    ...ofProtocol,
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    requestTimeout: options.requestTimeoutMs,
    keepAliveTimeout: 65_000,
    // Closes connections without any traffic, including those of clients that do not read.
    connectionTimeout: Math.max(SILENCE_MS, (options.longestAnswerMs ?? 0) + ANSWER_MARGIN_MS),
    forceCloseConnections: 'idle',
    // Requests on open connections are still answered while the service stops; the connection is then closed.
    return503OnClosing: false,
    logger: false,
    genReqId: () => makeRequestId(random),
    schemaController: makeSchemaController(validatorOf),
    clientErrorHandler: (error, socket) =>
      app.connections.answerBrokenRequest(socket, () => answerBrokenRequest(options, error, socket)),
    frameworkErrors: (_error, request, reply) => options.answerUnroutableRequest(request, reply),
  }
  const app: App = Fastify(fastifyOptions)
  watchConnections(app)
  // Ignores unknown expectations, as RFC 9110 section 10.1.1 allows.
  app.server.on('checkExpectation', (request, response) => void app.server.emit('request', request, response))
  return app
}

/**
 * Replaces Fastify's schema compilers, which are not bundled. Responses are serialized by JSON.stringify: compiled
 * serializers would slow the start and use memory.
 */
export function makeSchemaController(validatorOf: ServerOptions['validatorOf'] = () => () => true): SchemaController {
  const buildValidator = () => (route: { readonly schema: object; readonly httpPart?: string }) =>
    validatorOf(route.schema, route.httpPart)
  return {
    compilersFactory: {
      // Fastify calls a validator as a function alone; its type has the other members of one by Ajv.
      buildValidator: buildValidator as unknown as BuildValidator,
      buildSerializer: () => () => (value) => JSON.stringify(value),
    },
  }
}

function makeRequestId(random: ServerOptions['random']): string {
  return toBase64url(random(12))
}

/** Returns the headers of all responses. */
function commonHeaders(requestId: string) {
  return { 'x-request-id': requestId, 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' }
}

/** Adds the headers of all responses. */
export function addCommonHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(commonHeaders(request.id))
}

function answerBrokenRequest(
  { describeBrokenRequest, random }: ServerOptions,
  error: ConnectionError,
  socket: Socket,
): void {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  // Before its TLS handshake, a connection cannot get a response.
  if (error.code === 'ERR_TLS_HANDSHAKE_TIMEOUT') return void socket.destroy()
  const { status, title, headers, body } = describeBrokenRequest(error)
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const fields = {
    ...headers,
    ...commonHeaders(makeRequestId(random)),
    'content-length': String(bytes.length),
    connection: 'close',
  }
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`)
  const head = `HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n`
  if (socket.writable) socket.write(Buffer.concat([Buffer.from(head), bytes]))
  socket.destroySoon()
}

/** The fields that a request may have once, beside `Host`. */
const OTHER_SINGLE_FIELDS = ['Authorization', 'Content-Type']

/**
 * Returns what is wrong with the headers of a request: a field that comes several times, which a proxy and this service
 * may interpret differently, or no `Host` in HTTP/1.1. RFC 9110 section 5.3; RFC 9112 section 3.2 requires a 400.
 */
export function findHeaderProblem({
  rawHeaders,
  httpVersion,
}: Pick<IncomingMessage, 'rawHeaders' | 'httpVersion'>): string | undefined {
  const hosts = countField(rawHeaders, 'Host')
  const repeatedField = hosts > 1 ? 'Host' : OTHER_SINGLE_FIELDS.find((field) => countField(rawHeaders, field) > 1)
  if (repeatedField !== undefined) return `the request has several ${repeatedField} headers; send one`
  return hosts === 0 && httpVersion === '1.1' ? 'the request has no Host header; send one' : undefined
}

function countField(rawHeaders: readonly string[], field: string): number {
  const isField = (text: string, index: number): boolean =>
    index % 2 === 0 && text.length === field.length && text.toLowerCase() === field.toLowerCase()
  return rawHeaders.filter(isField).length
}
