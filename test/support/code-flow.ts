/**
 * The authorization code flow step by step, as a wallet, a browser and an application run it, for tests that change one
 * thing.
 */
import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import type { Signer } from '../../src/keys/signer.ts'
import { dpopNonce, dpopProof } from './dpop.ts'
import { type Ready, TOKEN_ENDPOINT } from './issuance.ts'
import { ISSUER_URL, type ServiceOptions, type Services, startServices } from './services.ts'
import { call, configuration, dataset, declare, fetchNonce, holderSigner, postForm, sha256 } from './wire.ts'

export const INTERACTION_URL = 'https://portal.example.edu/wallet?lang=en'
export const REDIRECT_URI = 'com.example.wallet:/callback'
export const CLIENT_ID = 'com.example.wallet'
export const PAR = `${ISSUER_URL}/auth/par`
export const AUTHORIZE = `${ISSUER_URL}/auth/authorize`
export const SCOPE = 'student_card'

export type Form = Readonly<Record<string, string>>

/** Starts services whose issuer has the authorization code flow. */
export function startCodeFlow(settings: Record<string, unknown> = {}, more: ServiceOptions = {}): Promise<Services> {
  const authentication = { interactionUrl: INTERACTION_URL }
  return startServices({ ...more, issuer: { authentication, ...settings } })
}

/** Declares a configuration that wallets can ask for by themselves. */
export function declareWithScope(services: Services, scope = SCOPE): Promise<string> {
  return declare(services, { ...configuration, scope })
}

