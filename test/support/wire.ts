/**
 * Single steps of both protocols, as a wallet and an integrating application do them, for tests that change one thing.
 */

import { hash } from 'node:crypto'
import type { JsonObject } from '../../src/codec/json.ts'
import { writeJws } from '../../src/codec/jws.ts'
import type { ClaimPosition } from '../../src/codec/sd-jwt.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { toDidJwk } from '../../src/keys/did.ts'
import { createSigner } from '../../src/keys/file-signer.ts'
import type { Algorithm } from '../../src/keys/signature.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { PRE_AUTHORIZED_GRANT } from '../../src/protocol/grant-types.ts'
import { API_KEY, ISSUER_URL, makeKey, type Services, VERIFIER_URL } from './services.ts'

export const GRANT = PRE_AUTHORIZED_GRANT

export const configuration = {
  format: 'jwt_vc_json-ld',
  credential_definition: {
    '@context': ['https://www.w3.org/ns/credentials/v2'],
    type: ['VerifiableCredential', 'StudentCard'],
  },
  credential_metadata: {
    display: [{ name: 'Student card', locale: 'en-GB', background_color: '#102030', text_color: '#ffffff' }],
    claims: [{ path: ['credentialSubject', 'given_name'], display: [{ name: 'Given name', locale: 'en-GB' }] }],
  },
}

export const dataset = {
  credentialSubject: {
    given_name: 'Ada',
    family_name: 'Lovelace',
    address: { city: 'London' },
    degrees: ['BSc', 'MSc'],
  },
}

export const dcqlQuery = {
  credentials: [
    {
      id: 'card',
      format: 'jwt_vc_json-ld',
      meta: { type_values: [['VerifiableCredential', 'StudentCard']] },
      claims: [{ path: ['credentialSubject', 'given_name'] }],
    },
  ],
}

export const authorization = { authorization: `Bearer ${API_KEY}` }

export async function holderSigner(algorithm: Algorithm = 'ES256'): Promise<Signer> {
  return createSigner(await makeKey(algorithm), [])
}

/** Calls a service as the integrating application does. */
export async function call(services: Services, url: string, body?: unknown): Promise<Response> {
  return services.fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...authorization, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
}

export async function declare(services: Services, posted: unknown = configuration): Promise<string> {
  const response = await call(services, `${ISSUER_URL}/credential-configuration/create`, posted)
  if (response.status !== 201) throw new Error(await response.text())
  return response.text()
}

export interface StartedService {
  readonly sessionId: string
  readonly link: string
}

export async function startIssuance(
  services: Services,
  body: Record<string, unknown> = {},
): Promise<StartedService & { id: string }> {
  const id = body.credential_configurations === undefined ? await declare(services) : ''
  const response = await call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, {
    credential_dataset: dataset,
    credential_configurations: [id],
    ...body,
  })
  if (response.status !== 200) throw new Error(await response.text())
  const { session_id: sessionId, credential_offer_uri: link } = (await response.json()) as Record<string, string>
  return { sessionId: sessionId ?? '', link: link ?? '', id }
}

export async function codeOf(services: Services, sessionId: string): Promise<string> {
  const offer = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`)
  const { grants } = (await offer.json()) as { grants: Record<string, Record<string, string>> }
  return grants[GRANT]?.['pre-authorized_code'] ?? ''
}

export function postForm(services: Services, url: string, form: Record<string, string> | string): Promise<Response> {
  return services.fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
  })
}

export async function redeem(services: Services, sessionId: string): Promise<string> {
  const code = await codeOf(services, sessionId)
  const form = { grant_type: GRANT, 'pre-authorized_code': code }
  const response = await postForm(services, `${ISSUER_URL}/auth/token-endpoint/${sessionId}`, form)
  return ((await response.json()) as { access_token: string }).access_token
}

export async function fetchNonce(services: Services, sessionId: string): Promise<string> {
  const response = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/nonce/${sessionId}`, { method: 'POST' })
  return ((await response.json()) as { c_nonce: string }).c_nonce
}

export interface ProofParts {
  readonly holder: Signer
  readonly nonce: string
  readonly audience: string
  readonly header?: JsonObject
  readonly payload?: JsonObject
}

