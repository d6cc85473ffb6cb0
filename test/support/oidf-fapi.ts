/**
 * A client of the OpenID Foundation's modules for FAPI 2.0, as its plan for issuers by HAIP plays them: with a wallet
 * attestation, DPoP and pushed requests, from the request to a credential, which is the protected resource.
 */
import { expect } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import type { Signer } from '../../src/keys/signer.ts'
import {
  AUTHORIZE,
  authorizeUrl,
  type Browser,
  type CodeWallet,
  type Form,
  newVisitor,
  offerFor,
  PAR,
  REDIRECT_URI,
  SCOPE,
  sendDecision,
  sentTo,
  type TokenBody,
  tokenBody,
  tokenForm,
  visit,
  walletAsking,
} from './code-flow.ts'
import { dpopNonce, dpopProof } from './dpop.ts'
import type { HaipWorld } from './haip.ts'
import { CREDENTIAL_ENDPOINT, requestOf, TOKEN_ENDPOINT } from './issuance.ts'
import type { JwtChanges } from './jwt.ts'
import { ISSUER_URL, type Services } from './services.ts'
import { fetchChallenge, popOf, WALLET, type WalletInstance, walletAttestation } from './wallet-attestation.ts'
import { holderSigner } from './wire.ts'

export type FlowVariant = 'wallet_initiated' | 'issuer_initiated'

export interface FapiClient {
  readonly services: Services
  readonly variant: FlowVariant
  readonly configurationId: string
  readonly clientId: string
  readonly redirectUri: string
  readonly instance: WalletInstance
  readonly dpopKey: Signer
}

/** The differences of a request from a right one. */
export interface SentRequest {
  /** The changes of the DPoP proof; `none` for a request without one. */
  readonly dpop?: JwtChanges | 'none'
  readonly key?: Signer
  readonly isUnattested?: boolean
}

/** An authorization up to the token request, which is `form`. */
export interface Flow {
  readonly wallet: CodeWallet
  readonly browser: Browser
  readonly requestUri: string
  readonly sessionId: string
  readonly response: Form
  readonly form: Form
}

const dataset = { given_name: 'Ada' }
const REFRESH_SECONDS = 86_400
/** The redirect URI of the second client has parameters of its own, which have to come back. */
const SECOND = { clientId: `${WALLET}/second`, redirectUri: `${REDIRECT_URI}?dummy1=lorem&dummy2=ipsum` }

export async function makeClient(
  { services, instance }: HaipWorld,
  configurationId: string,
  variant: FlowVariant,
): Promise<FapiClient> {
  const names = { clientId: WALLET, redirectUri: REDIRECT_URI }
  return { services, variant, configurationId, ...names, instance, dpopKey: await holderSigner() }
}

/** Makes another wallet of the same provider. */
export async function secondClient(client: FapiClient): Promise<FapiClient> {
  const instance = { ...client.instance, key: await holderSigner() }
  return { ...client, ...SECOND, instance, dpopKey: await holderSigner() }
}

/** Posts a form with everything by which the client shows who it is, but for the changes. */
export async function post(client: FapiClient, url: string, form: Form, sent: SentRequest = {}): Promise<Response> {
  const { services } = client
  const dpop = sent.dpop === 'none' ? undefined : await proofOf(client, url, sent)
  return services.fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      ...(sent.isUnattested ? {} : await attestRequest(client)),
      ...(dpop === undefined ? {} : { dpop }),
    },
    body: new URLSearchParams(form).toString(),
  })
}

async function attestRequest({ services, instance, clientId: sub }: FapiClient): Promise<Record<string, string>> {
  const { now } = services.clock
  const proved = { now, challenge: await fetchChallenge(services), audience: ISSUER_URL }
  return {
    'oauth-client-attestation': await walletAttestation(instance, now, { payload: { sub } }),
    'oauth-client-attestation-pop': await popOf(instance, proved),
  }
}

async function proofOf({ services, dpopKey }: FapiClient, url: string, { dpop, key }: SentRequest, token?: string) {
  const parts = { services, key: key ?? dpopKey, url, nonce: await dpopNonce(services) }
  const changes = dpop === 'none' ? {} : dpop
  return dpopProof({ ...parts, ...(token === undefined ? {} : { token }) }, changes)
}

/** Makes the wallet with its right request; an offer's where the issuer initiates. */
export async function asking(client: FapiClient, more: Form = {}): Promise<CodeWallet> {
  const { services, variant, configurationId, clientId, redirectUri } = client
  const terms = { credential_dataset: dataset, refresh_seconds: REFRESH_SECONDS }
  const state = variant === 'issuer_initiated' ? (await offerFor(services, configurationId, terms)).issuerState : ''
  const offered: Form = state === '' ? {} : { issuer_state: state }
  return walletAsking({ scope: SCOPE, client_id: clientId, redirect_uri: redirectUri, ...offered, ...more })
}

/**
 * Pushes a request without a DPoP proof, as the suite does where a module is not about one, and returns its
 * request_uri.
 */
export async function pushForm(client: FapiClient, form: Form, sent: SentRequest = { dpop: 'none' }): Promise<string> {
  const response = await post(client, PAR, form, sent)
  const body = (await response.json()) as { readonly request_uri?: string; readonly expires_in?: number }
  expect([response.status, body]).toMatchObject([201, { request_uri: expect.stringMatching(/^urn:/) as string }])
  expect(body.expires_in).toBeLessThan(600)
  return body.request_uri ?? ''
}

