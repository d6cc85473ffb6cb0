/** Every path of the issuance service, who may call it, and the function that answers. */

import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import type { JsonObject } from '../codec/json.ts'
import { bodylessRoutes, formRoutes } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import { refuse } from '../protocol/error.ts'
import { CredentialConfiguration, CredentialRequest } from '../protocol/oid4vci.ts'
import { redeemCode, sessionOfToken } from './access-token.ts'
import { findSession } from './collections.ts'
import { createConfiguration, getConfiguration, removeConfiguration } from './configurations.ts'
import type { IssuerContext } from './context.ts'
import { type OpenSession, requestCredential } from './credential-request.ts'
import { accessTokenKeys, authorizationServerMetadata, issuerMetadata } from './metadata.ts'
import { type NewSession, startSession } from './new-session.ts'
import { makeNonce } from './nonce.ts'
import { getOffer } from './offer.ts'
import { getStatus } from './session-status.ts'

const admin = { config: { admin: true } } as const
const adminSecurity = { security: [{ apiKey: [] }], tags: ['integration'] }
const walletSecurity = { security: [], tags: ['wallet'] }
const SessionParams = Type.Object({ session_id: Type.String() })

const NewSessionBody = Type.Object(
  {
    credential_dataset: Type.Object({}, { description: '{credentialSubject: {claim name: value}}' }),
    credential_configurations: Type.Array(Type.String(), { minItems: 1, maxItems: 50, uniqueItems: true }),
    expires_in: Type.Optional(Type.Integer({ minimum: 1, maximum: 604_800, description: 'Seconds; 600 when absent' })),
    'pre-authorized_code': Type.Optional(Type.Unknown()),
    tx_code: Type.Optional(Type.Unknown()),
  },
  { additionalProperties: false },
)

const TokenBody = Type.Object({
  grant_type: Type.Optional(Type.String()),
  'pre-authorized_code': Type.Optional(Type.String()),
  tx_code: Type.Optional(Type.String()),
  authorization_details: Type.Optional(Type.String()),
})

export function issuerRoutes(app: App, context: IssuerContext): void {
  configurationRoutes(app, context)
  sessionRoutes(app, context)
  documentRoutes(app, context)
  bodylessRoutes(app, (scope) => nonceRoutes(scope, context))
  formRoutes(app, (scope) => tokenRoutes(scope, context))
  credentialRoute(app, context)
}

function configurationRoutes(app: App, context: IssuerContext): void {
  const params = Type.Object({ credential_configuration_id: Type.String() })
  const create = { ...adminSecurity, summary: 'Declare a credential configuration', body: CredentialConfiguration }
  app.post('/credential-configuration/create', { ...admin, schema: create }, async ({ body }, reply) =>
    reply
      .code(201)
      .type('text/plain')
      .send(await createConfiguration(context, body)),
  )
  const get = { ...adminSecurity, summary: 'A credential configuration as it was posted', params }
  app.get('/credential-configuration/:credential_configuration_id', { ...admin, schema: get }, ({ params }) =>
    getConfiguration(context, params.credential_configuration_id),
  )
  const remove = { ...adminSecurity, summary: 'Take a credential configuration away from new sessions', params }
  bodylessRoutes(app, (scope) => {
    scope.post(
      '/credential-configuration/remove/:credential_configuration_id',
      { ...admin, schema: remove },
      async ({ params }) => {
        await removeConfiguration(context, params.credential_configuration_id)
        return {}
      },
    )
  })
}

