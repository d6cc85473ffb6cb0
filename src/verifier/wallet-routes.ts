/** The routes for wallets: request objects, and the responses to them. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { addFormRoutes } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import { createEarlyLookUp } from '../http/early-look-up.ts'
import type { SessionParams } from '../http/openapi-responses.ts'
import { receiveResponse, requireWaitingSession } from './authorization-response.ts'
import type { VerifierContext } from './context.ts'
import { getRequestObject, type RequestQueue, requireSessionForRequestObject } from './request-object.ts'
import * as schemas from './schemas.ts'
import { VERIFIER_PATHS } from './session.ts'
import { readWalletRequest, type WalletRequest } from './wallet-request.ts'

/** The maximum size of a wallet's request for its request object. */
const WALLET_REQUEST_LIMIT = 65_536

/** Adds the routes that send request objects, which are signed by `signInTurn`, and those that receive responses. */
export function addWalletRoutes(app: App, context: VerifierContext, signInTurn: RequestQueue): void {
  addRequestObjectRoutes(app, context, signInTurn)
  addFormRoutes(app, context.config.presentationBytes, (scope) => addResponseRoutes(scope, context))
}

function addRequestObjectRoutes(app: App, context: VerifierContext, signInTurn: RequestQueue): void {
  const path = `${VERIFIER_PATHS.request}/:session_id`
  const config = { malformedError: 'invalid_request', walletEndpoint: 'authorization-request' } as const
  const { onRequest, getResult } = createEarlyLookUp((request) =>
    requireSessionForRequestObject(context, sessionIdOf(request)),
  )
  const sendRequestObject = async (request: FastifyRequest, reply: FastifyReply, wallet?: WalletRequest) => {
    const id = sessionIdOf(request)
    const requestObject = await signInTurn(id, () => getRequestObject(context, id, getResult(request), wallet))
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
