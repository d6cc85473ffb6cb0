/** The routes of the authorization server: the token endpoint, its metadata, its keys and the challenge endpoint. */

import type { FastifyReply, FastifyRequest } from 'fastify'
import { addBodylessRoutes, addFormRoutes } from '../../http/app.ts'
import type { App } from '../../http/app-type.ts'
import { refusalCodes, SessionParams } from '../../http/openapi-responses.ts'
import { refuse } from '../../protocol/error.ts'
import { AuthorizationServerMetadata, type TokenResponse } from '../../protocol/oauth.ts'
import { makeNonceMembers } from '../access/c-nonce.ts'
import { createAttestationChallengeHook, readClientRequest } from '../access/client-attestation.ts'
import { createDpopNonceHook, readDpopRequest } from '../access/dpop.ts'
import { accessTokenKeys, makeAuthorizationServerMetadata } from '../authorization-server-metadata.ts'
import type { IssuerContext } from '../context.ts'
import { ISSUER_PATHS, makeDocumentPaths } from '../issuer-addresses.ts'
import { documentRoute } from '../schemas.ts'
import type { Grant } from './grant.ts'
import * as schemas from './schemas.ts'
import { answerTokenRequest, findGrant, type ReceivedTokenRequest } from './token-request.ts'

/** The maximum size of a body, since parsing a form is expensive and all parameters are short. */
const BODY_LIMIT = 16 * 1024

/** Adds the routes of the token endpoint, the authorization server metadata, the JWK Set and the challenge endpoint. */
export function addTokenRoutes(app: App, context: IssuerContext): void {
  addDocumentRoutes(app, context)
  addFormRoutes(app, BODY_LIMIT, (scope) => addEndpointRoutes(scope, context))
  addBodylessRoutes(app, (scope) => addChallengeRoutes(scope, context))
}

function addDocumentRoutes(app: App, context: IssuerContext): void {
  const [base, insertedPath, appendedPath] = makeDocumentPaths('oauth-authorization-server')
  const summary = 'Authorization server metadata'
  const schema = documentRoute('getAuthorizationServerMetadata', summary, AuthorizationServerMetadata)
  app.get(base, { schema }, () => makeAuthorizationServerMetadata(context, undefined))
  const sessionSchema = (operationId: string) => ({
    ...documentRoute(operationId, `${summary} of a session`, AuthorizationServerMetadata),
    ...refusalCodes('not_found'),
    params: SessionParams,
  })
  for (const [url, id] of [
    [insertedPath, 'getSessionAuthorizationServerMetadata'],
    [appendedPath, 'getSessionAuthorizationServerMetadataForDrafts'],
  ] as const) {
    app.get(url, { schema: sessionSchema(id) }, ({ params }) =>
      makeAuthorizationServerMetadata(context, params.session_id),
    )
  }
  const keys = accessTokenKeys(context)
  app.get(ISSUER_PATHS.tokenKeys, { schema: schemas.tokenKeysRoute }, (_, reply) => {
    reply.header('cache-control', 'max-age=300')
    return keys
  })
}

/**
 * Adds the challenge endpoint, for proofs of possession of wallet attestations, by GET too: some wallets ask that way.
 * The response also has a `DPoP-Nonce`, since the next request of many wallets has a DPoP proof as well.
 */
function addChallengeRoutes(app: App, context: IssuerContext): void {
  const answerChallengeRequest = (_: FastifyRequest, reply: FastifyReply) => {
    const { config, attestationChallenges, dpopNonces, now } = context
    if (config.clientAuthentication === undefined) {
      refuse('not_found', 'wallets are not authenticated here; the setting walletProviderTrustAnchors turns it on')
    }
    reply.header('dpop-nonce', dpopNonces.getCurrent(now()))
    return { attestation_challenge: attestationChallenges.getCurrent(now()) }
  }
  const schema = schemas.challengeRoute
  app.post(ISSUER_PATHS.challenge, { schema }, answerChallengeRequest)
  app.get(
    ISSUER_PATHS.challenge,
    { schema: { ...schema, operationId: 'getAttestationChallenge' } },
    answerChallengeRequest,
  )
}

function addEndpointRoutes(app: App, context: IssuerContext): void {
  const config = {
    malformedError: 'invalid_request',
    walletEndpoint: 'token',
    logEvents: { 200: 'token_given' },
  } as const
  const onRequest = [createDpopNonceHook(context), createAttestationChallengeHook(context), forbidOldCaches]
  app.post(ISSUER_PATHS.token, { config, onRequest, schema: schemas.tokenRoute }, async (request) => {
    const grant = await findGrant(context, request.body)
    request.sessionId = grant.sessionId
    return answerForAnyDraft(context, grant, {
      ...readDpopRequest(request),
      clientRequest: readClientRequest(request),
      form: request.body,
      sessionId: undefined,
    })
  })
  const schema = { ...schemas.tokenRoute, operationId: 'requestSessionToken', params: SessionParams }
  app.post(`${ISSUER_PATHS.token}/:session_id`, { config, onRequest, schema }, async (request) => {
    const { body: form, params } = request
    return answerForAnyDraft(context, await findGrant(context, form), {
      ...readDpopRequest(request),
      clientRequest: readClientRequest(request),
      form,
      sessionId: params.session_id,
    })
  })
}

/** Adds the header that keeps caches of HTTP/1.0 from storing a token. RFC 6749 section 5.1. */
function forbidOldCaches(_: FastifyRequest, reply: FastifyReply, done: () => void): void {
  reply.header('pragma', 'no-cache')
  done()
}

/**
 * Answers a token request. Adds a `c_nonce` if wallets of draft 13 are served, which has no nonce endpoint (Draft 13,
 * Successful Token Response). Refuses like {@link answerTokenRequest}.
 */
async function answerForAnyDraft(
  context: IssuerContext,
  grant: Grant,
  request: ReceivedTokenRequest,
): Promise<TokenResponse> {
  const response = await answerTokenRequest(context, grant, request)
  return context.config.draft13 && grant.sessionId !== undefined
    ? { ...response, ...makeNonceMembers(context, grant.sessionId) }
    : response
}
