/** The routes of the verification service. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { digestOf } from '../codec/digest.ts'
import { addFormRoutes, adminRoute, adminStreamRoute } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import { createEarlyLookUp } from '../http/early-look-up.ts'
import { answerIdempotently, readIdempotentRequest } from '../http/idempotency.ts'
import type { SessionParams } from '../http/openapi-responses.ts'
import { createStatusEventHandler } from '../http/status-events.ts'
import { createOverviewReader } from '../operator/overview.ts'
import { addOperatorRoutes } from '../operator/routes.ts'
import { recordRefusals } from '../progress/record-refusals.ts'
import { receiveResponse, requireWaitingSession } from './authorization-response.ts'
import type { VerifierContext } from './context.ts'
import { listVerificationRoute } from './list-schemas.ts'
import { startVerificationSession } from './new-session.ts'
import { readVerifierOverview, verifierOverviewRoute } from './overview.ts'
import { createQuery, getQuery, refuseWrappedQuery } from './queries.ts'
import { createRequestObjectQueue, getRequestObject, requireSessionForRequestObject } from './request-object.ts'
import * as schemas from './schemas.ts'
import { VERIFIER_PATHS } from './session.ts'
import { listVerificationSessions } from './session-list.ts'
import { getVerificationStatus } from './session-status.ts'
import { simulateQuery } from './simulation.ts'
import { verifyStaticPresentation } from './static-presentation.ts'
import { listTrustAnchors, testChain } from './trust.ts'
import { chainTestRoute, trustAnchorsRoute } from './trust-schemas.ts'
import { readWalletRequest, type WalletRequest } from './wallet-request.ts'

/** The maximum size of a wallet's request for its request object. */
const WALLET_REQUEST_LIMIT = 65_536

/** Adds all routes of the verification service. */
export function addVerifierRoutes(app: App, context: VerifierContext): void {
  recordRefusals(app, context)
  addQueryRoutes(app, context)
  addSessionRoutes(app, context)
  addWalletRoutes(app, context)
  addTrustRoutes(app, context)
  addOperatorRoutes(app, context)
  const overview = createOverviewReader(context, (isReady) => readVerifierOverview(context, isReady))
  app.get('/operations/overview', { ...adminRoute, schema: verifierOverviewRoute }, overview)
}

function addQueryRoutes(app: App, context: VerifierContext): void {
  app.post(
    '/verification-query/create',
    { ...adminRoute, schema: schemas.createQueryRoute },
    async ({ body, apiKeyLabel }, reply) => {
      const id = await createQuery(context, body.dcql_query, apiKeyLabel)
      return reply.code(201).type('text/plain').send(id)
    },
  )
  app.post(
    '/dcql-query/create',
    { ...adminRoute, schema: schemas.createBareQueryRoute },
    async ({ body, apiKeyLabel }, reply) => {
      refuseWrappedQuery(body)
      const id = await createQuery(context, body, apiKeyLabel)
      return reply.code(201).type('text/plain').send(id)
    },
  )
  app.post('/verification-query/simulate', { ...adminRoute, schema: schemas.simulateQueryRoute }, ({ body }) =>
    simulateQuery(body),
  )
  app.get(
    '/verification-query/:verification_query_id',
    { ...adminRoute, schema: schemas.getQueryRoute },
    async ({ params }) => ({
      ...params,
      dcql_query: await getQuery(context, params.verification_query_id),
    }),
  )
}

function addTrustRoutes(app: App, context: VerifierContext): void {
  app.get('/trust-anchors', { ...adminRoute, schema: trustAnchorsRoute }, () => listTrustAnchors(context))
  app.post('/trust-anchors/test', { ...adminRoute, schema: chainTestRoute }, ({ id, body }) =>
    testChain(context, body, { logger: context.log, requestId: id }),
  )
}

function addSessionRoutes(app: App, context: VerifierContext): void {
  app.post('/presentation/oid4vp/new-session', { ...adminRoute, schema: schemas.newSessionRoute }, async (request) => {
    const { body, apiKeyLabel } = request
    const idempotentRequest = readIdempotentRequest(request, 'verification', context.now())
    const answer = await answerIdempotently(context, idempotentRequest, (remember) =>
      startVerificationSession(context, body, { caller: apiKeyLabel, remember }),
    )
    request.sessionId = answer.session_id
    return answer
  })
  app.post(
    '/presentation/oid4vp/static-presentation',
    { ...adminRoute, schema: schemas.staticPresentationRoute },
    ({ id, body, apiKeyLabel }) => verifyStaticPresentation(context, body, { requestId: id, caller: apiKeyLabel }),
  )
  app.get('/presentation/oid4vp/sessions', { ...adminRoute, schema: listVerificationRoute }, ({ query }) =>
    listVerificationSessions(context, query),
  )
  const path = '/presentation/oid4vp/status/:session_id'
  app.get(path, { ...adminRoute, schema: schemas.sessionStatusRoute }, async (request) => {
    const { params, query } = request
    const status = await getVerificationStatus(context, params.session_id, query.response_code)
    logResultRead(context, status, request)
    return status
  })
  addStatusEventsRoute(app, context)
}

