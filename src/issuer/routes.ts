/** Every path of the issuance service, who may call it, and the function that answers. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { preferredType } from '../http/accept.ts'
import { JSON_TYPE, JWT_TYPE, SessionParams } from '../http/answers.ts'
import { bodylessRoutes, formRoutes, jwtRoutes } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import { answerOnce } from '../http/idempotency.ts'
import type { Encryption } from '../keys/jwe.ts'
import { AuthorizationServerMetadata } from '../protocol/oauth.ts'
import {
  type CredentialRequest,
  type CredentialResponse,
  type DeferredCredentialRequest,
  IssuerMetadata,
} from '../protocol/oid4vci.ts'
import { type OpenSession, sessionOfToken } from './access-token.ts'
import { findSession } from './collections.ts'
import { completeSession } from './complete.ts'
import { createConfiguration, getConfiguration, removeConfiguration } from './configurations.ts'
import type { IssuerContext } from './context.ts'
import { requestCredential } from './credential-request.ts'
import { fetchDeferred } from './deferred.ts'
import type { ProvedRequest } from './dpop.ts'
import { encryptResponse, readRequest } from './encryption.ts'
import { accessTokenKeys, authorizationServerMetadata, issuerMetadata, type Shape } from './metadata.ts'
import { openAnswer, startSession } from './new-session.ts'
import { makeNonce } from './nonce.ts'
import { notify } from './notification.ts'
import { getOffer } from './offer.ts'
import * as schemas from './schemas.ts'
import { getStatus } from './session-status.ts'
import { signMetadata } from './signed-metadata.ts'
import { statusRoutes } from './status-list/routes.ts'
import { answerTokenRequest } from './token-request.ts'

const admin = { config: { admin: true } } as const
/** A code and a grant type are short, and reading a form costs more than it costs to send. */
const TOKEN_BODY_LIMIT = 16 * 1024

export function issuerRoutes(app: App, context: IssuerContext): void {
  configurationRoutes(app, context)
  sessionRoutes(app, context)
  documentRoutes(app, context)
  statusRoutes(app, context)
  // Where another server gives the tokens, nothing of ours may look as if it did.
  if (context.authorizationServer === undefined) {
    serverRoutes(app, context)
    formRoutes(app, TOKEN_BODY_LIMIT, (scope) => tokenRoutes(scope, context))
  }
  bodylessRoutes(app, (scope) => nonceRoutes(scope, context))
  jwtRoutes(app, (scope) => credentialRoutes(scope, context))
  notificationRoutes(app, context)
}

function configurationRoutes(app: App, context: IssuerContext): void {
  app.post(
    '/credential-configuration/create',
    { ...admin, schema: schemas.createConfiguration },
    async ({ body, apiKeyLabel }, reply) => {
      const id = await createConfiguration(context, body, apiKeyLabel)
      return reply.code(201).type('text/plain').send(id)
    },
  )
  app.get(
    '/credential-configuration/:credential_configuration_id',
    { ...admin, schema: schemas.getConfiguration },
    ({ params }) => getConfiguration(context, params.credential_configuration_id),
  )
  bodylessRoutes(app, (scope) => {
    scope.post(
      '/credential-configuration/remove/:credential_configuration_id',
      { ...admin, schema: schemas.removeConfiguration },
      async ({ params, apiKeyLabel }) => {
        await removeConfiguration(context, params.credential_configuration_id, apiKeyLabel)
        return {}
      },
    )
  })
}

