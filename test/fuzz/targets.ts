/** A right request for every endpoint of both services, from which the mutations start. */
import { randomBytes } from 'node:crypto'
import { type Json, type JsonObject, parseJsonObject, stringMemberOf } from '../../src/codec/json.ts'
import { writeJws } from '../../src/codec/jws.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { makePrivateJwk } from '../../src/keys/private-jwk.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { ISO_MDOC } from '../../src/protocol/iso-mdoc.ts'
import { responseEncryptionMetadata } from '../../src/verifier/response-encryption.ts'
import { attestationOf, makeAttester } from '../support/attestation.ts'
import { asRequestObject, fetchPageRequest, ORIGIN, SIGNED, startPageSession } from '../support/digital-credentials.ts'
import { boundSession, type DpopParts, dpopNonce, dpopProof } from '../support/dpop.ts'
import { encryptedRequest, encryptedResponse } from '../support/encryption.ts'
import { encryptDeviceResponse } from '../support/iso-mdoc.ts'
import { requestOf, TOKEN_ENDPOINT } from '../support/issuance.ts'
import { bindingOf, mdocDataset, mdocProfile, mdocQuery } from '../support/mdoc.ts'
import { type Profile, profiles, queryFor, usualProfile } from '../support/profiles.ts'
import { ISSUER_URL, type Services, VERIFIER_URL } from '../support/services.ts'
import { issueWithStatus } from '../support/status.ts'
import {
  authorization,
  bindingTo,
  call,
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
  postForm,
  presentationOf,
  redeem,
  requestCredential,
  startIssuance,
  startVerification,
} from '../support/wire.ts'
import { mutateJson, mutateStructured, pick, type Random } from './mutate.ts'
import { codeFlowTargets } from './targets-code-flow.ts'