function addStatusEventsRoute(app: App, context: VerifierContext): void {
  const events = createStatusEventHandler(app, context, {
    read: (sessionId) => getVerificationStatus(context, sessionId),
    isFinal: ({ status }) => status !== 'STARTED',
    onSend: (status, request) => logResultRead(context, status, request),
  })
  app.get(
    '/presentation/oid4vp/events/:session_id',
    { ...adminStreamRoute, schema: schemas.sessionEventsRoute },
    events,
  )
}

function logResultRead(
  { log }: VerifierContext,
  { result }: Awaited<ReturnType<typeof getVerificationStatus>>,
  request: FastifyRequest,
): void {
  const { id, apiKeyLabel } = request
  const line = { event: 'result_read', request: id, session: digestOf(sessionIdOf(request)), caller: apiKeyLabel }
  if (result !== undefined) log.info(line, 'result read')
}

function addWalletRoutes(app: App, context: VerifierContext): void {
  addRequestObjectRoutes(app, context)
  addFormRoutes(app, context.config.presentationBytes, (scope) => addResponseRoutes(scope, context))
}

function addRequestObjectRoutes(app: App, context: VerifierContext): void {
  const path = `${VERIFIER_PATHS.request}/:session_id`
  const config = { malformedError: 'invalid_request', walletEndpoint: 'authorization-request' } as const
  const { onRequest, getResult } = createEarlyLookUp((request) =>
    requireSessionForRequestObject(context, sessionIdOf(request)),
  )
  const runInTurn = createRequestObjectQueue()
  const sendRequestObject = async (request: FastifyRequest, reply: FastifyReply, wallet?: WalletRequest) => {
    const id = sessionIdOf(request)
    const requestObject = await runInTurn(id, () => getRequestObject(context, id, getResult(request), wallet))
    // Previews of links and probes send HEAD.
    if (request.method !== 'HEAD') context.progress.add(id, { requestFetchedAt: context.now().getTime() })
    return reply.type('application/oauth-authz-req+jwt').send(requestObject)
  }
  app.get(path, { config, onRequest, schema: schemas.requestObjectRoute }, (request, reply) =>
    sendRequestObject(request, reply),
  )
  addFormRoutes(app, WALLET_REQUEST_LIMIT, (scope) => {
    const schema = schemas.postedRequestObjectRoute
    // A request without parameters may have no body. OpenID4VP 1.0 section 5.10.
    const preValidation = (request: FastifyRequest, _: unknown, done: () => void): void => {
      request.body ??= {}
      done()
    }
    scope.post(path, { config, onRequest, preValidation, schema }, (request, reply) =>
      sendRequestObject(request, reply, readWalletRequest(request.body)),
    )
  })
}

const responseRoutes = [
  { mode: 'direct_post', walletEndpoint: 'authorization-response', schema: schemas.authorizationResponseRoute },
  {
    mode: 'direct_post.jwt',
    walletEndpoint: 'encrypted-authorization-response',
    schema: schemas.encryptedAuthorizationResponseRoute,
  },
] as const

function addResponseRoutes(scope: App, context: VerifierContext): void {
  for (const { mode, walletEndpoint, schema } of responseRoutes) {
    const config = { malformedError: 'invalid_request', walletEndpoint } as const
    const { onRequest, getResult } = createEarlyLookUp((request) =>
      requireWaitingSession(context, sessionIdOf(request), mode),
    )
    scope.post(`${VERIFIER_PATHS[mode]}/:session_id`, { config, onRequest, schema }, (request) => {
      const response = { httpRequestId: request.id, mode, form: request.body }
      return receiveResponse(context, request.params.session_id, getResult(request), response)
    })
  }
}

/** Returns the id in the path, before the parameters are validated. */
function sessionIdOf({ params }: FastifyRequest): string {
  return (params as Static<typeof SessionParams>).session_id
}
