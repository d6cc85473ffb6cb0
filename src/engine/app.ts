/**
 * The HTTP server of an engine. A request below `/offchain/` is passed to a component: the router neither sees nor
 * decodes its target.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { ConnectionError, FastifyReply, FastifyRequest } from 'fastify'
import { originFormOf, pathOf } from '../codec/url.ts'
import { type Authenticate, createAuthenticator } from '../http/api-key.ts'
import type { App } from '../http/app-type.ts'
import { addCommonRoutes, COMMON_PATHS } from '../http/common-routes.ts'
import { createTokenBucket } from '../http/rate-limit.ts'
import { createReadinessCheck } from '../http/readiness.ts'
import { traceRequests } from '../http/request-tracer.ts'
import { addCommonHeaders, createServer, findHeaderProblem } from '../http/server.ts'
import { limitUnreadResponses } from '../http/unread-responses.ts'
import { ProtocolError } from '../protocol/error.ts'
import type { EngineContext } from './context.ts'
import { readContractDetails } from './contract-details.ts'
import { preflightHeaders } from './cors.ts'
import { answerRequest } from './exchange.ts'
import type { Limits } from './limits.ts'
import { openApi } from './openapi.ts'
import { ARRIVAL_SECONDS, makeLimitProblem, makeProblem, ProblemError, type ProblemResponse } from './problem.ts'
import { sendProblem, takeResponse } from './send.ts'
import { describeEngine } from './status.ts'
import { type RequestTarget, readTarget } from './target.ts'

/**
 * The bytes that Node's parser accepts beyond the limits, so that a handler refuses the request and names the exceeded
 * limit.
 */
const PARSER_SLACK = 16 * 1024
const OFFCHAIN = '/offchain'
/** The route that traces show for every request to a component. */
const COMPONENT_ROUTE = '/offchain/:contract/*'
const PATHS = ['/engine', ...COMMON_PATHS]
const CONTRACT_ROUTE = '/engine/contracts/:contract'
const CONTRACT_PATTERN = /^\/engine\/contracts\/[^/]+$/

type Targets = WeakMap<IncomingMessage, RequestTarget>

/**
 * Makes the server of an engine, which does not listen yet. `checkReady` rejects while the engine cannot answer
 * requests.
 */
export async function createEngineApp(context: EngineContext, checkReady: () => Promise<void>): Promise<App> {
  const { config, random } = context
  const targets: Targets = new WeakMap()
  const { targetBytes, headerBytes, queueSeconds, httpSeconds } = config.limits
  const app = createServer({
    random,
    tls: config.tls,
    trustedProxies: config.trustedProxies,
    requestTimeoutMs: ARRIVAL_SECONDS * 1000,
    // A GET that turns out to write runs twice.
    longestAnswerMs: 2 * (queueSeconds + httpSeconds) * 1000,
    maxHeaderSize: targetBytes + headerBytes + PARSER_SLACK,
    describeBrokenRequest: (error) => connectionRefusal(error, config.limits),
    answerUnroutableRequest: (request, reply) =>
      sendOwnProblem(context, request, reply, headerRefusal(request.raw) ?? makeProblem('not-found')),
    // A request to a component still passes Fastify's first hooks, which give the turn of the connection, the address
    // behind trusted proxies, and the limits and refusals that the engine's own routes have too. A listener of
    // `node:http` in front that repeats them would save 13 µs of the 200 µs of a call.
    rewriteUrl: (request) => {
      const target = readTarget(request.url ?? '')
      if (target === undefined) return originFormOf(request.url ?? '/')
      targets.set(request, target)
      return OFFCHAIN
    },
  })
  // Node silently drops header fields above this count. Zero turns that off: only the size of the fields is limited.
  app.server.maxHeadersCount = 0
  addContinueHandler(app)
  if (context.tracer) traceRequests(app, context.tracer, ({ raw }) => (targets.has(raw) ? COMPONENT_ROUTE : undefined))
  limitUnreadResponses(app)
  addHooks(app, context, targets)
  addRoutes(app, context, checkReady)
  await app.ready()
  return app
}

/** Adds the handler for `Expect: 100-continue`, which sends `100 Continue` when the engine begins to read the body. */
function addContinueHandler(app: App): void {
  app.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    request.once('newListener', (event: string) => {
      if (event === 'data') response.writeContinue()
    })
    app.server.emit('request', request, response)
  })
}

