/** The server of an engine. What is below `/offchain/` never meets the router: its target is the component's, and not decoded. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import Fastify, { type ConnectionError, type FastifyReply, type FastifyRequest } from 'fastify'
import { toBase64url } from '../codec/base64url.ts'
import type { App } from '../http/app-type.ts'
import { watchConnections } from '../http/connections.ts'
import { publicDocument, sendDocument } from '../http/document.ts'
import { hasSeveralHosts } from '../http/host-header.ts'
import { refilled } from '../http/rate-limit.ts'
import { readiness } from '../http/readiness.ts'
import { WITHOUT_SCHEMAS } from '../http/without-schemas.ts'
import type { EngineContext } from './context.ts'
import { preflightHeaders } from './cors.ts'
import { exchange } from './exchange.ts'
import { openApi } from './openapi.ts'
import { type Problem, problem } from './problem.ts'
import { sendProblem } from './send.ts'
import { engineStatus } from './status.ts'
import { readTarget, type Target } from './target.ts'

/** What the parser of Node takes more than the limits, so that a handler says which of them it was. */
const PARSER_SLACK = 16 * 1024
const OFFCHAIN = '/offchain'
const COMMON_PATHS = ['/engine', '/health/live', '/health/ready', '/openapi']

type Targets = WeakMap<IncomingMessage, Target>

/** A server that does not listen yet. */
export async function createEngineApp(context: EngineContext): Promise<App> {
  const { config, random } = context
  const targets: Targets = new WeakMap()
  const { targetBytes, headerBytes } = config.limits
  const maxHeaderSize = targetBytes + headerBytes + PARSER_SLACK
  const app = Fastify({
    ...WITHOUT_SCHEMAS,
    trustProxy: config.trustedProxies.length > 0 ? [...config.trustedProxies] : false,
    requestTimeout: 60_000,
    keepAliveTimeout: 65_000,
    connectionTimeout: 70_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    logger: false,
    genReqId: () => toBase64url(random(12)),
    ...(config.tls ? { https: { ...config.tls, maxHeaderSize } } : { http: { maxHeaderSize } }),
    clientErrorHandler: answerBroken(targetBytes),
    frameworkErrors: (_error: unknown, request: FastifyRequest, reply: FastifyReply) =>
      ownProblem(context, request, reply, problem('not-found')),
    rewriteUrl: (request: IncomingMessage) => {
      const target = readTarget(request.url ?? '')
      if (target === undefined) return request.url ?? '/'
      targets.set(request, target)
      return OFFCHAIN
    },
  } as unknown as Parameters<typeof Fastify>[0]) as unknown as App
  // A field too many is refused by its size, and never left out in silence.
  app.server.maxHeadersCount = 0
  expectContinue(app)
  watchConnections(app)
  addHooks(app, context, targets)
  addRoutes(app, context)
  await app.ready()
  return app
}

/** Whoever asks first whether to send a body at all is told so only when it is going to be read. */
function expectContinue(app: App): void {
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    request.once('newListener', (event: string) => {
      if (event === 'data') response.writeContinue()
    })
    app.server.emit('request', request, response)
  })
}

function addHooks(app: App, context: EngineContext, targets: Targets): void {
  const { config, now, metrics } = context
  const { requestsPerSecond, requestBurst } = config.limits
  const visits = refilled(requestBurst, requestsPerSecond / 1000, now)
  app.addHook('onRequest', (request, reply, done) => {
    if (request.raw.socket.destroyed) {
      reply.hijack()
      return
    }
    const refused =
      hostProblem(request.raw) ??
      sizeProblem(request.raw, targets.get(request.raw), config.limits) ??
      paceProblem(request)
    if (refused !== undefined) {
      metrics.answers.inc({ status: String(refused.status), error: refused.code })
      ownProblem(context, request, reply, refused)
      return
    }
    const target = targets.get(request.raw)
    if (request.method === 'OPTIONS' && config.cors) preflight(request, reply)
    else if (target !== undefined) {
      reply.hijack()
      void exchange(context, { request: request.raw, response: reply.raw, target, id: request.id })
    } else if (request.is404) {
      const isKnown = COMMON_PATHS.includes(request.url.split('?', 1)[0] ?? '')
      ownProblem(context, request, reply, problem(isKnown ? 'method-not-allowed' : 'not-found'))
    } else done()
  })
  const paceProblem = (request: FastifyRequest): Problem | undefined => {
    const retryAfter = request.url.startsWith('/health/') ? 0 : visits.take(request.ip)
    if (retryAfter === 0) return undefined
    metrics.refused.inc({ limit: 'requestsPerSecond' })
    return problem('too-many-requests', { retryAfter })
  }
  app.setErrorHandler((err, request, reply) => {
    context.log.error({ event: 'request_failed', request: request.id, err }, 'request failed')
    ownProblem(context, request, reply, problem('server-error'))
  })
}

