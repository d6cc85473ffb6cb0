/** A right request for every endpoint of both services, from which the mutations start. */
import { randomBytes } from 'node:crypto'
import type { Json, JsonObject } from '../../src/codec/json.ts'
import { writeJws } from '../../src/codec/jws.ts'
import { makePrivateJwk } from '../../src/keys/private-jwk.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { encryptionMetadata } from '../../src/verifier/response-encryption.ts'
import { encryptedResponse } from '../support/encryption.ts'
import { ISSUER_URL, type Services, VERIFIER_URL } from '../support/services.ts'
import {
  authorization,
  codeOf,
  configuration,
  dataset,
  dcqlQuery,
  declare,
  fetchNonce,
  GRANT,
  holderSigner,
  issueCredential,
  keyProof,
  presentationOf,
  redeem,
  startIssuance,
  startVerification,
} from '../support/wire.ts'
import { mutateJson, type Random } from './mutate.ts'

export interface FuzzRequest {
  readonly service: 'issuer' | 'verifier'
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: { readonly json: Json } | { readonly form: string }
}

/** Makes the right request; called again when the one before has had its effect. */
export interface Target {
  readonly name: string
  make(services: Services, random: Random): Promise<FuzzRequest>
}

const json = { ...authorization, 'content-type': 'application/json' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }

const get = (service: FuzzRequest['service'], path: string, headers = {}): FuzzRequest => ({
  service,
  method: 'GET',
  path,
  headers,
})
const post = (service: FuzzRequest['service'], path: string, value: Json): FuzzRequest => ({
  service,
  method: 'POST',
  path,
  headers: json,
  body: { json: value },
})

async function issuance(services: Services): Promise<string> {
  return (await startIssuance(services)).sessionId
}

function ofSession(name: string, request: (session: string) => FuzzRequest): Target {
  return { name, make: async (services) => request(await issuance(services)) }
}

function fixed(request: FuzzRequest): Target {
  return { name: `${request.service} ${request.method} ${request.path}`, make: () => Promise.resolve(request) }
}

/** A proof whose header or payload was changed before it was signed, every second time. */
async function proofFor(services: Services, holder: Signer, session: string, random: Random): Promise<string> {
  const parts = { holder, nonce: await fetchNonce(services, session), audience: `${ISSUER_URL}/${session}` }
  const jwt = await keyProof(parts, services.clock.now)
  if (random(2) === 0) return jwt
  const [header, payload] = jwt
    .split('.')
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as JsonObject) as [JsonObject, JsonObject]
  const changed = random(2) === 0
  return writeJws(
    changed ? (mutateJson(random, header) as JsonObject) : header,
    changed ? payload : (mutateJson(random, payload) as JsonObject),
    (data) => holder.sign(data),
  )
}

const credentialRequest: Target = {
  name: 'issuer POST /issuance/oid4vci/credential-request',
  make: async (services, random) => {
    const { sessionId, id } = await startIssuance(services)
    const [token, holder] = [await redeem(services, sessionId), await holderSigner()]
    const jwt = await proofFor(services, holder, sessionId, random)
    const proof = random(2) === 0 ? { proof: { proof_type: 'jwt', jwt } } : { proofs: { jwt: [jwt] } }
    const { format, credential_definition: definition } = configuration
    const kind = random(2) === 0 ? { credential_configuration_id: id } : { format, credential_definition: definition }
    const request = post('issuer', '/issuance/oid4vci/credential-request', { ...kind, ...proof })
    return { ...request, headers: { ...json, authorization: `Bearer ${token}` } }
  },
}

const held = new WeakMap<Services, Promise<{ readonly credential: string; readonly holder: Signer }>>()

async function issueOnce(services: Services) {
  const holder = await holderSigner()
  return { holder, credential: await issueCredential(services, holder) }
}

const authorizationResponse: Target = {
  name: 'verifier POST /presentation/oid4vp/authorization-response/{session_id}',
  make: async (services, random) => {
    const issued = held.get(services) ?? issueOnce(services)
    held.set(services, issued)
    const { credential, holder } = await issued
    const { request } = await startVerification(services)
    const presentation = await presentationOf(credential, holder, request, services.clock)
    const answer = { vp_token: JSON.stringify({ card: [presentation] }), state: request.state }
    const declined = { error: 'access_denied', error_description: 'no', state: request.state }
    const path = new URL(request.response_uri).pathname
    const fields = new URLSearchParams(random(10) === 0 ? declined : answer).toString()
    return { service: 'verifier', method: 'POST', path, headers: form, body: { form: fields } }
  },
}