/** Makes a key proof; `header` and `payload` overwrite single members (undefined ones fall away in JSON). */
export function keyProof({ holder, nonce, audience, header, payload }: ProofParts, now: Date): Promise<string> {
  return writeJws(
    { typ: 'openid4vci-proof+jwt', alg: holder.alg, kid: `${toDidJwk(holder.jwk)}#0`, ...header },
    { nonce, aud: audience, iat: Math.floor(now.getTime() / 1000), ...payload },
    (data) => holder.sign(data),
  )
}

export function requestCredential(services: Services, token: string, body: unknown): Promise<Response> {
  return services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-request`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

/** Runs the whole issuance, and returns the credential. */
export async function issueCredential(
  services: Services,
  holder: Signer,
  posted: unknown = configuration,
  data: unknown = dataset,
): Promise<string> {
  const id = await declare(services, posted)
  const { sessionId } = await startIssuance(services, { credential_configurations: [id], credential_dataset: data })
  const token = await redeem(services, sessionId)
  const nonce = await fetchNonce(services, sessionId)
  const jwt = await keyProof({ holder, nonce, audience: `${ISSUER_URL}/${sessionId}` }, services.clock.now)
  const response = await requestCredential(services, token, {
    credential_configuration_id: id,
    proof: { proof_type: 'jwt', jwt },
  })
  const body = (await response.json()) as { credentials: { credential: string }[] }
  return body.credentials[0]?.credential ?? JSON.stringify(body)
}

export interface RequestObject {
  readonly client_id: string
  readonly nonce: string
  readonly state: string
  readonly response_uri: string
  readonly response_mode?: string
  readonly transaction_data?: readonly string[]
  readonly wallet_nonce?: string
  readonly client_metadata?: object
}

export async function startVerification(
  services: Services,
  query: unknown = dcqlQuery,
  more: object = {},
): Promise<StartedService & { request: RequestObject }> {
  const created = await call(services, `${VERIFIER_URL}/verification-query/create`, { dcql_query: query })
  if (created.status !== 201) throw new Error(await created.text())
  const response = await call(services, `${VERIFIER_URL}/presentation/oid4vp/new-session`, {
    verification_query_id: await created.text(),
    ...more,
  })
  if (response.status !== 200) throw new Error(await response.text())
  const { session_id: sessionId = '', request_uri: link = '' } = (await response.json()) as Record<string, string>
  return { sessionId, link, request: await fetchRequestObject(services, sessionId) }
}

/** Fetches the request object of a session, and reads it without verifying it. */
export async function fetchRequestObject(services: Services, sessionId: string): Promise<RequestObject> {
  const url = `${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`
  const jwt = await (await services.fetch(url)).text()
  return JSON.parse(Buffer.from(jwt.split('.')[1] ?? '', 'base64url').toString()) as RequestObject
}

/** Returns the binding of a presentation whose format looks at nonce and audience only. */
export function bindingTo(nonce: string, audience: string, at: Date) {
  const recipient = { responseUri: '' }
  return { nonce, audience, recipient, encryptionKeyThumbprint: undefined, transactionData: [], at }
}

/** Makes a presentation of `credential` that shows `places`, for the request. */
export function presentationOf(
  credential: string,
  holder: Signer,
  request: RequestObject,
  at: { readonly now: Date; readonly places?: readonly ClaimPosition[]; readonly format?: string },
): Promise<string> {
  const places = at.places ?? [['credentialSubject', 'given_name']]
  const transactionData = request.transaction_data ?? []
  const binding = { ...bindingTo(request.nonce, request.client_id, at.now), transactionData }
  const format =
    formatOf(at.format ?? 'jwt_vc_json-ld') ??
    (() => {
      throw new Error('no format')
    })()
  return format.present(credential, places, binding, holder)
}

export async function statusOf(
  services: Services,
  baseUrl: string,
  sessionId: string,
): Promise<Record<string, unknown>> {
  const kind = baseUrl === ISSUER_URL ? 'issuance/oid4vci' : 'presentation/oid4vp'
  return (await call(services, `${baseUrl}/${kind}/status/${sessionId}`)).json() as Promise<Record<string, unknown>>
}

export function sha256(text: string): string {
  return hash('sha256', text, 'base64url')
}