/** Makes an offer with the grant, and returns it with the id of its session. */
export async function offerFor(services: Services, configurationId: string, more: object = {}) {
  const response = await call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, {
    credential_dataset: dataset,
    credential_configurations: [configurationId],
    grants: ['authorization_code'],
    ...more,
  })
  const answer = (await response.json()) as Record<string, string>
  expect([response.status, answer]).toMatchObject([200, {}])
  const { session_id: sessionId = '' } = answer
  const offer = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`)
  const { grants } = (await offer.json()) as { grants: Record<string, Record<string, string>> }
  return { sessionId, issuerState: grants.authorization_code?.issuer_state ?? '' }
}

/** A wallet with a code verifier of its own, and the right request of it. */
export interface CodeWallet {
  readonly codeVerifier: string
  readonly form: Form
}

export function walletAsking(more: Form = { scope: SCOPE }): CodeWallet {
  const codeVerifier = randomBytes(32).toString('base64url')
  const form = {
    response_type: 'code',
    client_id: CLIENT_ID,
    redirect_uri: REDIRECT_URI,
    state: 'state-of-the-wallet',
    code_challenge: sha256(codeVerifier),
    code_challenge_method: 'S256',
    ...more,
  }
  return { codeVerifier, form }
}

/** Returns the form without some of its members. */
export function without(form: Form, ...names: readonly string[]): Form {
  return Object.fromEntries(Object.entries(form).filter(([name]) => !names.includes(name)))
}

export async function push(services: Services, form: Form, url = PAR): Promise<string> {
  const response = await postForm(services, url, form)
  const body = (await response.json()) as Record<string, unknown>
  expect([response.status, body]).toEqual([201, { request_uri: expect.any(String) as string, expires_in: 60 }])
  return body.request_uri as string
}

/** A browser, which keeps its cookies. */
export interface Browser {
  cookie: string | undefined
}

export function newVisitor(): Browser {
  return { cookie: undefined }
}

/** Sends a browser to an address, and returns the answer. */
export async function visit(services: Services, browser: Browser, url: string): Promise<Response> {
  const response = await services.fetch(url, {
    redirect: 'manual',
    headers: browser.cookie === undefined ? {} : { cookie: browser.cookie },
  })
  const [pair] = response.headers.get('set-cookie')?.split(';') ?? []
  if (pair !== undefined) browser.cookie = pair
  return response
}

/** Reads the address to which a browser is sent. */
export async function sentTo(response: Response): Promise<URL> {
  const location = response.headers.get('location')
  expect([response.status, location, await response.text()]).toEqual([303, expect.any(String) as string, ''])
  return new URL(location ?? '')
}

export function authorizeUrl(form: Form, url = AUTHORIZE): string {
  return `${url}?${new URLSearchParams(form).toString()}`
}

/** Brings a request_uri in the browser, and returns the id of the interaction to which the browser is sent. */
export async function bring(
  services: Services,
  browser: Browser,
  { requestUri, clientId = CLIENT_ID, url = AUTHORIZE }: { requestUri: string; clientId?: string; url?: string },
): Promise<string> {
  const response = await visit(services, browser, authorizeUrl({ client_id: clientId, request_uri: requestUri }, url))
  const address = await sentTo(response)
  expect(address.href.startsWith(`${INTERACTION_URL}&interaction=`)).toBe(true)
  return address.searchParams.get('interaction') ?? ''
}

/** Sends the application's decision, and returns the answer. */
export function decide(services: Services, interaction: string, body: object): Promise<Response> {
  return call(services, `${ISSUER_URL}/auth/interaction/complete/${interaction}`, body)
}

/** Sends the application's decision, and returns the address to which it sends the browser afterwards. */
export async function sendDecision(
  services: Services,
  interaction: string,
  body: object = { credential_dataset: dataset },
) {
  const response = await decide(services, interaction, body)
  const answer = (await response.json()) as Record<string, string>
  expect([response.status, answer]).toMatchObject([200, { redirect_uri: expect.any(String) as string }])
  return { sessionId: answer.session_id ?? '', address: answer.redirect_uri ?? '' }
}

/** Returns the parameters that the wallet is sent. */
export async function response(services: Services, browser: Browser, address: string): Promise<Form> {
  const url = await sentTo(await visit(services, browser, address))
  expect(`${url.protocol}${url.pathname}`).toBe(REDIRECT_URI)
  return Object.fromEntries(url.searchParams)
}

/** An authorization whose token request is the only step left. */
export interface CodeFlow {
  readonly services: Services
  readonly wallet: CodeWallet
  readonly browser: Browser
  readonly requestUri: string
  readonly interaction: string
  readonly sessionId: string
  readonly response: Form
  /** The right token request. */
  readonly form: Form
}

export async function authorizeForCode(
  services: Services,
  { parameters = { scope: SCOPE }, decision, path = '' }: { parameters?: Form; decision?: object; path?: string } = {},
): Promise<CodeFlow> {
  const [wallet, browser] = [walletAsking(parameters), newVisitor()]
  const requestUri = await push(services, wallet.form, PAR + path)
  const interaction = await bring(services, browser, { requestUri, url: AUTHORIZE + path })
  const { sessionId, address } = await sendDecision(services, interaction, decision)
  const answer = await response(services, browser, address)
  const form = tokenForm(wallet, answer.code ?? '')
  return { services, wallet, browser, requestUri, interaction, sessionId, response: answer, form }
}

export function tokenForm({ codeVerifier, form }: CodeWallet, code: string): Form {
  const { client_id: clientId = '', redirect_uri: redirectUri = '' } = form
  const grant = { grant_type: 'authorization_code', code, code_verifier: codeVerifier }
  return { ...grant, client_id: clientId, redirect_uri: redirectUri }
}

/** Sends a token request, with a DPoP proof by `key` where there is one. */
export async function redeemCode(
  services: Services,
  form: Form,
  key?: Signer,
  url = TOKEN_ENDPOINT,
): Promise<Response> {
  if (key === undefined) return postForm(services, url, form)
  const dpop = await dpopProof({ services, key, url, nonce: await dpopNonce(services) })
  return services.fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', dpop },
    body: new URLSearchParams(form).toString(),
  })
}

export interface TokenBody {
  readonly access_token: string
  readonly refresh_token?: string
  readonly [member: string]: unknown
}

export async function tokenBody(answer: Response): Promise<TokenBody> {
  const body = (await answer.json()) as TokenBody
  expect([answer.status, body]).toMatchObject([200, { access_token: expect.any(String) as string }])
  return body
}

/** Prepares a right credential request for a Bearer token. */
export async function readyWith(coded: CodeFlow, token: string, configurationId: string): Promise<Ready> {
  const { services, sessionId } = coded
  return {
    services,
    configurationId,
    sessionId,
    code: '',
    form: {},
    token,
    holder: await holderSigner(),
    nonce: await fetchNonce(services, sessionId),
    audience: ISSUER_URL,
  }
}