/**
 * Adds the hook that runs before any route. It refuses broken, oversized and too frequent requests, requires API keys,
 * answers preflights, and passes requests below `/offchain/` to components.
 */
function addHooks(app: App, context: EngineContext, targets: Targets): void {
  const { config, now, metrics } = context
  const { requestsPerSecond, requestBurst } = config.limits
  const authenticate = createAuthenticator(config.apiKeys, context.random)
  const requestTokens = createTokenBucket(requestBurst, requestsPerSecond / 1000, now)
  app.addHook('onRequest', (request, reply, done) => {
    const refusal =
      headerRefusal(request.raw) ??
      sizeRefusal(request.raw, targets.get(request.raw), config.limits) ??
      checkRequestRate(request)
    if (refusal !== undefined) {
      metrics.answers.inc({ status: String(refusal.status), error: refusal.code })
      sendOwnProblem(context, request, reply, refusal)
      return
    }
    const target = targets.get(request.raw)
    const isAdministrativeRequest = isAdministrative(request)
    // The error handler answers the error that this throws.
    if (isAdministrativeRequest) requireApiKey(authenticate, request.headers.authorization)
    if (config.cors && isPreflight(request, target) && !isAdministrativeRequest) {
      answerPreflight(context, { request, reply, isForComponent: target !== undefined })
    } else if (target !== undefined) {
      void answerRequest(context, { ...takeResponse(request, reply), target })
    } else if (request.is404) {
      sendOwnProblem(context, request, reply, unroutedRefusal(request))
    } else {
      addOwnHeaders(context, request, reply)
      done()
    }
  })
  const checkRequestRate = (request: FastifyRequest): ProblemResponse | undefined => {
    const retryAfter = request.url.startsWith('/health/') ? 0 : requestTokens.countRequest(request.ip)
    if (retryAfter === 0) return undefined
    metrics.refused.inc({ limit: 'requestsPerSecond' })
    return makeLimitProblem('too-many-requests', requestsPerSecond, retryAfter)
  }
}

/**
 * Tests whether a browser asks whether a page may send a request. Any other OPTIONS of a component's address is for the
 * component. Fetch Standard, CORS-preflight request.
 */
function isPreflight({ method, headers }: FastifyRequest, target: RequestTarget | undefined): boolean {
  return method === 'OPTIONS' && (target === undefined || headers['access-control-request-method'] !== undefined)
}

/**
 * Answers an error that a route of the engine has thrown: a ProblemError with its problem, any other with
 * `server-error`.
 */
function answerError(context: EngineContext, err: unknown, request: FastifyRequest, reply: FastifyReply): void {
  if (!(err instanceof ProblemError)) {
    context.log.error({ event: 'request_failed', request: request.id, err }, 'request failed')
    sendOwnProblem(context, request, reply, makeProblem('server-error'))
    return
  }
  const { problem: response, cause } = err
  if (cause !== undefined) {
    const line = { event: 'refused', request: request.id, error: response.code }
    context.log.warn({ ...line, err: cause }, 'request refused')
  }
  sendOwnProblem(context, request, reply, response)
}

/**
 * Returns the problem for a request without a route: `method-not-allowed` when the path has a route for GET, else
 * `not-found`.
 */
function unroutedRefusal(request: FastifyRequest): ProblemResponse {
  const { method, url } = request
  const isKnown = PATHS.includes(pathOf(url)) || isAdministrative(request)
  const isRead = method === 'GET' || method === 'HEAD'
  return makeProblem(isKnown && !isRead ? 'method-not-allowed' : 'not-found')
}

/**
 * Tests whether a request needs an API key; answers to such requests have no CORS headers. Tests the route, which the
 * router also finds for an encoded path, and the path, in case that the method has no route.
 */
function isAdministrative({ url, routeOptions }: FastifyRequest): boolean {
  return routeOptions.url === CONTRACT_ROUTE || CONTRACT_PATTERN.test(pathOf(url))
}

function headerRefusal(request: IncomingMessage): ProblemResponse | undefined {
  const detail = findHeaderProblem(request)
  return detail === undefined ? undefined : makeProblem('bad-request', { detail })
}

