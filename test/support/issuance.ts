/** An issuance up to the step in which a test then goes wrong, and what must hold after a refusal. */
import { expect } from 'vitest'
import { toDidJwk } from '../../src/keys/did.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { type JwtChanges, writeChangedJwt } from './jwt.ts'
import { ISSUER_URL, type Services } from './services.ts'
import {
  codeOf,
  fetchNonce,
  GRANT,
  holderSigner,
  postForm,
  requestCredential,
  startIssuance,
  statusOf,
} from './wire.ts'

export const TOKEN_ENDPOINT = `${ISSUER_URL}/auth/token-endpoint`
export const CREDENTIAL_ENDPOINT = `${ISSUER_URL}/issuance/oid4vci/credential-request`

export interface Session {
  readonly services: Services
  readonly configurationId: string
  readonly sessionId: string
  readonly code: string
  /** The form that a wallet posts to the token endpoint. */
  readonly form: Readonly<Record<string, string>>
}

/** A session whose credential request is the only step left. */
export interface Ready extends Session {
  readonly holder: Signer
  readonly token: string
  readonly nonce: string
  readonly audience: string
}

export async function startedSession(services: Services, body: Record<string, unknown> = {}): Promise<Session> {
  const { sessionId, id } = await startIssuance(services, body)
  const [firstId] = (body.credential_configurations as string[] | undefined) ?? [id]
  const code = await codeOf(services, sessionId)
  const form = { grant_type: GRANT, 'pre-authorized_code': code }
  return { services, configurationId: firstId ?? '', sessionId, code, form }
}

export async function readySession(services: Services, body: Record<string, unknown> = {}): Promise<Ready> {
  const session = await startedSession(services, body)
  return {
    ...session,
    holder: await holderSigner(),
    token: await tokenOf(session),
    nonce: await fetchNonce(services, session.sessionId),
    audience: `${ISSUER_URL}/${session.sessionId}`,
  }
}

/** Fetches the access token, by the request that a wallet makes. */
export async function tokenOf({ services, sessionId, form }: Session): Promise<string> {
  const response = await postForm(services, `${TOKEN_ENDPOINT}/${sessionId}`, form)
  const body = (await response.json()) as Record<string, unknown>
  expect([response.status, body.token_type, body.expires_in]).toEqual([200, 'Bearer', 300])
  return body.access_token as string
}

export function proofOf(ready: Ready, changes: JwtChanges = {}): Promise<string> {
  const { holder, nonce, audience, services } = ready
  const header = { typ: 'openid4vci-proof+jwt', kid: `${toDidJwk(holder.jwk)}#0` }
  const payload = { nonce, aud: audience, iat: Math.floor(services.clock.now.getTime() / 1000) }
  return writeChangedJwt(holder, { header, payload }, changes)
}

/** Makes a request as it should be, with members replaced, or left out when they are undefined. */
export async function requestOf(ready: Ready, changes: Readonly<Record<string, unknown>> = {}): Promise<object> {
  const proof = { proof_type: 'jwt', jwt: await proofOf(ready) }
  return { credential_configuration_id: ready.configurationId, proof, ...changes }
}

export async function request(ready: Ready, changes: Readonly<Record<string, unknown>> = {}): Promise<Response> {
  return requestCredential(ready.services, ready.token, await requestOf(ready, changes))
}

export async function requestWithProof(ready: Ready, changes: JwtChanges | string): Promise<Response> {
  const jwt = typeof changes === 'string' ? changes : await proofOf(ready, changes)
  return request(ready, { proof: { proof_type: 'jwt', jwt } })
}

/** Returns everything that the issuance service has stored. */
export async function dump({ issuerStore }: Services): Promise<string> {
  const collections = [
    'credential_configuration',
    'issuance_session',
    'issuance_dataset',
    'deferred_transaction',
    'authorization_request',
    'spent_nonce',
  ] as const
  return JSON.stringify(await Promise.all(collections.map((name) => issuerStore.list(name))))
}

export interface Refusal {
  readonly status: number
  readonly error: string
  /** The expected description, when the code alone does not tell the rule. */
  readonly why?: RegExp
  /** The expected `WWW-Authenticate`, where it is not that of a Bearer token. */
  readonly challenge?: RegExp
}

/** Expects the refusal, with a body and headers as every refusal of a wallet has them. */
export async function expectRefusal(response: Response, refusal: Refusal): Promise<void> {
  const { status, error, why, challenge } = refusal
  const text = await response.text()
  expect(`${response.status} ${text}`).toMatch(new RegExp(`^${status} \\{"error":"${error}",`))
  const body = JSON.parse(text) as Record<string, string>
  expect(Object.keys(body)).toEqual(['error', 'error_description'])
  // RFC 6749 section 5.2.
  expect(body.error_description).toMatch(/^[ !#-[\]-~]+$/)
  if (why !== undefined) expect(body.error_description).toMatch(why)
  expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  expect(response.headers.get('x-request-id')).toMatch(/^[\w-]{16}$/)
  const sent = response.headers.get('www-authenticate')
  if (challenge !== undefined) {
    expect(sent).toMatch(challenge)
    return
  }
  const challenges: Record<string, string> = { 401: 'Bearer', 403: 'Bearer error="insufficient_scope"' }
  expect(sent?.replace(' error="invalid_token"', '')).toBe(challenges[status])
}

/** A credential response with one credential. */
export const oneCredential = {
  credentials: [{ credential: expect.any(String) as string }],
  notification_id: expect.stringMatching(/^[\w-]{24}$/) as string,
}

/** Expects that the same request made right issues one credential. */
export async function expectIssued(ready: Ready): Promise<string> {
  const response = await request(ready)
  const body = (await response.json()) as { readonly credentials?: readonly { readonly credential: string }[] }
  expect([response.status, body]).toEqual([200, oneCredential])
  expect(await statusOf(ready.services, ISSUER_URL, ready.sessionId)).toMatchObject({ status: 'SUCCEEDED' })
  return body.credentials?.[0]?.credential ?? ''
}

/** Expects that the attack is refused, and that nothing that is stored changes. */
export async function expectWithoutEffect(
  services: Services,
  attack: () => Promise<Response>,
  refusal: Refusal,
): Promise<void> {
  const before = await dump(services)
  await expectRefusal(await attack(), refusal)
  expect(await dump(services)).toBe(before)
}

/** Expects that the attack is refused without effect, and that the right request still issues. */
export async function expectHarmless(ready: Ready, attack: () => Promise<Response>, refusal: Refusal): Promise<void> {
  await expectWithoutEffect(ready.services, attack, refusal)
  await expectIssued(ready)
}
