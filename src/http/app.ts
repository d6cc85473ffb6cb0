/**
 * The server of an issuer or a verifier: API keys, limits, OAuth errors, and an OpenAPI document made from the routes.
 */
import swagger, { type FastifyDynamicSwaggerOptions as SwaggerOptions } from '@fastify/swagger'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import { digestOf } from '../codec/digest.ts'
import type { JsonObject } from '../codec/json.ts'
import { ProtocolError, refuse } from '../protocol/error.ts'
import type { GenerationCollections } from '../store/generation.ts'
import { type Authenticate, createAuthenticator } from './api-key.ts'
import type { App } from './app-type.ts'
import { limitBodyMemory } from './body-memory.ts'
import { addCommonRoutes, OPERATION } from './common-routes.ts'
import type { Effects } from './effects.ts'
import { describeBrokenRequest, REQUEST_SECONDS, sendError, toProtocolError } from './error-response.ts'
import { describeErrorBehindRefusal, describeRefusalForLog } from './logged-error.ts'
import { openApiDocument } from './openapi.ts'
import { createRateLimiter, limitGuesses, type RateLimits, refuseWhileWaiting } from './rate-limit.ts'
import { createReadinessCheck } from './readiness.ts'
import { parseFormBody, parseJsonBody, parseTextBody } from './request-body.ts'
import type { RequestObserver } from './request-metrics.ts'
import { type RequestTracer, traceRequests } from './request-tracer.ts'
import { addCommonHeaders, createServer, findHeaderProblem } from './server.ts'
import { limitUnreadResponses } from './unread-responses.ts'
import { answerUnrouted, CORS_HEADERS, collectRoutes, isUnrouted, type Routes } from './unrouted.ts'
import { makeParameterValidator, makeValidator } from './validator.ts'

export interface AppOptions {
  readonly title: string
  readonly description: string
  /** The webhooks of the OpenAPI document. */
  readonly webhooks: JsonObject
  readonly authenticate: Authenticate
  /** Rejects if the database cannot be written. */
  readonly checkReady: () => Promise<unknown>
  readonly random: (bytes: number) => Uint8Array
  readonly log: Logger
  readonly now: () => Date
  readonly rateLimits: RateLimits
  readonly tls?: { readonly key: string; readonly cert: string } | undefined
  readonly observer?: RequestObserver | undefined
  readonly tracer?: RequestTracer | undefined
}

/** Returns the label of the API key of an administrative request. Refuses a request without one. */
type RequestAuthenticator = (request: FastifyRequest) => string

const FORM_TYPE = 'application/x-www-form-urlencoded'
const BODY_LIMIT = 1024 * 1024

/** The options of a route that requires an API key. */
export const adminRoute = { config: { admin: true } } as const
/** The options of a route that requires an API key, and whose response is a stream. */
export const adminStreamRoute = { config: { admin: true, isStream: true } } as const

/** The settings of a service that its server uses. */
interface ServerSettings extends Pick<AppOptions, 'rateLimits' | 'tls'> {
  readonly apiKeys: Readonly<Record<string, string>>
}

/** Makes the options of {@link createApp} for an issuer or a verifier. */
export function makeAppOptions<C extends GenerationCollections>(
  document: Pick<AppOptions, 'title' | 'description' | 'webhooks'>,
  { apiKeys, rateLimits, tls }: ServerSettings,
  effects: Effects<C>,
): AppOptions {
  const { random, log, now, observer, tracer } = effects
  return {
    ...document,
    authenticate: createAuthenticator(apiKeys, random),
    checkReady: createReadinessCheck(effects),
    random,
    log,
    now,
    rateLimits,
    tls,
    observer,
    tracer,
  }
}

