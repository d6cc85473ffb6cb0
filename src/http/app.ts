/**
 * What both services are on the outside: limits, headers, errors, health, and the OpenAPI document.
 * Each service adds its routes; nothing here knows one.
 */

import swagger, { type FastifyDynamicSwaggerOptions as SwaggerOptions } from '@fastify/swagger'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { ValidateFunction } from 'ajv'
import Fastify, { type FastifyError, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import * as Type from 'typebox'
import { digestOf } from '../codec/digest.ts'
import type { JsonObject } from '../codec/json.ts'
import { derived } from '../memory/derived.ts'
import { refuse } from '../protocol/error.ts'
import { compileSchema } from '../protocol/json-schema.ts'
import { describeMistakes } from '../protocol/mistakes.ts'
import { AnyObject, answers, refuses } from './answers.ts'
import type { Authenticate } from './api-key.ts'
import type { App } from './app-type.ts'
import { limitBodyMemory } from './body-memory.ts'
import { watchConnections } from './connections.ts'
import { publicDocument, sendDocument } from './document.ts'
import { answerBrokenRequest, sendError, toProtocolError } from './error-response.ts'
import { hasSeveralHosts } from './host-header.ts'
import { loggedRefusal } from './logged-error.ts'
import { openApiDocument } from './openapi.ts'
import { allowance, limitGuesses, type RateLimits, refuseWhileWaiting } from './rate-limit.ts'
import { parseFormBody, parseJsonBody, parseTextBody } from './request-body.ts'
import { limitUnreadAnswers } from './unread-answers.ts'
import { answerUnrouted, CORS_HEADERS, collectRoutes, type Routes } from './unrouted.ts'

export interface AppOptions {
  readonly title: string
  readonly description: string
  readonly authenticate: Authenticate
  /** Rejects when the service cannot work, that is when its database cannot be written. */
  readonly ready: () => Promise<unknown>
  readonly random: (bytes: number) => Uint8Array
  readonly log: Logger
  readonly now: () => Date
  readonly rateLimits: RateLimits
  readonly tls?: { readonly key: string; readonly cert: string } | undefined
}

/** The label of the API key of an administrative request; refuses one without. */
type Gate = (request: FastifyRequest, reply: FastifyReply) => string

const OPERATION = 'operation'
const FORM_TYPE = 'application/x-www-form-urlencoded'
export const BODY_LIMIT = 1024 * 1024

/** A server that does not listen yet. `addRoutes` declares what it serves. */
export async function createApp(options: AppOptions, addRoutes: (app: App) => void): Promise<App> {
  const { rateLimits, now } = options
  const { failedApiKeysPerMinute: limit } = rateLimits
  const authenticate = limitGuesses(options.authenticate, limit === undefined ? undefined : allowance(limit, now))
  const app = Fastify({
    bodyLimit: BODY_LIMIT,
    trustProxy: rateLimits.trustedProxies ? [...rateLimits.trustedProxies] : false,
    requestTimeout: 30_000,
    keepAliveTimeout: 65_000,
    // A connection on which nothing moves at all, also when it is the client that does not read.
    connectionTimeout: 70_000,
    forceCloseConnections: 'idle',
    // What arrives on an open connection while the service stops is still answered, and the connection then closed.
    return503OnClosing: false,
    logger: false,
    genReqId: () => Buffer.from(options.random(12)).toString('base64url'),
    // Answers are our own objects: compiling a serializer for each would cost time at start-up and memory ever after.
    schemaController: {
      compilersFactory: {
        buildValidator: () => (route: { readonly schema: object }) => lazyValidator(route.schema),
        buildSerializer: () => () => (value: unknown) => JSON.stringify(value),
      },
    },
    clientErrorHandler: answerBrokenRequest,
    // An address that cannot be decoded, or with a longer id than we give; no hook runs for it.
    frameworkErrors: (_error: FastifyError, request: FastifyRequest, reply: FastifyReply) =>
      answerUnreadable(routes, authenticate, { log: options.log, request, reply }),
    ...(options.tls ? { https: options.tls } : {}),
  } as Parameters<typeof Fastify>[0]).withTypeProvider<TypeBoxTypeProvider>() as unknown as App

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, parseJsonBody)
  app.decorateRequest('apiKeyLabel', '')
  app.decorateRequest('sessionId', '')
  const routes = collectRoutes(app)
  addHooks(app, options, { routes, authenticate })
  await app.register(swagger, { openapi: openApiOf(options) })
  // Encapsulated, so that the routes come after the plug-in that collects them.
  await app.register((scope: App, _: unknown, done: () => void) => {
    addRoutes(scope)
    addCommonRoutes(scope, options)
    done()
  })
  await app.ready()
  return app
}

/** Routes that take form bodies up to a limit and no others; a repeated parameter arrives as an array and fails its schema. */
export function formRoutes(app: App, bodyLimit: number, addRoutes: (scope: App) => void): void {
  void app.register((scope: App, _: unknown, done: () => void) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(FORM_TYPE, { parseAs: 'buffer', bodyLimit }, parseFormBody)
    addRoutes(scope)
    done()
  })
}

/** Routes that take a JWT beside JSON; it arrives as the text it is. */
export function jwtRoutes(app: App, addRoutes: (scope: App) => void): void {
  void app.register((scope: App, _: unknown, done: () => void) => {
    scope.addContentTypeParser('application/jwt', { parseAs: 'buffer' }, parseTextBody)
    addRoutes(scope)
    done()
  })
}