function sessionRoutes(app: App, context: IssuerContext): void {
  const start = { ...adminSecurity, summary: 'Start an issuance session', body: NewSessionBody }
  app.post('/issuance/oid4vci/new-session', { ...admin, schema: start }, async ({ body, headers }) => {
    refuseLater({ ...body, 'Idempotency-Key': headers['idempotency-key'] })
    return startSession(context, body as unknown as NewSession)
  })
  const status = { ...adminSecurity, summary: 'The status of an issuance session', params: SessionParams }
  app.get('/issuance/oid4vci/status/:session_id', { ...admin, schema: status }, ({ params }) =>
    getStatus(context, params.session_id),
  )
  const offer = { ...walletSecurity, summary: 'The credential offer', params: SessionParams }
  app.get('/issuance/oid4vci/credential-offer/:session_id', { schema: offer }, ({ params }) =>
    getOffer(context, params.session_id),
  )
}

/** Each document at the URL that its identifier leads to, at the one older wallets append, and for the base. */
function documentRoutes(app: App, context: IssuerContext): void {
  const documents = [
    ['/.well-known/openid-credential-issuer', 'Credential issuer metadata', issuerMetadata],
    ['/.well-known/oauth-authorization-server', 'Authorization server metadata', authorizationServerMetadata],
  ] as const
  for (const [path, summary, document] of documents) {
    app.get(path, { schema: { ...walletSecurity, summary } }, () => document(context, undefined))
    for (const url of [`${path}/:session_id`, `/:session_id${path}`]) {
      const schema = { ...walletSecurity, summary: `${summary} of a session`, params: SessionParams }
      app.get(url, { schema }, ({ params }) => document(context, params.session_id))
    }
  }
  const keys = accessTokenKeys(context)
  const schema = { ...walletSecurity, summary: 'The public keys of access tokens' }
  app.get('/auth/.well-known/jwks', { schema }, (_, reply) => reply.header('cache-control', 'max-age=300').send(keys))
}

function nonceRoutes(app: App, context: IssuerContext): void {
  const { secrets, random, now } = context
  const schema = { ...walletSecurity, summary: 'A fresh c_nonce' }
  app.post('/issuance/oid4vci/nonce', { schema }, () => ({
    c_nonce: makeNonce(secrets.nonce, undefined, random(16), now()),
  }))
  const ofSession = { ...schema, params: SessionParams }
  app.post('/issuance/oid4vci/nonce/:session_id', { schema: ofSession }, async ({ params }) => {
    await findSession(context.store, params.session_id)
    return { c_nonce: makeNonce(secrets.nonce, params.session_id, random(16), now()) }
  })
}

function tokenRoutes(app: App, context: IssuerContext): void {
  const schema = {
    ...walletSecurity,
    summary: 'Redeem the pre-authorized code',
    consumes: ['application/x-www-form-urlencoded'],
    body: TokenBody,
  }
  const config = { malformed: 'invalid_request' } as const
  app.post('/auth/token-endpoint', { config, schema }, ({ body }) => redeemCode(context, body, undefined))
  const ofSession = { ...schema, params: SessionParams }
  app.post('/auth/token-endpoint/:session_id', { config, schema: ofSession }, ({ body, params }) =>
    redeemCode(context, body, params.session_id),
  )
}

function credentialRoute(app: App, context: IssuerContext): void {
  // The token is looked at before the body is read: an unknown caller costs one look-up and no more.
  const opened = new WeakMap<FastifyRequest, OpenSession>()
  const schema = {
    security: [{ accessToken: [] }],
    tags: ['wallet'],
    summary: 'Issue a credential to the key of the proof',
    body: CredentialRequest,
  }
  app.post('/issuance/oid4vci/credential-request', {
    config: { malformed: 'invalid_credential_request' },
    schema,
    onRequest: async (request) => {
      opened.set(request, await sessionOfToken(context, request.headers.authorization))
    },
    handler: (request) => requestCredential(context, opened.get(request) as OpenSession, request.body as JsonObject),
  })
}

/** Fields that a later release brings are refused by name, so that nobody relies on one that does nothing. */
function refuseLater(fields: Readonly<Record<string, unknown>>): void {
  for (const name of ['pre-authorized_code', 'tx_code', 'Idempotency-Key']) {
    if (fields[name] !== undefined) refuse('invalid_request', `${name}: not yet supported`)
  }
}
