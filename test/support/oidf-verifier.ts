/** The wallet of the OpenID Foundation's conformance suite, as its modules for verifiers play it: from the link on. */
import { createHash, createPublicKey } from 'node:crypto'
import { CompactEncrypt, importJWK, type JWK } from 'jose'
import type { Static } from 'typebox'
import { expect } from 'vitest'
import { isObject, type Json, type JsonObject, memberOf } from '../../src/codec/json.ts'
import { type Jws, readJws } from '../../src/codec/jws.ts'
import { parseCertificate } from '../../src/keys/certificate.ts'
import { isJwsSignedBy } from '../../src/keys/signature.ts'
import type { Signer } from '../../src/keys/signer.ts'
import type { VerificationSessionStatus } from '../../src/verifier/report-schemas.ts'
import { type Bound, type DrivenFormat, mistakes, shannonBits } from './oidf-formats.ts'
import { credentialIn, credentialResponse, HTTPS_VERIFIER, textOf, walletWithToken } from './oidf-issuer.ts'
import type { Services } from './services.ts'
import { call, postForm } from './wire.ts'

/** A credential of ours, the key it is bound to, and the URL of its issuer, which ends in the id of the session. */
export interface HeldByWallet {
  readonly credential: unknown
  readonly holder: Signer
  readonly issuer: string
}

export interface PlayedRequest {
  readonly services: Services
  readonly driven: DrivenFormat
  readonly sessionId: string
  readonly link: URL
  readonly jws: Jws
  readonly request: JsonObject
}

export async function heldCredential(services: Services, driven: DrivenFormat): Promise<HeldByWallet> {
  const wallet = await walletWithToken(services, driven)
  const credential = await credentialIn(await credentialResponse(wallet))
  return { credential, holder: wallet.holder, issuer: textOf(wallet.offer, 'credential_issuer') }
}

/** Makes a new session of the application, and fetches its request as the wallet does. */
export async function ask(services: Services, driven: DrivenFormat, more: JsonObject = {}): Promise<PlayedRequest> {
  const created = await call(services, `${HTTPS_VERIFIER}/dcql-query/create`, driven.dcqlQuery)
  expect(created.status).toBe(201)
  const started = await call(services, `${HTTPS_VERIFIER}/presentation/oid4vp/new-session`, {
    verification_query_id: await created.text(),
    ...more,
  })
  const session = (await started.json()) as JsonObject
  const link = new URL(textOf(session, 'request_uri'))
  const jws = await fetchRequest(services, link)
  return { services, driven, sessionId: textOf(session, 'session_id'), link, jws, request: jws.payload }
}