function sessionRoutes(app: App, context: IssuerContext): void {
  app.post('/issuance/oid4vci/new-session', { ...admin, schema: schemas.newSession }, async (request) => {
    const { body, headers, apiKeyLabel } = request
    const asked = { key: headers['idempotency-key'], route: 'issuance', caller: apiKeyLabel, body, now: context.now() }
    const answer = await answerOnce(context.store, asked, (remember) =>
      startSession(context, body, { caller: apiKeyLabel, remember }),
    )
    return openAnswer(context, answer)
  })
  app.post('/issuance/oid4vci/complete/:session_id', { ...admin, schema: schemas.complete }, (request) =>
    completeSession(context, request.params.session_id, request.body, request.apiKeyLabel),
  )
  app.get('/issuance/oid4vci/status/:session_id', { ...admin, schema: schemas.sessionStatus }, ({ params }) =>
    getStatus(context, params.session_id),
  )
  app.get('/issuance/oid4vci/credential-offer/:session_id', { schema: schemas.offer }, ({ params }) =>
    getOffer(context, params.session_id),
  )
}

/** Each document at the URL that its identifier leads to, at the one older wallets append, and for the base. */
function documentRoutes(app: App, context: IssuerContext): void {
  const [base, inserted, appended] = addresses('openid-credential-issuer')
  const summary = 'Credential issuer metadata'
  const schema = schemas.signedDocument(summary, IssuerMetadata)
  const ofSession = { ...schemas.signedDocument(`${summary} of a session`, IssuerMetadata), params: SessionParams }
  app.get(base, { schema }, (request, reply) => answerMetadata(context, request, reply, 'final'))
  app.get(inserted, { schema: ofSession }, (request, reply) => answerMetadata(context, request, reply, 'final'))
  app.get(appended, { schema: ofSession }, (request, reply) => answerMetadata(context, request, reply, 'older'))
}

/** As JSON, or signed when the client would rather have that. */
async function answerMetadata(
  context: IssuerContext,
  { headers, params }: FastifyRequest,
  reply: FastifyReply,
  shape: Shape,
) {
  reply.header('vary', 'Accept')
  const metadata = await issuerMetadata(context, (params as Partial<Static<typeof SessionParams>>).session_id, shape)
  if (preferredType(headers.accept, [JSON_TYPE, JWT_TYPE]) === JSON_TYPE) return metadata
  return reply.type(JWT_TYPE).send(await signMetadata(context, metadata))
}

function serverRoutes(app: App, context: IssuerContext): void {
  const [base, ...urls] = addresses('oauth-authorization-server')
  const summary = 'Authorization server metadata'
  const schema = schemas.document(summary, AuthorizationServerMetadata)
  app.get(base, { schema }, () => authorizationServerMetadata(context, undefined))
  const ofSession = schemas.document(`${summary} of a session`, AuthorizationServerMetadata)
  for (const url of urls) {
    app.get(url, { schema: { ...ofSession, params: SessionParams } }, ({ params }) =>
      authorizationServerMetadata(context, params.session_id),
    )
  }
  const keys = accessTokenKeys(context)
  app.get('/auth/.well-known/jwks', { schema: schemas.keys }, (_, reply) =>
    reply.header('cache-control', 'max-age=300').send(keys),
  )
}

function addresses(name: string): readonly [base: string, inserted: string, appended: string] {
  return [`/.well-known/${name}`, `/.well-known/${name}/:session_id`, `/:session_id/.well-known/${name}`]
}

/** OpenID4VCI 1.0, Nonce Response: the nonce of the next DPoP proof may come along, and a wallet that has none does not mind. */
function nonceRoutes(app: App, context: IssuerContext): void {
  const { secrets, random, now, dpopNonces } = context
  app.post('/issuance/oid4vci/nonce', { schema: schemas.nonce }, (_, reply) => {
    reply.header('dpop-nonce', dpopNonces.current(now()))
    return { c_nonce: makeNonce(secrets.nonce, undefined, random(16), now()) }
  })
  const schema = { ...schemas.nonce, params: SessionParams }
  app.post('/issuance/oid4vci/nonce/:session_id', { schema }, async ({ params }, reply) => {
    await findSession(context.store, params.session_id)
    reply.header('dpop-nonce', dpopNonces.current(now()))
    return { c_nonce: makeNonce(secrets.nonce, params.session_id, random(16), now()) }
  })
}