function sizeRefusal(
  request: IncomingMessage,
  target: RequestTarget | undefined,
  { targetBytes, headerBytes }: Pick<Limits, 'targetBytes' | 'headerBytes'>,
): ProblemResponse | undefined {
  const length = target === undefined ? (request.url ?? '').length : target.uri.length
  if (length > targetBytes) return makeLimitProblem('target-too-long', targetBytes)
  const size = request.rawHeaders.reduce((sum, text) => sum + text.length + 2, 0)
  return size > headerBytes ? makeLimitProblem('headers-too-large', headerBytes) : undefined
}

function sendOwnProblem(
  context: EngineContext,
  request: FastifyRequest,
  reply: FastifyReply,
  response: ProblemResponse,
): void {
  context.tracer?.recordRefusal(request.raw, response.code)
  sendProblem(context, takeResponse(request, reply), response, context.config.cors && !isAdministrative(request))
}

/** Adds the common headers and the CORS header to an answer of the engine's own routes. */
function addOwnHeaders({ config }: EngineContext, request: FastifyRequest, reply: FastifyReply): void {
  addCommonHeaders(request, reply)
  if (config.cors && !isAdministrative(request)) reply.header('access-control-allow-origin', '*')
}

function answerPreflight(
  context: EngineContext,
  preflight: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly isForComponent: boolean },
): void {
  const { request, reply, isForComponent } = preflight
  addOwnHeaders(context, request, reply)
  const preflightRequest = {
    isForComponent,
    method: request.headers['access-control-request-method'],
    headers: request.headers['access-control-request-headers'],
  }
  for (const [name, value] of preflightHeaders(preflightRequest)) reply.header(name, value)
  void reply.code(204).send()
}

function addRoutes(app: App, context: EngineContext, checkReady: () => Promise<void>): void {
  app.setErrorHandler((error, request, reply) => answerError(context, error, request, reply))
  app.get<{ Querystring: { after?: unknown } }>('/engine', ({ query }) => describeEngine(context, query.after))
  app.get<{ Params: { contract: string } }>(CONTRACT_ROUTE, ({ params }) =>
    readContractDetails(context, params.contract),
  )
  addCommonRoutes(app, {
    checkReady,
    makeStoppingRefusal: () => new ProblemError(makeProblem('overloaded', { detail: 'the engine is stopping' })),
    makeOpenApiText: () => JSON.stringify(openApi),
  })
}

function requireApiKey(authenticate: Authenticate, authorization: string | undefined): void {
  try {
    authenticate(authorization)
  } catch (error) {
    throw error instanceof ProtocolError ? new ProblemError(makeProblem('unauthorized')) : error
  }
}

/**
 * Makes the function that rejects with a ProblemError while the engine cannot answer requests: it has no recent block,
 * or the database cannot be written.
 */
export function createEngineReadinessCheck(context: EngineContext): () => Promise<void> {
  const checkDatabase = createReadinessCheck(context)
  return async () => {
    requireFreshBlock(context)
    await checkDatabase().catch((cause: unknown) => {
      throw new ProblemError(makeProblem('overloaded', { detail: 'the database cannot be written' }), { cause })
    })
  }
}

/**
 * Throws a ProblemError while the engine has no block of its chain (`starting`), or none that is new enough
 * (`stale-chain`).
 */
function requireFreshBlock({ watcher }: EngineContext): void {
  if (watcher.getHead() === undefined) throw new ProblemError(makeProblem('starting'))
  if (watcher.isStale()) throw new ProblemError(makeProblem('stale-chain'))
}

/** Returns the problem for a request that Node's parser has refused. */
function connectionRefusal(
  error: ConnectionError,
  { targetBytes, headerBytes }: Pick<Limits, 'targetBytes' | 'headerBytes'>,
): ProblemResponse {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') return makeProblem('request-timeout')
  if (error.code !== 'HPE_HEADER_OVERFLOW') return makeProblem('bad-request')
  const { rawPacket } = error as unknown as { readonly rawPacket?: Buffer }
  const lineEnd = rawPacket?.subarray(0, targetBytes + 64).indexOf('\n')
  const isFirstPacket = /^[A-Z]+ \//.test(rawPacket?.subarray(0, 40).toString('latin1') ?? '')
  return isFirstPacket && lineEnd === -1
    ? makeLimitProblem('target-too-long', targetBytes)
    : makeLimitProblem('headers-too-large', headerBytes)
}
