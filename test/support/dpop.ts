/** DPoP as a wallet does it: proofs, and an issuance that is bound to a key. RFC 9449. */
import { expect } from 'vitest'
import type { Signer } from '../../src/keys/signer.ts'
import {
  CREDENTIAL_ENDPOINT,
  oneCredential,
  type Ready,
  requestOf,
  type Session,
  startedSession,
  TOKEN_ENDPOINT,
} from './issuance.ts'
import { type JwtChanges, writeChangedJwt } from './jwt.ts'
import { ISSUER_URL, type Services } from './services.ts'
import { fetchNonce, holderSigner, sha256 } from './wire.ts'

export interface DpopParts {
  readonly services: Services
  readonly key: Signer
  readonly url: string
  readonly nonce: string
  /** The access token beside it. */
  readonly token?: string
}

let count = 0

export function dpopProof({ services, key, url, nonce, token }: DpopParts, changes: JwtChanges = {}): Promise<string> {
  count += 1
  const payload = {
    jti: `proof-${count}`,
    htm: 'POST',
    htu: url,
    iat: Math.floor(services.clock.now.getTime() / 1000),
    nonce,
    ...(token === undefined ? {} : { ath: sha256(token) }),
  }
  return writeChangedJwt(key, { header: { typ: 'dpop+jwt', jwk: { ...key.jwk } }, payload }, changes)
}

export async function dpopNonce(services: Services): Promise<string> {
  const response = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/nonce`, { method: 'POST' })
  return response.headers.get('dpop-nonce') ?? ''
}

export function postToken(
  { services, sessionId, form }: Session,
  dpop: string | undefined,
  more: Readonly<Record<string, string>> = {},
  url = `${TOKEN_ENDPOINT}/${sessionId}`,
): Promise<Response> {
  return services.fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...(dpop === undefined ? {} : { dpop }) },
    body: new URLSearchParams({ ...form, ...more }).toString(),
  })
}

/** A session whose token is bound to `key`, and whose credential request is the only step left. */
export interface BoundReady extends Ready {
  readonly key: Signer
  readonly dpop: string
  /** The token response. */
  readonly response: Readonly<Record<string, unknown>>
}

export async function boundSession(services: Services, body: Record<string, unknown> = {}): Promise<BoundReady> {
  const session = await startedSession(services, body)
  const [key, dpop] = [await holderSigner(), await dpopNonce(services)]
  const url = `${TOKEN_ENDPOINT}/${session.sessionId}`
  const answer = await postToken(session, await dpopProof({ services, key, url, nonce: dpop }))
  const response = (await answer.json()) as Record<string, unknown>
  expect([answer.status, response.token_type]).toEqual([200, 'DPoP'])
  return {
    ...session,
    key,
    dpop,
    response,
    token: response.access_token as string,
    holder: await holderSigner(),
    nonce: await fetchNonce(services, session.sessionId),
    audience: `${ISSUER_URL}/${session.sessionId}`,
  }
}

export function requestProof(ready: BoundReady, changes: JwtChanges = {}): Promise<string> {
  const { services, key, dpop, token } = ready
  return dpopProof({ services, key, url: CREDENTIAL_ENDPOINT, nonce: dpop, token }, changes)
}

/** Sends the credential request with these headers. */
export async function requestWith(ready: Ready, headers: Readonly<Record<string, string>>): Promise<Response> {
  return ready.services.fetch(CREDENTIAL_ENDPOINT, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(await requestOf(ready)),
  })
}

/** Expects that the same request made right issues one credential. */
export async function expectIssuedBound(ready: BoundReady): Promise<void> {
  const response = await requestWith(ready, { authorization: `DPoP ${ready.token}`, dpop: await requestProof(ready) })
  expect([response.status, await response.json()]).toEqual([200, oneCredential])
}