function tokenRoutes(app: App, context: IssuerContext): void {
  const config = { malformed: 'invalid_request' } as const
  const onRequest = offerDpopNonce(context)
  app.post('/auth/token-endpoint', { config, onRequest, schema: schemas.token }, (request) =>
    answerTokenRequest(context, { ...provedRequest(request), form: request.body, sessionId: undefined }),
  )
  const schema = { ...schemas.token, params: SessionParams }
  app.post('/auth/token-endpoint/:session_id', { config, onRequest, schema }, (request) =>
    answerTokenRequest(context, {
      ...provedRequest(request),
      form: request.body,
      sessionId: request.params.session_id,
    }),
  )
}

/** Every answer to a wallet that uses DPoP has the nonce of its next proof. RFC 9449 section 8.2. */
function offerDpopNonce({ dpopNonces, now }: IssuerContext) {
  return ({ headers }: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const usesDpop = headers.dpop !== undefined || /^DPoP /i.test(headers.authorization ?? '')
    if (usesDpop) reply.header('dpop-nonce', dpopNonces.current(now()))
    done()
  }
}

function provedRequest({ headers, method, url }: FastifyRequest): ProvedRequest {
  const { dpop } = headers
  // A request may name the whole address, of which the router takes the path. RFC 9112 section 3.2.2.
  const [path = ''] = url.replace(/^https?:\/\/[^/]*/, '').split('?', 1)
  return { dpop: typeof dpop === 'string' ? dpop : dpop?.join(), method, path }
}

/** The token is looked at before the body is read: an unknown caller costs one look-up and no more. */
function byToken(context: IssuerContext) {
  const opened = new WeakMap<FastifyRequest, OpenSession>()
  const open = async (request: FastifyRequest): Promise<void> => {
    const { authorization } = request.headers
    opened.set(request, await sessionOfToken(context, { ...provedRequest(request), authorization }))
  }
  return {
    onRequest: [offerDpopNonce(context), open],
    openedBy: (request: FastifyRequest): OpenSession => opened.get(request) as OpenSession,
  }
}

function notificationRoutes(app: App, context: IssuerContext): void {
  const { onRequest, openedBy } = byToken(context)
  const path = '/issuance/oid4vci/notification'
  const config = { malformed: 'invalid_notification_request' } as const
  const schema = schemas.notification
  app.post(path, { config, schema, onRequest }, async (request, reply) => {
    await notify(context, openedBy(request), request.body, undefined)
    return reply.code(204).send()
  })
  const ofSession = { ...schema, params: SessionParams }
  app.post(`${path}/:session_id`, { config, schema: ofSession, onRequest }, async (request, reply) => {
    await notify(context, openedBy(request), request.body, request.params.session_id)
    return reply.code(204).send()
  })
}

function credentialRoutes(app: App, context: IssuerContext): void {
  const { onRequest, openedBy } = byToken(context)
  app.post('/issuance/oid4vci/credential-request', {
    config: { malformed: 'invalid_credential_request' },
    schema: schemas.credential,
    onRequest,
    handler: async (request, reply) => {
      const { request: asked, encryption } = await readRequest(context, request.body as CredentialRequest | string)
      return answerCredential(reply, await requestCredential(context, openedBy(request), asked), encryption)
    },
  })
  app.post('/issuance/oid4vci/deferred-credential', {
    config: { malformed: 'invalid_credential_request' },
    schema: schemas.deferredCredential,
    onRequest,
    handler: async (request, reply) => {
      const body = request.body as DeferredCredentialRequest | string
      const { request: asked, encryption } = await readRequest(context, body)
      return answerCredential(reply, await fetchDeferred(context, openedBy(request), asked), encryption)
    },
  })
}

/** As the wallet wants it; 202 where it has to come again. OpenID4VCI 1.0, Credential Response. */
async function answerCredential(reply: FastifyReply, response: CredentialResponse, encryption: Encryption | undefined) {
  reply.code(response.transaction_id === undefined ? 200 : 202)
  if (encryption === undefined) return response
  return reply.type(JWT_TYPE).send(await encryptResponse(response, encryption))
}