/** Fetches the request object, by POST where there is a form. */
export async function fetchRequest(services: Services, link: URL, form?: Record<string, string>): Promise<Jws> {
  const url = link.searchParams.get('request_uri') ?? ''
  expect(url).toMatch(/^https:\/\//)
  const response = form === undefined ? await services.fetch(url) : await postForm(services, url, form)
  expect(response.status).toBe(200)
  expect(response.headers.get('content-type')).toMatch(/^application\/oauth-authz-req\+jwt\b/)
  expect(response.headers.get('cache-control')).toBe('no-store')
  return readJws(await response.text())
}

/** Returns the mistakes that the suite finds in the link and the request object. */
export function requestMistakes({ link, jws, driven, services, request }: PlayedRequest): readonly string[] {
  const now = services.clock.now.getTime() / 1000
  const { x5c } = jws.header as Record<string, readonly string[] | undefined>
  const leaf = Buffer.from(x5c?.[0] ?? '', 'base64')
  const key = parseCertificate(leaf).publicKey
  const hash = createHash('sha256').update(leaf).digest('base64url')
  const metadata = request.client_metadata as JsonObject
  return [
    ...mistakes({
      'the link has nothing else in it': [...link.searchParams.keys()].every((name) => LINK.includes(name)),
      'typ is that of a request object': jws.header.typ === 'oauth-authz-req+jwt',
      'alg is ES256': jws.header.alg === 'ES256',
      'the leaf of x5c signed': isJwsSignedBy(jws, createPublicKey(key.export({ type: 'spki', format: 'pem' }))),
      'client_id is the hash of the leaf': request.client_id === `x509_hash:${hash}`,
      'client_id is that of the link': request.client_id === link.searchParams.get('client_id'),
      'there is no client_id_scheme, as drafts had': !Object.hasOwn(request, 'client_id_scheme'),
      'response_type is vp_token': request.response_type === 'vp_token',
      'response_uri is https': textOf(request, 'response_uri').startsWith('https://'),
      'there is no redirect_uri beside it': !Object.hasOwn(request, 'redirect_uri'),
      'aud is that of static discovery': request.aud === 'https://self-issued.me/v2',
      'iat is a time, and not in the future': typeof request.iat === 'number' && request.iat <= now,
      'exp is in the future': typeof request.exp === 'number' && request.exp > now,
      'nonce has the characters of a URL, and entropy': isUnguessable(request.nonce),
      'state has the characters of a URL, and entropy': isUnguessable(request.state),
      'dcql_query is what was asked': JSON.stringify(request.dcql_query) === JSON.stringify(driven.dcqlQuery),
      'there is no other query': !Object.hasOwn(request, 'scope') && !Object.hasOwn(request, 'presentation_definition'),
      'vp_formats_supported names the format': isObject(memberOf(metadata.vp_formats_supported, driven.format)),
    }),
    ...(request.response_mode === 'direct_post.jwt' ? encryptionMistakes(request) : []),
  ]
}

const LINK = ['client_id', 'request_uri', 'request_uri_method']

function isUnguessable(value: unknown): boolean {
  return typeof value === 'string' && /^[\w.~-]+$/.test(value) && shannonBits(value) > 72 && value.length >= 22
}

function encryptionMistakes(request: JsonObject): readonly string[] {
  const keys = encryptionKeys(request)
  const metadata = request.client_metadata as JsonObject
  return mistakes({
    'there is a key to encrypt to': keys.length > 0,
    'every key has its own kid':
      new Set(keys.map(({ kid }) => kid)).size === keys.length && keys.every(({ kid }) => kid),
    'every key is for ECDH-ES encryption': keys.every(({ alg, use }) => alg === 'ECDH-ES' && use === 'enc'),
    'no key is private': keys.every((key) => !Object.hasOwn(key, 'd')),
    'A128GCM and A256GCM are there': ['A128GCM', 'A256GCM'].every((enc) =>
      (metadata.encrypted_response_enc_values_supported as Json[]).includes(enc),
    ),
  })
}

/** Returns the keys for an encrypted response; none where the response is not encrypted. */
export function encryptionKeys({ client_metadata: metadata }: JsonObject): readonly JsonObject[] {
  const { jwks } = metadata as Record<string, JsonObject | undefined>
  return (jwks?.keys ?? []) as readonly JsonObject[]
}

/** Presents everything in the credential, as the request asks: in a form, or encrypted in one. */
export async function respond(
  played: PlayedRequest,
  held: HeldByWallet,
  changes: Omit<Bound, 'request' | 'now'> = {},
): Promise<Response> {
  const { services, request, driven } = played
  const bound = { request, now: services.clock.now, ...changes }
  const presentation = await driven.present(held.credential, held.holder, bound)
  const [query] = driven.dcqlQuery.credentials
  const token = { [textOf(query as JsonObject, 'id')]: [presentation] }
  const state = textOf(request, 'state')
  const form =
    request.response_mode === 'direct_post.jwt'
      ? { response: await encryptPayload(request, { vp_token: token, state }) }
      : { vp_token: JSON.stringify(token), state }
  return postForm(services, textOf(request, 'response_uri'), { ...form, unknown: 'parameter' })
}

/** Encrypts to the key of the request with the packages of others. OpenID4VP 1.0, Encrypted Responses. */
async function encryptPayload(request: JsonObject, payload: JsonObject): Promise<string> {
  const [jwk] = encryptionKeys(request)
  return new CompactEncrypt(new TextEncoder().encode(JSON.stringify(payload)))
    .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A128GCM', kid: textOf(jwk as JsonObject, 'kid') })
    .encrypt(await importJWK(jwk as JWK, 'ECDH-ES'))
}

/** Expects 200 and a JSON object in which nothing stands but where to go. */
export async function expectAccepted(response: Response): Promise<void> {
  const body = (await response.json()) as JsonObject
  expect([response.status, Object.keys(body).filter((name) => name !== 'redirect_uri')]).toEqual([200, []])
  expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
}

/**
 * Expects a refusal, and that the report names what was wrong: the one check that failed, with its reason. With 4xx the
 * suite is content at once, without a picture of what the user saw.
 */
export async function expectRejected(
  { services, sessionId }: PlayedRequest,
  response: Response,
  [check, reason]: readonly [check: string, reason: RegExp],
): Promise<void> {
  const body = (await response.json()) as JsonObject
  expect([response.status, typeof body.error]).toEqual([400, 'string'])
  const answer = await call(services, `${HTTPS_VERIFIER}/presentation/oid4vp/status/${sessionId}`)
  const status = (await answer.json()) as Static<typeof VerificationSessionStatus>
  expect(status).toMatchObject({ status: 'VERIFICATION_FAILED', result: { verified: false } })
  const { checks = [], credentials = {} } = status.result ?? {}
  const all = [...checks, ...Object.values(credentials).flatMap((each) => each.flatMap((report) => report.checks))]
  const failed = all.filter(({ outcome }) => outcome === 'failed').map(({ id, detail }) => [id, detail])
  expect(failed).toEqual([[check, expect.stringMatching(reason)]])
}