const encryptedAuthorizationResponse: Target = {
  name: 'verifier POST /presentation/oid4vp/encrypted-authorization-response/{session_id}',
  make: async (services, random) => {
    const issued = held.get(services) ?? issueOnce(services)
    held.set(services, issued)
    const { credential, holder } = await issued
    const { sessionId, request } = await encryptedSession(services)
    const presentation = await presentationOf(credential, holder, request, services.clock)
    const answer = { vp_token: { card: [presentation] }, state: request.state }
    // Nothing reaches what lies behind the decryption by changing the JWE itself.
    const members = random(2) === 0 ? answer : mutateJson(random, answer)
    const fields = { response: await encryptedResponse(request, members), state: request.state }
    const path = `/presentation/oid4vp/encrypted-authorization-response/${sessionId}`
    const body = { form: new URLSearchParams(fields).toString() }
    return { service: 'verifier', method: 'POST', path, headers: form, body }
  },
}

/** A session of the usual query, with the response mode of one that asks for an mdoc. */
async function encryptedSession({ verifierStore, ...services }: Services) {
  const { sessionId, request } = await startVerification({ verifierStore, ...services })
  const row = await verifierStore.get('verification_session', sessionId)
  if (row === undefined) throw new Error('no session')
  const encryptionKey = makePrivateJwk(randomBytes)
  const value = { ...row.value, responseMode: 'direct_post.jwt', encryptionKey } as const
  await verifierStore.commit([{ update: 'verification_session', id: sessionId, version: row.version, value }])
  return { sessionId, request: { ...request, client_metadata: encryptionMetadata(encryptionKey) } }
}

const token = (path: (session: string) => string): Target => ({
  name: `issuer POST ${path('{session_id}')}`,
  make: async (services) => {
    const { sessionId: session, id } = await startIssuance(services)
    const code = await codeOf(services, session)
    const details = JSON.stringify([{ type: 'openid_credential', credential_configuration_id: id }])
    const fields = { grant_type: GRANT, 'pre-authorized_code': code, authorization_details: details }
    const body = { form: new URLSearchParams(fields).toString() }
    return { service: 'issuer', method: 'POST', path: path(session), headers: form, body }
  },
})

async function queryId(services: Services): Promise<string> {
  const url = `${VERIFIER_URL}/dcql-query/create`
  return (await services.fetch(url, { method: 'POST', headers: json, body: JSON.stringify(dcqlQuery) })).text()
}

/** The key is that of the example in OpenID4VP 1.0, Encrypted Responses. */
const walletMetadata = {
  vp_formats_supported: { 'vc+sd-jwt': {} },
  jwks: {
    keys: [
      {
        kty: 'EC',
        crv: 'P-256',
        x: 'YO4epjifD-KWeq1sL2tNmm36BhXnkJ0He-WqMYrp9Fk',
        y: 'Hekpm0zfK7C-YccH5iBjcIXgf6YdUvNUac_0At55Okk',
        alg: 'ECDH-ES',
        kid: 'ac',
      },
    ],
  },
}

const newVerification: Target = {
  name: 'verifier POST /presentation/oid4vp/new-session',
  make: async (services) => {
    const value = {
      verification_query_id: await queryId(services),
      expires_in: 60,
      redirect_uri: 'https://shop.example/done?order=1',
      request_uri_method: 'post',
      transaction_data: [{ type: 'payment', credential_ids: ['card'], transaction_data_hashes_alg: ['sha-256'] }],
    }
    return post('verifier', '/presentation/oid4vp/new-session', value)
  },
}

const documents = ['openid-credential-issuer', 'oauth-authorization-server'].flatMap((document) => [
  fixed(get('issuer', `/.well-known/${document}`)),
  ofSession(`issuer GET /.well-known/${document}/{session_id}`, (id) =>
    get('issuer', `/.well-known/${document}/${id}`),
  ),
  ofSession(`issuer GET /{session_id}/.well-known/${document}`, (id) =>
    get('issuer', `/${id}/.well-known/${document}`),
  ),
])