/** Creates a server with the routes that `addRoutes` adds. The caller makes it listen. */
export async function createApp(options: AppOptions, addRoutes: (app: App) => void): Promise<App> {
  const { rateLimits, now } = options
  const { failedApiKeysPerMinute: limit } = rateLimits
  const authenticate = limitGuesses(
    options.authenticate,
    limit === undefined ? undefined : createRateLimiter(limit, now),
  )
  const app = createServer({
    random: options.random,
    tls: options.tls,
    trustedProxies: rateLimits.trustedProxies,
    requestTimeoutMs: REQUEST_SECONDS * 1000,
    bodyLimit: BODY_LIMIT,
    validatorOf: (schema, part) => (part === 'querystring' ? makeParameterValidator(schema) : makeValidator(schema)),
    describeBrokenRequest,
    answerUnroutableRequest: (request, reply) =>
      answerUnroutableRequest(routes, authenticate, { log: options.log, request, reply }),
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, parseJsonBody)
  app.decorateRequest('apiKeyLabel', '')
  app.decorateRequest('sessionId', undefined)
  const routes = collectRoutes(app)
  if (options.tracer) traceRequests(app, options.tracer)
  addHooks(app, options, { routes, authenticate })
  await app.register(swagger, { openapi: openApiOf(options) })
  // The routes are in an encapsulated context, so that they are added after the OpenAPI plug-in, which collects them.
  await app.register((scope: App, _: unknown, done: () => void) => {
    addRoutes(scope)
    addCommonRoutes(scope, {
      checkReady: () => checkDatabase(options),
      makeStoppingRefusal: () =>
        new ProtocolError('temporarily_unavailable', 'the service is stopping; ask another instance'),
      makeOpenApiText: () =>
        JSON.stringify(openApiDocument(scope.swagger() as unknown as JsonObject, options.webhooks)),
    })
    done()
  })
  await app.ready()
  return app
}

/**
 * Adds routes that accept only form bodies of limited size. A repeated parameter becomes an array, which its schema
 * refuses.
 */
export function addFormRoutes(app: App, bodyLimit: number, addRoutes: (scope: App) => void): void {
  void app.register((scope: App, _: unknown, done: () => void) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(FORM_TYPE, { parseAs: 'buffer' }, parseFormBody)
    scope.setValidatorCompiler(({ schema }) => makeParameterValidator(schema))
    scope.addHook('onRoute', (route) => {
      route.bodyLimit ??= bodyLimit
    })
    addRoutes(scope)
    done()
  })
}

/** Adds routes that accept JSON or a JWT, which they get as text. */
export function addJwtRoutes(app: App, addRoutes: (scope: App) => void): void {
  void app.register((scope: App, _: unknown, done: () => void) => {
    scope.addContentTypeParser('application/jwt', { parseAs: 'buffer' }, parseTextBody)
    addRoutes(scope)
    done()
  })
}

/** Adds routes without a body. A body of any type is read within the limit and ignored. */
export function addBodylessRoutes(app: App, addRoutes: (scope: App) => void): void {
  void app.register((scope: App, _: unknown, done: () => void) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, callback) => callback(null, undefined))
    // Fastify refuses a media type that is none, also where nothing follows.
    scope.addHook('onRequest', ({ raw }, _reply, next) => {
      raw.headers['content-type'] = undefined
      next()
    })
    addRoutes(scope)
    done()
  })
}