/** Routes that take no body: whatever comes is read within the limit and left aside, whatever its type. */
export function bodylessRoutes(app: App, addRoutes: (scope: App) => void): void {
  void app.register((scope: App, _: unknown, done: () => void) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, parsed) => parsed(null, undefined))
    addRoutes(scope)
    done()
  })
}

function addHooks(
  app: App,
  { log, rateLimits, now }: AppOptions,
  { routes, authenticate }: { readonly routes: Routes; readonly authenticate: Gate },
): void {
  const { walletRequestsPerMinute: limit } = rateLimits
  const visits = limit === undefined ? undefined : allowance(limit, now)
  watchConnections(app)
  limitBodyMemory(app, now)
  limitUnreadAnswers(app)
  app.addHook('onRequest', (request, reply, done) => {
    // What was read together with the request for which the connection was ended.
    if (request.raw.socket.destroyed) {
      reply.hijack()
      return
    }
    addHeaders(request, reply)
    request.sessionId = (request.params as { readonly session_id?: string }).session_id ?? ''
    if (hasSeveralHosts(request.raw)) refuse('invalid_request', 'the request has several Host headers; send one')
    // Here and not in a handler for it, which would come after the body was read and refused.
    if (request.is404) {
      answerUnrouted(routes, authenticate, request, reply)
      return
    }
    if (request.routeOptions.config.admin) request.apiKeyLabel = authenticate(request, reply)
    else {
      reply.headers(CORS_HEADERS)
      if (visits !== undefined && isForWallets(request)) refuseWhileWaiting(visits.take(request.ip), reply)
    }
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const { config, method } = request.routeOptions
    const isAct = config.admin && method === 'POST' && reply.statusCode < 300
    const event = isAct ? 'administered' : config.logged?.[reply.statusCode]
    if (event !== undefined) log.info({ event, ...lineOf(request) }, 'request served')
    done()
  })
  app.setErrorHandler((thrown, request, reply) => answerError(thrown, log, request, reply))
}

/** What every answer has. */
function addHeaders(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  reply.header('x-content-type-options', 'nosniff')
  reply.header('cache-control', 'no-store')
}

function answerError(thrown: unknown, log: Logger, request: FastifyRequest, reply: FastifyReply): void {
  const error = toProtocolError(thrown, request)
  const line = { event: 'refused', ...lineOf(request), error: error.code, why: error.message }
  if (error.code === 'server_error') log.error({ ...line, err: error.cause }, 'request failed')
  else log.info({ ...line, cause: loggedRefusal(error) }, 'request refused')
  sendError(error, request, reply)
}

/** The members of a log line about a request. A session is named by the digest of its id, as in the audit log: the id itself opens an offer. */
function lineOf({ id, apiKeyLabel, sessionId, routeOptions }: FastifyRequest) {
  const session = sessionId ? digestOf(sessionId) : undefined
  return { request: id, session, caller: apiKeyLabel || undefined, route: routeOptions.url }
}

/** What may be called as often as anybody likes tells how the service is. */
function isForWallets({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.schema?.tags?.includes(OPERATION) !== true
}

function answerUnreadable(
  routes: Routes,
  authenticate: Gate,
  { log, request, reply }: { readonly log: Logger; readonly request: FastifyRequest; readonly reply: FastifyReply },
): void {
  addHeaders(request, reply)
  try {
    answerUnrouted(routes, authenticate, request, reply)
  } catch (error) {
    answerError(error, log, request, reply)
  }
}

function addCommonRoutes(app: App, { ready }: AppOptions): void {
  const operation = { security: [], tags: [OPERATION] }
  const openApi = {
    ...operation,
    operationId: 'getOpenApi',
    summary: 'This document',
    response: answers(200, AnyObject),
  }
  const document = derived(
    () => app,
    () => publicDocument(JSON.stringify(openApiDocument(app.swagger() as unknown as JsonObject))),
  )
  app.get('/openapi', { schema: openApi }, (request, reply) =>
    sendDocument(request, reply.type('application/json; charset=utf-8'), document()),
  )
  const health = { ...operation, response: answers(200, Type.Object({ status: Type.Literal('ok') })) }
  const live = { ...health, operationId: 'getLiveness', summary: 'Whether the process runs' }
  app.get('/health/live', { schema: live }, () => ({ status: 'ok' }) as const)
  const readiness = {
    ...health,
    ...refuses('temporarily_unavailable'),
    operationId: 'getReadiness',
    summary: 'Whether the database can be written, and the service goes on',
  }
  app.get('/health/ready', { schema: readiness }, async () => {
    if (app.connections.areEnding()) refuse('temporarily_unavailable', 'the service is stopping; ask another instance')
    await ready().catch((cause: unknown) =>
      refuse('temporarily_unavailable', 'the database does not take what is written', cause),
    )
    return { status: 'ok' } as const
  })
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

/** Compiles a schema when it is first needed: starting up validates nothing. */
function lazyValidator(schema: object) {
  let validate: ValidateFunction | undefined
  return (data: unknown): { value: unknown } | { error: Error } => {
    validate ??= compileSchema(schema, { all: false })
    if (validate(data)) return { value: data }
    return { error: Object.assign(new Error(describeMistakes(validate.errors ?? []).join('; ')), { validation: [] }) }
  }
}