export function addressOf({ clientId }: FapiClient, requestUri: string, more: Form = {}): string {
  return authorizeUrl({ client_id: clientId, request_uri: requestUri, ...more }, AUTHORIZE)
}

/** Returns the address at which the browser ends that follows `address` and whose person decides. */
export async function followAddress(
  client: FapiClient,
  browser: Browser,
  address: string,
  decision: object = client.variant === 'issuer_initiated'
    ? { approved: true }
    : { credential_dataset: dataset, refresh_seconds: REFRESH_SECONDS },
): Promise<{ readonly back: URL; readonly sessionId: string }> {
  const { services } = client
  const page = await sentTo(await visit(services, browser, address))
  const outcome = await sendDecision(services, page.searchParams.get('interaction') ?? '', decision)
  return { back: await sentTo(await visit(services, browser, outcome.address)), sessionId: outcome.sessionId }
}

/** Takes the whole way to the code, and checks what the suite always looks at. */
export async function flowOf(client: FapiClient, more: Form = {}, sent?: SentRequest): Promise<Flow> {
  const wallet = await asking(client, more)
  const requestUri = await pushForm(client, wallet.form, sent)
  const browser = newVisitor()
  const { back, sessionId } = await followAddress(client, browser, addressOf(client, requestUri))
  return finishFlow(client, { wallet, browser, requestUri, sessionId, back })
}

export function finishFlow(
  { redirectUri }: FapiClient,
  { back, ...flow }: Omit<Flow, 'response' | 'form'> & { readonly back: URL },
): Flow {
  const separator = redirectUri.includes('?') ? '&' : '?'
  expect(back.href.startsWith(`${redirectUri}${separator}`)).toBe(true)
  const response: Form = Object.fromEntries(back.searchParams)
  expect(response).toMatchObject({ iss: ISSUER_URL, code: expect.stringMatching(/^[\w.~-]{22,}$/) as string })
  expect(response.state).toBe(flow.wallet.form.state)
  expect(back.hash).toBe('')
  return { ...flow, response, form: tokenForm(flow.wallet, response.code ?? '') }
}

export function redeem(client: FapiClient, form: Form, sent: SentRequest = {}): Promise<Response> {
  return post(client, TOKEN_ENDPOINT, form, sent)
}

/** Fetches the tokens of a flow, of the type that is bound to a key. */
export async function tokensOf(
  client: FapiClient,
  { form }: Pick<Flow, 'form'>,
  sent: SentRequest = {},
): Promise<TokenBody> {
  const answer = await redeem(client, form, sent)
  expect(answer.headers.get('cache-control')).toBe('no-store')
  const body = await tokenBody(answer)
  expect(body.token_type).toBe('DPoP')
  expect(Object.keys(body)).not.toContain('id_token')
  return body
}

/** The differences of a request for a credential from a right one. */
export interface ResourceChanges extends SentRequest {
  readonly headers?: Readonly<Record<string, string>>
  readonly scheme?: string
  /** Changes the DPoP header as a text. */
  readonly rewrite?: (proof: string) => string
  readonly query?: string
  /** The address that the proof is for. */
  readonly provedUrl?: string
}

/** Requests a credential with the token. */
export async function resource(client: FapiClient, token: string, changes: ResourceChanges = {}): Promise<Response> {
  const { services, configurationId } = client
  const { rewrite = (proof: string) => proof, scheme = 'DPoP', query = '' } = changes
  const proof = await proofOf(client, changes.provedUrl ?? CREDENTIAL_ENDPOINT, changes, token)
  const ready = {
    services,
    configurationId,
    sessionId: '',
    code: '',
    form: {},
    token,
    holder: await holderSigner(),
    nonce: await freshNonce(services),
    audience: ISSUER_URL,
  }
  return services.fetch(`${CREDENTIAL_ENDPOINT}${query}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `${scheme} ${token}`,
      ...(changes.dpop === 'none' ? {} : { dpop: rewrite(proof) }),
      ...changes.headers,
    },
    body: JSON.stringify(await requestOf(ready)),
  })
}

async function freshNonce({ fetch }: Services): Promise<string> {
  const response = await fetch(`${ISSUER_URL}/issuance/oid4vci/nonce`, { method: 'POST' })
  return ((await response.json()) as { readonly c_nonce: string }).c_nonce
}

export async function expectResource(client: FapiClient, token: string, changes: ResourceChanges = {}): Promise<void> {
  const answer = await resource(client, token, changes)
  expect([answer.status, await answer.json()]).toMatchObject([200, { credentials: [{}] }])
}

/** Expects a refusal in JSON, whose members are those of RFC 6749 section 5.2. */
export async function expectOauthError(response: Response, codes: readonly string[]): Promise<void> {
  expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
  const body = (await response.json()) as JsonObject
  expect(response.status).toBe(400)
  expect(codes).toContain(body.error)
  expect(Object.keys(body).filter((name) => !['error', 'error_description'].includes(name))).toEqual([])
  expect(body.error_description).toMatch(/^[ !#-[\]-~]*$/)
}

/** Expects a refusal to the person at the browser, who is sent nowhere. */
export async function expectErrorPage(client: FapiClient, address: string): Promise<void> {
  const response = await client.services.fetch(address, { redirect: 'manual', headers: { accept: 'text/html' } })
  expect([response.status, response.headers.get('location')]).toEqual([400, null])
  expect(response.headers.get('content-type')).toMatch(/^text\/html\b/)
}
