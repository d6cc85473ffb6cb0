/** The routes for wallets after the token endpoint: nonces, credentials, deferred credentials and notifications. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { addBodylessRoutes, addJwtRoutes } from '../../http/app.ts'
import type { App } from '../../http/app-type.ts'
import { createEarlyLookUp } from '../../http/early-look-up.ts'
import { JWT_TYPE, refusalCodes, SessionParams } from '../../http/openapi-responses.ts'
import type { CredentialRequest, CredentialResponse, DeferredCredentialRequest } from '../../protocol/oid4vci.ts'
import { makeNonce, makeNonceMembers } from '../access/c-nonce.ts'
import { createDpopNonceHook, readDpopRequest } from '../access/dpop.ts'
import { claimedSessionId, type OpenSession, queueForSession, requireSessionOfToken } from '../access/open-session.ts'
import { type CredentialResponseForm, requireIssuanceSession } from '../collections.ts'
import type { IssuerContext } from '../context.ts'
import { ISSUER_PATHS } from '../issuer-addresses.ts'
import { answerCredentialRequest, isFinalForm, type ReceivedRequest, readRequest } from './credential-request.ts'
import { answerDeferredRequest } from './deferred.ts'
import { encryptResponse, MAX_REQUEST_BYTES } from './encryption.ts'
import { receiveNotification } from './notification.ts'
import {
  answerDraft15DeferredRequest,
  answerOlderDraft,
  DRAFT15_DEFERRED_PATH,
  readDraft15Request,
  toResponseForm,
} from './older-drafts.ts'
import * as schemas from './schemas.ts'

/** The maximum size of a notification. */
const MAX_NOTIFICATION_BYTES = 16 * 1024
/** The error for a body that cannot be parsed. */
const MALFORMED = 'invalid_credential_request'

/** Adds the routes of the nonce, credential, deferred credential and notification endpoints. */
export function addCredentialRoutes(app: App, context: IssuerContext): void {
  addBodylessRoutes(app, (scope) => addNonceRoutes(scope, context))
  addJwtRoutes(app, (scope) => addEndpointRoutes(scope, context))
  addNotificationRoutes(app, context)
}

/** Adds the nonce endpoints. Their responses also have a `DPoP-Nonce`. OpenID4VCI 1.0, Nonce Response. */
function addNonceRoutes(app: App, context: IssuerContext): void {
  const { now, dpopNonces } = context
  app.post(ISSUER_PATHS.nonce, { schema: schemas.nonceRoute }, (_, reply) => {
    reply.header('dpop-nonce', dpopNonces.getCurrent(now()))
    return { c_nonce: makeNonce(context, undefined) }
  })
  const schema = {
    ...schemas.nonceRoute,
    ...refusalCodes('not_found'),
    operationId: 'createSessionNonce',
    params: SessionParams,
  }
  const { onRequest } = createEarlyLookUp(({ params }) =>
    requireIssuanceSession(context.store, (params as Static<typeof SessionParams>).session_id),
  )
  app.post(`${ISSUER_PATHS.nonce}/:session_id`, { onRequest, schema }, ({ params }, reply) => {
    reply.header('dpop-nonce', dpopNonces.getCurrent(now()))
    return { c_nonce: makeNonce(context, params.session_id) }
  })
}

/** Makes the hooks that check the access token before the body is read. */
function createTokenHooks(context: IssuerContext) {
  const { onRequest, getResult } = createEarlyLookUp(async (request) => {
    const { authorization } = request.headers
    try {
      const openSession = await requireSessionOfToken(context, {
        ...readDpopRequest(request),
        authorization,
        address: request.ip,
      })
      request.sessionId = openSession.sessionId
      return openSession
    } catch (error) {
      // Sets the session even for an expired token, so that its status shows the refusal.
      request.sessionId = claimedSessionId(context, authorization)
      throw error
    }
  })
  return { onRequest: [createDpopNonceHook(context), onRequest], openSessionOf: getResult }
}

function addNotificationRoutes(app: App, context: IssuerContext): void {
  const { onRequest, openSessionOf } = createTokenHooks(context)
  const config = { malformedError: 'invalid_notification_request', walletEndpoint: 'notification' } as const
  const [schema, bodyLimit] = [schemas.notificationRoute, MAX_NOTIFICATION_BYTES]
  app.post(ISSUER_PATHS.notification, { config, schema, bodyLimit, onRequest }, async (request, reply) => {
    await receiveNotification(context, openSessionOf(request), request.body, undefined)
    return reply.code(204).send()
  })
  const sessionSchema = { ...schema, operationId: 'notifySessionIssuer', params: SessionParams }
  app.post(
    `${ISSUER_PATHS.notification}/:session_id`,
    { config, schema: sessionSchema, bodyLimit, onRequest },
    async (request, reply) => {
      await receiveNotification(context, openSessionOf(request), request.body, request.params.session_id)
      return reply.code(204).send()
    },
  )
}