const richQuery = {
  credentials: [
    ...dcqlQuery.credentials,
    {
      id: 'other',
      format: 'vc+sd-jwt',
      multiple: true,
      require_cryptographic_holder_binding: true,
      trusted_authorities: [{ type: 'aki', values: ['AAAA'] }],
      claims: [
        { id: 'a', path: ['credentialSubject', 'degrees', null], values: ['BSc', 1, true] },
        { id: 'b', path: ['credentialSubject', 'degrees', 0] },
      ],
      claim_sets: [['a'], ['b']],
    },
  ],
  credential_sets: [{ options: [['card'], ['other']], required: false }],
}

export const targets: readonly Target[] = [
  // First, while there are few configurations to list.
  ...documents,
  fixed(
    post('issuer', '/credential-configuration/create', {
      ...configuration,
      scope: 'student',
      selective_disclosure: [['credentialSubject', 'degrees', null]],
      validity_seconds: 60,
      batch_size: 1,
      revocable: false,
    }),
  ),
  {
    name: 'issuer GET /credential-configuration/{id}',
    make: async (services) => get('issuer', `/credential-configuration/${await declare(services)}`, authorization),
  },
  {
    name: 'issuer POST /credential-configuration/remove/{id}',
    make: async (services) => post('issuer', `/credential-configuration/remove/${await declare(services)}`, {}),
  },
  {
    name: 'issuer POST /issuance/oid4vci/new-session',
    make: async (services) =>
      post('issuer', '/issuance/oid4vci/new-session', {
        credential_dataset: dataset,
        credential_configurations: [await declare(services)],
        expires_in: 60,
      }),
  },
  ofSession('issuer GET /issuance/oid4vci/status/{session_id}', (id) =>
    get('issuer', `/issuance/oid4vci/status/${id}`, authorization),
  ),
  ofSession('issuer GET /issuance/oid4vci/credential-offer/{session_id}', (id) =>
    get('issuer', `/issuance/oid4vci/credential-offer/${id}`),
  ),
  fixed(get('issuer', '/auth/.well-known/jwks')),
  fixed(post('issuer', '/issuance/oid4vci/nonce', {})),
  ofSession('issuer POST /issuance/oid4vci/nonce/{session_id}', (id) =>
    post('issuer', `/issuance/oid4vci/nonce/${id}`, {}),
  ),
  token(() => '/auth/token-endpoint'),
  token((session) => `/auth/token-endpoint/${session}`),
  credentialRequest,
  ...(['issuer', 'verifier'] as const).flatMap((service) =>
    ['/openapi', '/health/live', '/health/ready'].map((path) => fixed(get(service, path))),
  ),
  fixed(post('verifier', '/verification-query/create', { dcql_query: richQuery })),
  fixed(post('verifier', '/dcql-query/create', richQuery)),
  {
    name: 'verifier POST /verification-query/simulate',
    make: async (services) => {
      const credential = await issueCredential(services, await holderSigner())
      const claims = { type: 'StudentCard', ...dataset }
      return post('verifier', '/verification-query/simulate', {
        dcql_query: richQuery,
        credentials: [credential, { format: 'vc+sd-jwt', credential }, { format: 'jwt_vc_json-ld', claims }],
      })
    },
  },
  {
    name: 'verifier GET /verification-query/{id}',
    make: async (services) => get('verifier', `/verification-query/${await queryId(services)}`, authorization),
  },
  newVerification,
  {
    name: 'verifier GET /presentation/oid4vp/status/{session_id}',
    make: async (services) =>
      get('verifier', `/presentation/oid4vp/status/${(await startVerification(services)).sessionId}`, authorization),
  },
  {
    name: 'verifier GET /presentation/oid4vp/authorization-request/{session_id}',
    make: async (services) =>
      get('verifier', `/presentation/oid4vp/authorization-request/${(await startVerification(services)).sessionId}`),
  },
  {
    name: 'verifier POST /presentation/oid4vp/authorization-request/{session_id}',
    make: async (services) => {
      const path = `/presentation/oid4vp/authorization-request/${(await startVerification(services)).sessionId}`
      const fields = { wallet_nonce: 'qPmxiNFCR3QTm19POc8u', wallet_metadata: JSON.stringify(walletMetadata) }
      const body = { form: new URLSearchParams(fields).toString() }
      return { service: 'verifier', method: 'POST', path, headers: form, body }
    },
  },
  authorizationResponse,
  encryptedAuthorizationResponse,
]