function addHooks(
  app: App,
  { log, rateLimits, now, observer, tracer }: AppOptions,
  { routes, authenticate }: { readonly routes: Routes; readonly authenticate: RequestAuthenticator },
): void {
  const { walletRequestsPerMinute: limit } = rateLimits
  const walletRequests = limit === undefined ? undefined : createRateLimiter(limit, now)
  limitBodyMemory(app, now)
  limitUnreadResponses(app)
  app.addHook('onRequest', (request, reply, done) => {
    addCommonHeaders(request, reply)
    request.sessionId = (request.params as { readonly session_id?: string }).session_id || undefined
    refuseUnclearHeaders(request)
    // Unknown paths are answered in this hook, since a not-found handler would run after the body is parsed.
    if (isUnrouted(routes, request)) {
      answerUnrouted(routes, authenticate, request, reply)
      return
    }
    if (request.routeOptions.config.admin) request.apiKeyLabel = authenticate(request)
    else {
      if (!request.routeOptions.config.isForBrowsers) reply.headers(CORS_HEADERS)
      if (walletRequests !== undefined && isRateLimited(request))
        refuseWhileWaiting(walletRequests.countRequest(request.ip))
    }
    done()
  })
  if (tracer !== undefined) continueTraces(app, tracer)
  app.addHook('onResponse', (request, reply, done) => {
    const { config, method } = request.routeOptions
    const isAdministrativeChange = config.admin && method === 'POST' && reply.statusCode < 300
    const event = config.logEvents?.[reply.statusCode] ?? (isAdministrativeChange ? 'administered' : undefined)
    if (event !== undefined) log.info({ event, ...requestLogMembers(request) }, 'request served')
    observer?.recordAnswer(request, reply)
    done()
  })
  app.setErrorHandler((thrownError, request, reply) => {
    const { code } = answerError(thrownError, log, request, reply)
    observer?.recordRefusal(request, code)
    tracer?.recordRefusal(request.raw, code)
  })
}

/**
 * Adds the hook that continues the traces of callers with an API key. Trace headers of wallets and browsers are
 * ignored, since they would decide which traces are stored.
 */
function continueTraces(app: App, tracer: RequestTracer): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.apiKeyLabel !== '') tracer.continueTrace(request)
    done()
  })
}

/** Sends the error, and returns it as it was sent. */
function answerError(thrownError: unknown, log: Logger, request: FastifyRequest, reply: FastifyReply): ProtocolError {
  const error = toProtocolError(thrownError, request)
  const line = { event: 'refused', ...requestLogMembers(request), error: error.code, why: error.message }
  if (error.code === 'server_error') log.error({ ...line, err: error.cause }, 'request failed')
  else {
    const reason = { cause: describeRefusalForLog(error), thrown: describeErrorBehindRefusal(error) }
    log.info({ ...line, ...reason }, 'request refused')
  }
  sendError(error, request, reply)
  return error
}

/**
 * Returns the common members of log lines about a request. The session is logged as a digest of its id, as in the audit
 * log, because the id gives access to the offer.
 */
function requestLogMembers({ id, apiKeyLabel, sessionId, routeOptions }: FastifyRequest) {
  const session = sessionId ? digestOf(sessionId) : undefined
  return { request: id, session, caller: apiKeyLabel || undefined, route: routeOptions.url }
}

/** Tests whether the route is rate-limited: all but those for the health and the description of the service. */
function isRateLimited({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.schema?.tags?.includes(OPERATION) !== true
}

function refuseUnclearHeaders({ raw }: FastifyRequest): void {
  const problem = findHeaderProblem(raw)
  if (problem !== undefined) refuse('invalid_request', problem)
}

function answerUnroutableRequest(
  routes: Routes,
  authenticate: RequestAuthenticator,
  { log, request, reply }: { readonly log: Logger; readonly request: FastifyRequest; readonly reply: FastifyReply },
): void {
  addCommonHeaders(request, reply)
  try {
    refuseUnclearHeaders(request)
    answerUnrouted(routes, authenticate, request, reply)
  } catch (error) {
    answerError(error, log, request, reply)
  }
}

function checkDatabase({ checkReady }: AppOptions): Promise<unknown> {
  return checkReady().catch((cause: unknown) =>
    refuse('temporarily_unavailable', 'the database accepts no writes; search the log for this request id', { cause }),
  )
}

function openApiOf({ title, description }: AppOptions): NonNullable<SwaggerOptions['openapi']> {
  return {
    openapi: '3.1.0',
    info: { title, description, version: '1', license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: 'A key of integrations.authentication' },
        accessToken: { type: 'http', scheme: 'bearer', description: 'The access token from the token endpoint' },
        dpopAccessToken: {
          type: 'http',
          scheme: 'dpop',
          description: 'The same, bound to a key: with a proof in the DPoP header (RFC 9449)',
        },
      },
    },
  }
}
