/** The routes of the authorization code flow before the token endpoint: for wallets, browsers and the application. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { queryOf } from '../../codec/url.ts'
import { addFormRoutes, adminRoute } from '../../http/app.ts'
import type { App } from '../../http/app-type.ts'
import { SessionParams } from '../../http/openapi-responses.ts'
import { createTokenBucket } from '../../http/rate-limit.ts'
import { parseForm } from '../../http/request-body.ts'
import { readOrRefuse, refuse } from '../../protocol/error.ts'
import { createAttestationChallengeHook, readClientRequest } from '../access/client-attestation.ts'
import { createDpopNonceHook, readDpopRequest } from '../access/dpop.ts'
import type { IssuerContext } from '../context.ts'
import { ISSUER_PATHS } from '../issuer-addresses.ts'
import { authorize } from './authorize.ts'
import { browserCookieOf, makeBrowserCookie, redirectBrowser, sendBrowserStep, setBrowserCookie } from './browser.ts'
import { completeInteraction, getInteraction } from './interaction.ts'
import { pushRequest } from './pushed-request.ts'
import { returnBrowser } from './return-browser.ts'
import * as schemas from './schemas.ts'
import { addSignInRoutes } from './sign-in-routes.ts'

/** The maximum size of a body, since parsing a form is expensive and all parameters are short. */
const BODY_LIMIT = 16 * 1024
/** The limit for rows that unauthenticated callers store, for each process: a burst, and a rate. */
const ROWS = { burst: 6000, perSecond: 100 }
/** The key of the one allowance that all browsers share, since their rows are in one table. */
const ALL_BROWSERS = ''
const pushConfig = { malformedError: 'invalid_request', walletEndpoint: 'pushed-authorization-request' } as const
const visitConfig = { walletEndpoint: 'authorization', isForBrowsers: true } as const

/** Adds the routes: pushed authorization requests, the authorization endpoint, interactions and sign-in pages. */
export function addAuthorizationRoutes(app: App, context: IssuerContext): void {
  addFormRoutes(app, BODY_LIMIT, (scope) => addPushRoutes(scope, context))
  addBrowserRoutes(app, context)
  addInteractionRoutes(app, context)
  addSignInRoutes(app, context)
}

function addPushRoutes(app: App, context: IssuerContext): void {
  const onRequest = [createDpopNonceHook(context), createAttestationChallengeHook(context)]
  const readPusher = (request: FastifyRequest) => ({
    clientRequest: readClientRequest(request),
    dpopRequest: readDpopRequest(request),
  })
  const route = { config: pushConfig, onRequest, schema: schemas.pushedRequestRoute }
  app.post(ISSUER_PATHS.pushedRequest, route, async (request, reply) => {
    const parameters = { form: request.body, sessionId: undefined }
    return reply.code(201).send(await pushRequest(context, parameters, readPusher(request)))
  })
  const schema = {
    ...schemas.pushedRequestRoute,
    operationId: 'pushSessionAuthorizationRequest',
    params: SessionParams,
  }
  app.post(`${ISSUER_PATHS.pushedRequest}/:session_id`, { ...route, schema }, async (request, reply) => {
    const parameters = { form: request.body, sessionId: request.params.session_id }
    return reply.code(201).send(await pushRequest(context, parameters, readPusher(request)))
  })
}

function addBrowserRoutes(app: App, context: IssuerContext): void {
  const insertions = createTokenBucket(ROWS.burst, ROWS.perSecond / 1000, context.now)
  const admitRow = () => refuseWhileFull(insertions.countRequest(ALL_BROWSERS))
  const startAuthorization = async (form: schemas.AuthorizationForm, request: FastifyRequest, reply: FastifyReply) => {
    const browser = browserCookieOf(context, request) ?? makeBrowserCookie(context)
    const parameters = { form, sessionId: request.sessionId }
    const answer = await authorize(context, parameters, { browser, admitRow })
    if (answer.comesBack) setBrowserCookie(context, reply, browser)
    return sendBrowserStep(reply, answer)
  }
  // A visit changes the state of the request, so there is no HEAD route.
  const visit = { config: visitConfig, exposeHeadRoute: false, preValidation: parseVisitQuery }
  app.get(ISSUER_PATHS.authorize, { ...visit, schema: schemas.authorizeRoute }, (request, reply) =>
    startAuthorization(request.query, request, reply),
  )
  const schema = { ...schemas.authorizeRoute, operationId: 'authorizeSession', params: SessionParams }
  app.get(`${ISSUER_PATHS.authorize}/:session_id`, { ...visit, schema }, (request, reply) =>
    startAuthorization(request.query, request, reply),
  )
  const returnOptions = { config: { isForBrowsers: true }, exposeHeadRoute: false, schema: schemas.returnRoute }
  app.get(`${ISSUER_PATHS.browserReturn}/:interaction_id`, returnOptions, async (request, reply) => {
    const { params, query } = request
    const cookie = browserCookieOf(context, request)
    return redirectBrowser(
      reply,
      await returnBrowser(context, { id: params.interaction_id, completion: query.completion, cookie }),
    )
  })
}

/** Parses the query of an authorization request like the form of a pushed one. Refuses with `invalid_request`. */
function parseVisitQuery(request: FastifyRequest, _: FastifyReply, done: () => void): void {
  request.query = readOrRefuse('invalid_request', 'the query', () => parseForm(queryOf(request.url)))
  done()
}

function addInteractionRoutes(app: App, context: IssuerContext): void {
  app.get('/auth/interaction/:interaction_id', { ...adminRoute, schema: schemas.getInteractionRoute }, ({ params }) =>
    getInteraction(context, params.interaction_id),
  )
  app.post(
    '/auth/interaction/complete/:interaction_id',
    { ...adminRoute, schema: schemas.completeInteractionRoute },
    async (request) => {
      const { params, body, apiKeyLabel } = request
      const completedInteraction = await completeInteraction(context, {
        id: params.interaction_id,
        body,
        caller: apiKeyLabel,
      })
      request.sessionId = completedInteraction.session_id
      return completedInteraction
    },
  )
}

/**
 * Refuses with `temporarily_unavailable` unless `retryAfterSeconds` is 0. The rate is limited because each visit of the
 * authorization endpoint stores a row.
 */
function refuseWhileFull(retryAfterSeconds: number): void {
  if (retryAfterSeconds === 0) return
  refuse('temporarily_unavailable', 'too many authorizations begin at once; try again in a moment', {
    retryAfterSeconds,
  })
}