function hostProblem(request: IncomingMessage): Problem | undefined {
  return hasSeveralHosts(request) ? problem('bad-request', { detail: 'send one Host header, not several' }) : undefined
}

function sizeProblem(
  request: IncomingMessage,
  target: Target | undefined,
  { targetBytes, headerBytes }: { readonly targetBytes: number; readonly headerBytes: number },
): Problem | undefined {
  const length = target === undefined ? (request.url ?? '').length : target.uri.length
  if (length > targetBytes) return problem('target-too-long')
  const size = request.rawHeaders.reduce((sum, text) => sum + text.length + 2, 0)
  return size > headerBytes ? problem('headers-too-large') : undefined
}

function ownProblem(context: EngineContext, request: FastifyRequest, reply: FastifyReply, what: Problem): void {
  reply.hijack()
  sendProblem(context, { request: request.raw, response: reply.raw, id: request.id }, what)
}

function preflight(request: FastifyRequest, reply: FastifyReply): void {
  const asked = {
    method: request.headers['access-control-request-method'],
    headers: request.headers['access-control-request-headers'],
  }
  for (const [name, value] of preflightHeaders(asked)) reply.header(name, value)
  void reply.code(204).send()
}

function addRoutes(app: App, context: EngineContext): void {
  const { watcher, config } = context
  app.addHook('onSend', (request, reply, payload, done) => {
    reply
      .header('x-request-id', request.id)
      .header('x-content-type-options', 'nosniff')
      .header('cache-control', reply.getHeader('cache-control') ?? 'no-store')
    if (config.cors) reply.header('access-control-allow-origin', '*')
    done(null, payload)
  })
  app.get('/engine', () => engineStatus(context))
  const document = publicDocument(JSON.stringify(openApi))
  app.get('/openapi', (request, reply) =>
    sendDocument(request, reply.type('application/json; charset=utf-8'), document),
  )
  app.get('/health/live', () => ({ status: 'ok' }))
  const ready = readiness(context)
  app.get('/health/ready', async (request, reply) => {
    if (app.connections.areEnding()) {
      ownProblem(context, request, reply, problem('overloaded', { detail: 'the engine is stopping' }))
      return reply
    }
    const isBlind = watcher.block() === undefined || watcher.isStale()
    const code = watcher.block() === undefined ? 'starting' : 'stale-chain'
    if (isBlind) {
      ownProblem(context, request, reply, problem(code))
      return reply
    }
    try {
      await ready()
      return { status: 'ok' }
    } catch {
      ownProblem(context, request, reply, problem('overloaded', { detail: 'the database cannot be written' }))
      return reply
    }
  })
}

/** What is no HTTP request, or has more before its body than is read: there is no route, so the answer is written by hand. */
function answerBroken(targetBytes: number): (error: ConnectionError, socket: Socket) => void {
  return (error, socket) => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return
    const what = brokenProblem(error, targetBytes)
    const { status, headers, body } = what
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    const { title } = JSON.parse(body.toString()) as { readonly title: string }
    const head = `HTTP/1.1 ${status} ${title}\r\n${lines.join('')}content-length: ${body.length}\r\nconnection: close\r\n\r\n`
    if (socket.writable) socket.write(head + body.toString())
    socket.destroySoon()
  }
}

function brokenProblem(error: ConnectionError, targetBytes: number): Problem {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return problem('request-timeout')
  if (error.code !== 'HPE_HEADER_OVERFLOW') return problem('bad-request')
  const { rawPacket } = error as unknown as { readonly rawPacket?: Buffer }
  const line = rawPacket?.subarray(0, targetBytes + 64).indexOf('\n')
  const isFirst = /^[A-Z]+ \//.test(rawPacket?.subarray(0, 40).toString('latin1') ?? '')
  return problem(isFirst && line === -1 ? 'target-too-long' : 'headers-too-large')
}
