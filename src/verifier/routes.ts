/** Every path of the verification service, who may call it, and the function that answers. */
import { BODY_LIMIT, formRoutes } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import { answerOnce } from '../http/idempotency.ts'
import { receiveResponse } from './authorization-response.ts'
import type { VerifierContext } from './context.ts'
import { startSession } from './new-session.ts'
import { createQuery, getQuery } from './queries.ts'
import { getRequestObject } from './request-object.ts'
import * as schemas from './schemas.ts'
import { getStatus } from './session-status.ts'
import { simulate } from './simulation.ts'
import { verifyStatic } from './static-presentation.ts'
import { readWalletRequest } from './wallet-request.ts'

const admin = { config: { admin: true } } as const
/** For the metadata of a wallet, and its nonce. */
const WALLET_REQUEST_LIMIT = 65_536

export function verifierRoutes(app: App, context: VerifierContext): void {
  queryRoutes(app, context)
  sessionRoutes(app, context)
  walletRoutes(app, context)
}

function queryRoutes(app: App, context: VerifierContext): void {
  app.post(
    '/verification-query/create',
    { ...admin, schema: schemas.createQuery },
    async ({ body, apiKeyLabel }, reply) => {
      const id = await createQuery(context, body.dcql_query, apiKeyLabel)
      return reply.code(201).type('text/plain').send(id)
    },
  )
  app.post(
    '/dcql-query/create',
    { ...admin, schema: schemas.createBareQuery },
    async ({ body, apiKeyLabel }, reply) => {
      const id = await createQuery(context, body, apiKeyLabel)
      return reply.code(201).type('text/plain').send(id)
    },
  )
  app.post('/verification-query/simulate', { ...admin, schema: schemas.simulateQuery }, ({ body }, reply) =>
    reply.send(simulate(body)),
  )
  app.get('/verification-query/:verification_query_id', { ...admin, schema: schemas.getQuery }, async ({ params }) => ({
    ...params,
    dcql_query: await getQuery(context, params.verification_query_id),
  }))
}

function sessionRoutes(app: App, context: VerifierContext): void {
  app.post('/presentation/oid4vp/new-session', { ...admin, schema: schemas.newSession }, async (request) => {
    const { body, headers, apiKeyLabel } = request
    const asked = {
      key: headers['idempotency-key'],
      route: 'verification',
      caller: apiKeyLabel,
      body,
      now: context.now(),
    }
    return answerOnce(context.store, asked, (remember) =>
      startSession(context, body, { caller: apiKeyLabel, remember }),
    )
  })
  app.post(
    '/presentation/oid4vp/static-presentation',
    { ...admin, schema: schemas.staticPresentation },
    ({ body, apiKeyLabel }) => verifyStatic(context, body, apiKeyLabel),
  )
  app.get('/presentation/oid4vp/status/:session_id', { ...admin, schema: schemas.sessionStatus }, ({ params, query }) =>
    getStatus(context, params.session_id, query.response_code),
  )
}

function walletRoutes(app: App, context: VerifierContext): void {
  const path = '/presentation/oid4vp/authorization-request/:session_id'
  const type = 'application/oauth-authz-req+jwt'
  app.get(path, { schema: schemas.requestObject }, async ({ params }, reply) => {
    const requestObject = await getRequestObject(context, params.session_id)
    return reply.type(type).send(requestObject)
  })
  const config = { malformed: 'invalid_request' } as const
  formRoutes(app, WALLET_REQUEST_LIMIT, (scope) => {
    scope.post(path, { config, schema: schemas.postedRequestObject }, async ({ params, body }, reply) => {
      const requestObject = await getRequestObject(context, params.session_id, readWalletRequest(body))
      return reply.type(type).send(requestObject)
    })
  })
  formRoutes(app, BODY_LIMIT, (scope) => {
    scope.post(
      '/presentation/oid4vp/authorization-response/:session_id',
      { config, schema: schemas.authorizationResponse },
      ({ params, body }) => receiveResponse(context, params.session_id, { mode: 'direct_post', form: body }),
    )
    scope.post(
      '/presentation/oid4vp/encrypted-authorization-response/:session_id',
      { config, schema: schemas.encryptedAuthorizationResponse },
      ({ params, body }) => receiveResponse(context, params.session_id, { mode: 'direct_post.jwt', form: body }),
    )
  })
}