function addEndpointRoutes(app: App, context: IssuerContext): void {
  const { onRequest, openSessionOf } = createTokenHooks(context)
  app.post(ISSUER_PATHS.credential, {
    config: {
      malformedError: MALFORMED,
      walletEndpoint: 'credential',
      logEvents: { 200: 'credential_issued', 202: 'credential_deferred' },
    },
    schema: schemas.credentialRoute,
    bodyLimit: MAX_REQUEST_BYTES,
    onRequest,
    handler: async (request, reply) => {
      const openSession = openSessionOf(request)
      const receivedRequest = await readBody(context, request.body as CredentialRequest | string)
      const answerRequest = isFinalForm(receivedRequest.request) ? answerCredentialRequest : answerOlderDraft
      const response = await queueForSession(context, openSession, (session) =>
        answerRequest(context, session, receivedRequest),
      )
      return sendCredentialResponse(reply, addNextNonce(context, openSession, response), receivedRequest.responseForm)
    },
  })
  addDeferredRoutes(app, context, { onRequest, openSessionOf })
}

/**
 * Adds a nonce to a response if the access token is for several credentials: some wallets of the final specification
 * fetch one nonce for the first credential of an offer, and look for the next one in the response.
 */
function addNextNonce(
  context: IssuerContext,
  { sessionId, row, authorizedIds = row.value.configurationIds }: OpenSession,
  response: CredentialResponse,
): CredentialResponse {
  const hasNonce = response.c_nonce !== undefined
  return authorizedIds.length > 1 && !hasNonce ? { ...response, ...makeNonceMembers(context, sessionId) } : response
}

/**
 * Adds the deferred credential endpoint, and the one for wallets of drafts up to 15. By OpenID4VCI 1.0, the response is
 * encrypted as its own request asks; by the drafts as the credential request asked, unless its own asks otherwise.
 */
function addDeferredRoutes(
  app: App,
  context: IssuerContext,
  { onRequest, openSessionOf }: ReturnType<typeof createTokenHooks>,
): void {
  const config = {
    malformedError: MALFORMED,
    walletEndpoint: 'deferred-credential',
    logEvents: { 200: 'credential_issued' },
  } as const
  type Form = CredentialResponseForm
  const makeHandler =
    (answerRequest: typeof answerDeferredRequest, chooseForm: (ofRequest: Form, ofCredentialRequest: Form) => Form) =>
    async (request: FastifyRequest, reply: FastifyReply) => {
      const receivedRequest = await readBody(context, deferredBody(request))
      const { response, responseForm } = await queueForSession(context, openSessionOf(request), (session) =>
        answerRequest(context, session, receivedRequest.request),
      )
      const form = chooseForm(receivedRequest.responseForm, responseForm)
      return sendCredentialResponse(reply, toResponseForm(response, responseForm), form)
    }
  app.post(ISSUER_PATHS.deferredCredential, {
    config,
    schema: schemas.deferredCredentialRoute,
    bodyLimit: MAX_REQUEST_BYTES,
    onRequest,
    handler: makeHandler(answerDeferredRequest, (ofRequest) => ofRequest),
  })
  app.post(DRAFT15_DEFERRED_PATH, {
    config,
    schema: schemas.draft15DeferredCredentialRoute,
    bodyLimit: MAX_REQUEST_BYTES,
    onRequest,
    handler: makeHandler(answerDraft15DeferredRequest, (ofRequest, ofCredentialRequest) => ({
      ...ofCredentialRequest,
      ...ofRequest,
    })),
  })
}

function deferredBody({ body }: FastifyRequest) {
  return body as DeferredCredentialRequest | string
}

/** Reads a request. Only drafts up to 15 ask for an encrypted response in a request that is not encrypted. */
function readBody<T extends CredentialRequest | DeferredCredentialRequest>(
  context: IssuerContext,
  body: T | string | undefined | null,
): Promise<ReceivedRequest<T>> {
  const mayBeDraft15 = typeof body === 'object' && body?.credential_response_encryption !== undefined
  return mayBeDraft15 ? readDraft15Request(context, body) : readRequest(context, body)
}

/**
 * Sends a credential response, encrypted if the wallet asked for it; with 202 if the credentials are deferred.
 * OpenID4VCI 1.0, Credential Response.
 */
async function sendCredentialResponse(
  reply: FastifyReply,
  response: CredentialResponse,
  { encryption }: CredentialResponseForm,
) {
  reply.code(response.transaction_id === undefined ? 200 : 202)
  if (encryption === undefined) return response
  return reply.type(JWT_TYPE).send(await encryptResponse(response, encryption))
}