export interface FuzzRequest {
  readonly service: 'issuer' | 'verifier'
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: { readonly json: Json } | { readonly form: string } | { readonly text: string }
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

function fixedTarget(request: FuzzRequest): Target {
  return { name: `${request.service} ${request.method} ${request.path}`, make: () => Promise.resolve(request) }
}

/** The maker of wallets, whom nobody trusts: its attestations are verified all the same. */
const attester = makeAttester()

/** Makes a proof whose header, payload or key attestation was changed before it was signed, every second time. */
async function proofFor(services: Services, holder: Signer, session: string, random: Random): Promise<string> {
  const { now } = services.clock
  const nonce = await fetchNonce(services, session)
  const attestation = random(2) === 0 ? {} : { key_attestation: await attestationFor(holder, { now, nonce }, random) }
  const parts = { holder, nonce, audience: `${ISSUER_URL}/${session}`, header: attestation }
  const jwt = await keyProof(parts, now)
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

async function attestationFor(holder: Signer, { now, nonce }: { now: Date; nonce: string }, random: Random) {
  const payload = { nonce, attested_keys: [{ ...holder.jwk }] }
  const changed = random(2) === 0 ? payload : (mutateJson(random, payload) as JsonObject)
  return attestationOf(await attester, [], now, { payload: changed })
}

/** Makes the request of a wallet, with its token. */
async function askFor(services: Services, random: Random) {
  const { sessionId, id } = await startIssuance(services)
  const [token, holder] = [await redeem(services, sessionId), await holderSigner()]
  const jwt = await proofFor(services, holder, sessionId, random)
  const proof = random(2) === 0 ? { proof: { proof_type: 'jwt', jwt } } : { proofs: { jwt: [jwt] } }
  const { format, credential_definition: definition } = configuration
  const kind = random(2) === 0 ? { credential_configuration_id: id } : { format, credential_definition: definition }
  return { sessionId, authorized: { ...json, authorization: `Bearer ${token}` }, body: { ...kind, ...proof } }
}

const credentialRequest: Target = {
  name: 'issuer POST /issuance/oid4vci/credential-request',
  make: async (services, random) => {
    const { authorized, body } = await askFor(services, random)
    return { ...post('issuer', '/issuance/oid4vci/credential-request', body), headers: authorized }
  },
}

const encryptedCredentialRequest: Target = {
  name: 'issuer POST /issuance/oid4vci/credential-request, encrypted',
  make: async (services, random) => {
    const { sessionId, authorized, body } = await askFor(services, random)
    const metadata = await services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer/${sessionId}`)
    const request = {
      ...body,
      credential_response_encryption: { jwk: walletMetadata.jwks.keys[0] ?? {}, enc: 'A128GCM' },
    }
    // Nothing reaches what lies behind the decryption by changing the JWE itself.
    const members = random(3) === 0 ? request : mutateJson(random, request)
    const zip = random(2) === 0 ? {} : { zip: 'DEF' }
    const header = { enc: 'A256GCM', ...zip }
    const text = await encryptedRequest((await metadata.json()) as JsonObject, JSON.stringify(members), header)
    const headers = { ...authorized, 'content-type': 'application/jwt' }
    return { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/credential-request', headers, body: { text } }
  },
}

/** Requests a credential, and returns a member of the answer. */
async function requestMember(services: Services, session: Record<string, unknown>, member: string) {
  const { sessionId, id } = await startIssuance(services, session)
  const [token, holder] = [await redeem(services, sessionId), await holderSigner()]
  const nonce = await fetchNonce(services, sessionId)
  const proof = await keyProof({ holder, nonce, audience: `${ISSUER_URL}/${sessionId}` }, services.clock.now)
  const body = { credential_configuration_id: id, proofs: { jwt: [proof] } }
  const answer = (await (await requestCredential(services, token, body)).json()) as JsonObject
  return { sessionId, value: answer[member] ?? null, headers: { ...json, authorization: `Bearer ${token}` } }
}

const later = { credential_dataset: undefined, deferred: true }

/** Every second session has its data by now. */
const deferredRequest: Target = {
  name: 'issuer POST /issuance/oid4vci/deferred-credential',
  make: async (services, random) => {
    const { sessionId, value, headers } = await requestMember(services, later, 'transaction_id')
    if (random(2) === 0) {
      await call(services, `${ISSUER_URL}/issuance/oid4vci/complete/${sessionId}`, { credential_dataset: dataset })
    }
    return { ...post('issuer', '/issuance/oid4vci/deferred-credential', { transaction_id: value }), headers }
  },
}

function notification(path: (session: string) => string): Target {
  return {
    name: `issuer POST ${path('{session_id}')}`,
    make: async (services) => {
      const { sessionId, value, headers } = await requestMember(services, {}, 'notification_id')
      const body = { notification_id: value, event: 'credential_failure', event_description: 'Out of storage.' }
      return { ...post('issuer', path(sessionId), body), headers }
    },
  }
}

/** The credentials of a holder, one of each format, issued once. */
const held = new WeakMap<Services, Map<string, Promise<{ readonly credential: string; readonly holder: Signer }>>>()

function heldOf(services: Services, profile: Profile) {
  const all = held.get(services) ?? new Map<string, ReturnType<typeof issueOnce>>()
  held.set(services, all)
  const issued = all.get(profile.format) ?? issueOnce(services, profile)
  all.set(profile.format, issued)
  return issued
}

async function issueOnce(services: Services, { format, configuration: posted }: Profile) {
  const holder = await holderSigner()
  const data = format === 'mso_mdoc' ? mdocDataset : dataset
  return { holder, credential: await issueCredential(services, holder, posted, data) }
}

const authorizationResponse: Target = {
  name: 'verifier POST /presentation/oid4vp/authorization-response/{session_id}',
  make: async (services, random) => {
    const profile = pick(random, profiles)
    const { credential, holder } = await heldOf(services, profile)
    const { request } = await startVerification(services, { credentials: [queryFor(profile)] })
    const terms = { now: services.clock.now, places: [[...profile.root, 'given_name']], format: profile.format }
    const presentation = await presentationOf(credential, holder, request, terms)
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
    const { sessionId, request, presentation } = await (random(2) === 0 ? ofCard(services) : ofMdoc(services, random))
    const answer = { vp_token: { card: [presentation] }, state: request.state }
    // Nothing reaches what lies behind the decryption by changing the JWE itself.
    const members = random(2) === 0 ? answer : mutateJson(random, answer)
    const fields = { response: await encryptedResponse(request, members), state: request.state }
    const path = `/presentation/oid4vp/encrypted-authorization-response/${sessionId}`
    const body = { form: new URLSearchParams(fields).toString() }
    return { service: 'verifier', method: 'POST', path, headers: form, body }
  },
}

const digitalCredential: Target = {
  name: 'verifier POST /presentation/oid4vp/digital-credentials/{session_id}',
  make: async (services, random) => {
    const profile = pick(random, profiles)
    const { credential, holder } = await heldOf(services, profile)
    const page = await startPageSession(services, { credentials: [queryFor(profile)] })
    const request = asRequestObject((await fetchPageRequest(services, page)).unsigned)
    const terms = { now: services.clock.now, places: [[...profile.root, 'given_name']], format: profile.format }
    const answer = { vp_token: { card: [await presentationOf(credential, holder, request, terms)] } }
    const members = random(2) === 0 ? answer : mutateJson(random, answer)
    const data = random(10) === 0 ? { error: 'access_denied' } : { response: await encryptedResponse(request, members) }
    return post('verifier', new URL(page.digital_credentials_uri).pathname, { protocol: SIGNED, data })
  },
}

/** Changes a DeviceResponse before it is encrypted, or what it is encrypted into, every second time. */
const isoMdocCredential: Target = {
  name: 'verifier POST /presentation/oid4vp/digital-credentials/{session_id}, org-iso-mdoc',
  make: async (services, random) => {
    const { credential, holder } = await heldOf(services, mdocProfile)
    const page = await startPageSession(services, mdocQuery)
    const { body } = await fetchPageRequest(services, page)
    const entry = body.digital.requests.find(({ protocol }) => protocol === ISO_MDOC)
    const recipient = { origin: ORIGIN, encryptionInfo: stringMemberOf(entry?.data, 'encryptionInfo') ?? '' }
    const binding = { ...bindingTo('', '', services.clock.now), recipient }
    const presentation = (await formatOf('mso_mdoc')?.present(credential, [[]], binding, holder)) ?? ''
    const deviceResponse = changeBytes(random, Buffer.from(presentation, 'base64url'))
    const encrypted = encryptDeviceResponse(deviceResponse, recipient.encryptionInfo, recipient)
    const response = random(4) === 0 ? mutateStructured(random, encrypted) : encrypted
    return post('verifier', new URL(page.digital_credentials_uri).pathname, { protocol: ISO_MDOC, data: { response } })
  },
}

async function ofCard(services: Services) {
  const { credential, holder } = await heldOf(services, usualProfile)
  const session = await encryptedSession(services)
  return { ...session, presentation: await presentationOf(credential, holder, session.request, services.clock) }
}

/** Changes a bit, or takes a piece away, every second time. */
function changeBytes(random: Random, bytes: Buffer): Buffer {
  if (random(2) === 0) return bytes
  const at = random(bytes.length)
  bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8))
  return random(4) === 0 ? bytes.subarray(0, at) : bytes
}

async function ofMdoc(services: Services, random: Random) {
  const { credential, holder } = await heldOf(services, mdocProfile)
  const [usual] = mdocQuery.credentials
  const session = await startVerification(services, { credentials: [{ ...usual, id: 'card' }] })
  const binding = bindingOf(session.request, services.clock.now)
  const presentation = (await formatOf('mso_mdoc')?.present(credential, [[]], binding, holder)) ?? ''
  const bytes = changeBytes(random, Buffer.from(presentation, 'base64url'))
  return { ...session, presentation: bytes.toString('base64url') }
}

/** Starts a session of the usual query, with the response mode of one that asks for an mdoc. */
async function encryptedSession({ verifierStore, ...services }: Services) {
  const { sessionId, request } = await startVerification({ verifierStore, ...services })
  const row = await verifierStore.get('verification_session', sessionId)
  if (row === undefined) throw new Error('no session')
  const encryptionKey = makePrivateJwk(randomBytes)
  const value = { ...row.value, responseMode: 'direct_post.jwt', encryptionKey } as const
  await verifierStore.commit([{ update: 'verification_session', id: sessionId, version: row.version, value }])
  return { sessionId, request: { ...request, client_metadata: responseEncryptionMetadata(encryptionKey) } }
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

/** Changes the content of a proof, which is signed, as often as the proof that is sent. */
async function changedProof(parts: DpopParts, random: Random): Promise<string> {
  const [header, payload] = readProof(await dpopProof(parts))
  const changed = random(3)
  return writeJws(
    changed === 1 ? (mutateJson(random, header) as JsonObject) : header,
    changed === 2 ? (mutateJson(random, payload) as JsonObject) : payload,
    (data) => parts.key.sign(data),
  )
}

function readProof(jwt: string): readonly [JsonObject, JsonObject] {
  const [header, payload] = jwt.split('.').map((part, index) => (index < 2 ? parseJsonObject(decoded(part)) : {}))
  return [header ?? {}, payload ?? {}]
}

const decoded = (part: string): string => Buffer.from(part, 'base64url').toString()

async function refreshToken(services: Services): Promise<Readonly<Record<string, string>>> {
  const { sessionId } = await startIssuance(services, { refresh_seconds: 600 })
  const fields = { grant_type: GRANT, 'pre-authorized_code': await codeOf(services, sessionId) }
  const answer = (await (await postForm(services, TOKEN_ENDPOINT, fields)).json()) as Record<string, string>
  return { grant_type: 'refresh_token', refresh_token: answer.refresh_token ?? '' }
}

async function codeWithTxCode(services: Services): Promise<Readonly<Record<string, string>>> {
  const { sessionId } = await startIssuance(services, { tx_code: { value: '493536' } })
  return { grant_type: GRANT, 'pre-authorized_code': await codeOf(services, sessionId), tx_code: '493536' }
}

/** The targets of each grant, and what goes with it: a transaction code, a DPoP proof. */
const grants: readonly Target[] = [
  { name: 'refresh token', fields: refreshToken, isBound: false },
  { name: 'transaction code', fields: codeWithTxCode, isBound: false },
  { name: 'refresh token and DPoP proof', fields: refreshToken, isBound: true },
  { name: 'transaction code and DPoP proof', fields: codeWithTxCode, isBound: true },
].map(({ name, fields, isBound }) => ({
  name: `issuer POST /auth/token-endpoint, ${name}`,
  make: async (services, random) => {
    const body = { form: new URLSearchParams(await fields(services)).toString() }
    const parts = { services, key: await holderSigner(), url: TOKEN_ENDPOINT, nonce: await dpopNonce(services) }
    const headers = isBound ? { ...form, dpop: await changedProof(parts, random) } : form
    return { service: 'issuer', method: 'POST', path: '/auth/token-endpoint', headers, body }
  },
}))

/** The targets with a bound token, at each of the endpoints that take one. */
const boundRequests: readonly Target[] = ['credential-request', 'deferred-credential', 'notification'].map((name) => ({
  name: `issuer POST /issuance/oid4vci/${name}, DPoP`,
  make: async (services, random) => {
    const ready = await boundSession(services)
    const path = `/issuance/oid4vci/${name}`
    const bodies: Record<string, Json> = {
      'credential-request': (await requestOf(ready)) as Json,
      'deferred-credential': { transaction_id: 'a' },
      notification: { notification_id: 'a', event: 'credential_accepted' },
    }
    const { key, dpop: nonce, token } = ready
    const dpop = await changedProof({ services, key, url: `${ISSUER_URL}${path}`, nonce, token }, random)
    const headers = { 'content-type': 'application/json', authorization: `DPoP ${token}`, dpop }
    return { service: 'issuer', method: 'POST', path, headers, body: { json: bodies[name] ?? {} } }
  },
}))

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
  fixedTarget(get('issuer', `/.well-known/${document}`)),
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
  // The documents come first, while there are few configurations to list.
  ...documents,
  fixedTarget(
    post('issuer', '/credential-configuration/create', {
      ...configuration,
      scope: 'student',
      selective_disclosure: [['credentialSubject', 'degrees', null]],
      validity_seconds: 60,
      batch_size: 1,
      revocable: true,
      status: 'bitstring',
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
  {
    name: 'issuer POST /issuance/oid4vci/new-session, deferred',
    make: async (services) => {
      const value = {
        deferred: true,
        credential_configurations: [await declare(services)],
        'pre-authorized_code': randomBytes(16).toString('hex'),
        tx_code: { value: 'Größe-7!', input_mode: 'text', length: 8, description: 'It is in the letter' },
        refresh_seconds: 600,
      }
      const request = post('issuer', '/issuance/oid4vci/new-session', value)
      return { ...request, headers: { ...request.headers, 'idempotency-key': randomBytes(8).toString('hex') } }
    },
  },
  ofSession('issuer GET /issuance/oid4vci/status/{session_id}', (id) =>
    get('issuer', `/issuance/oid4vci/status/${id}`, authorization),
  ),
  // The stream of a session that is there has no end.
  fixedTarget(get('issuer', '/issuance/oid4vci/events/none', authorization)),
  fixedTarget(get('issuer', '/issuance/oid4vci/sessions?status=STARTED&limit=9', authorization)),
  fixedTarget(get('issuer', '/callbacks/waiting?limit=9', authorization)),
  fixedTarget(get('issuer', '/callbacks/dead?limit=9', authorization)),
  fixedTarget(post('issuer', '/callbacks/redeliver', { died_until: 1 })),
  fixedTarget(post('issuer', '/callbacks/redeliver/none', {})),
  fixedTarget(get('issuer', '/audit/records?limit=9', authorization)),
  fixedTarget(get('issuer', '/audit/verification?from=start', authorization)),
  ...['revoke', 'suspend', 'reinstate'].map((act) => ({
    name: `issuer POST /credential-status/${act}/{session_id}`,
    make: async (services: Services) =>
      post('issuer', `/credential-status/${act}/${(await issueWithStatus(services)).sessionId}`, {}),
  })),
  ...['', '/revocation', '/suspension'].map((purpose) => ({
    name: `issuer GET /status-list/{list_id}${purpose}`,
    make: async (services: Services) =>
      get('issuer', `${new URL((await issueWithStatus(services)).status.uri).pathname}${purpose}`, {
        accept: 'application/statuslist+cwt, */*;q=0.1',
        'if-none-match': 'W/"1.2.jwt"',
        'accept-encoding': 'gzip',
      }),
  })),
  ofSession('issuer GET /issuance/oid4vci/credential-offer/{session_id}', (id) =>
    get('issuer', `/issuance/oid4vci/credential-offer/${id}`),
  ),
  fixedTarget(get('issuer', '/auth/.well-known/jwks')),
  fixedTarget(get('issuer', '/issuer-ca.crl')),
  fixedTarget(post('issuer', '/issuance/oid4vci/nonce', {})),
  ofSession('issuer POST /issuance/oid4vci/nonce/{session_id}', (id) =>
    post('issuer', `/issuance/oid4vci/nonce/${id}`, {}),
  ),
  token(() => '/auth/token-endpoint'),
  token((session) => `/auth/token-endpoint/${session}`),
  ...grants,
  ...codeFlowTargets,
  credentialRequest,
  encryptedCredentialRequest,
  deferredRequest,
  ...boundRequests,
  notification(() => '/issuance/oid4vci/notification'),
  notification((session) => `/issuance/oid4vci/notification/${session}`),
  {
    name: 'issuer POST /issuance/oid4vci/complete/{session_id}',
    make: async (services) => {
      const { sessionId } = await startIssuance(services, later)
      return post('issuer', `/issuance/oid4vci/complete/${sessionId}`, { credential_dataset: dataset })
    },
  },
  {
    name: 'issuer POST /issuance/oid4vci/complete/{session_id}, denied',
    make: async (services) => {
      const { sessionId } = await startIssuance(services, later)
      return post('issuer', `/issuance/oid4vci/complete/${sessionId}`, { denied: true, reason: 'Not yet.' })
    },
  },
  ...(['issuer', 'verifier'] as const).flatMap((service) =>
    ['/openapi', '/health/live', '/health/ready'].map((path) => fixedTarget(get(service, path))),
  ),
  fixedTarget(post('verifier', '/verification-query/create', { dcql_query: richQuery })),
  fixedTarget(post('verifier', '/dcql-query/create', richQuery)),
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
    name: 'verifier POST /presentation/oid4vp/static-presentation',
    make: async (services) => {
      const [holder, now] = [await holderSigner(), services.clock.now]
      const credential = await issueCredential(services, holder)
      const request = { nonce: 'n', client_id: 'a', state: '', response_uri: '' }
      return post('verifier', '/presentation/oid4vp/static-presentation', {
        dcql_query: dcqlQuery,
        vp_token: { card: [await presentationOf(credential, holder, request, { now })] },
        nonce: 'n',
        audience: 'a',
      })
    },
  },
  {
    name: 'verifier GET /presentation/oid4vp/status/{session_id}',
    make: async (services) =>
      get('verifier', `/presentation/oid4vp/status/${(await startVerification(services)).sessionId}`, authorization),
  },
  fixedTarget(get('verifier', '/presentation/oid4vp/events/none', authorization)),
  fixedTarget(get('verifier', '/presentation/oid4vp/sessions?status=STARTED&limit=9', authorization)),
  fixedTarget(get('verifier', '/callbacks/waiting?limit=9', authorization)),
  fixedTarget(get('verifier', '/callbacks/dead?limit=9', authorization)),
  fixedTarget(post('verifier', '/callbacks/redeliver', { died_until: 1 })),
  fixedTarget(post('verifier', '/callbacks/redeliver/none', {})),
  fixedTarget(get('verifier', '/audit/records?limit=9', authorization)),
  fixedTarget(get('verifier', '/audit/verification?from=start', authorization)),
  fixedTarget(get('verifier', '/trust-anchors', authorization)),
  {
    name: 'verifier POST /trust-anchors/test',
    make: ({ files }) =>
      Promise.resolve(post('verifier', '/trust-anchors/test', { certificates: files.get('issuer.pem') ?? '' })),
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
  digitalCredential,
  isoMdocCredential,
]
