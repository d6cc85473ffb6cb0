/** A wallet, a browser and an application that take the authorization code flow, every answer checked. */
import { createHash, randomBytes } from 'node:crypto'
import type { JsonObject } from '../src/codec/json.ts'
import { writeJws } from '../src/codec/jws.ts'
import { toDidJwk } from '../src/keys/did.ts'
import type { Signer } from '../src/keys/signer.ts'
import { must } from './flow.ts'
import { authorization, form, json } from './issuance-flow.ts'
import { BASE_URL } from './workplace.ts'

const CLIENT_ID = 'com.example.wallet'
const REDIRECT_URI = 'com.example.wallet:/callback'

/** A wallet, with a key for DPoP where it uses that. */
export interface Client {
  readonly dpopKey: Signer | undefined
  /** The attestation of its key for DPoP, where a provider vouches for the wallet. */
  readonly attestation: string | undefined
  nonce: string
}

export interface FlowTerms {
  readonly port: number
  readonly scope: string
}

interface Whole extends FlowTerms {
  readonly configurationId: string
  readonly dataset: JsonObject
  readonly client: Client
  readonly holder: Signer
}

interface PushedRequest {
  readonly requestUri: string
  readonly verifier: string
}

export function makeClient(dpopKey: Signer | undefined, attestation?: string): Client {
  return { dpopKey, attestation, nonce: '' }
}

/** Has a provider attest the wallet with the key. OpenID4VCI 1.0, Wallet Attestations in JWT format. */
export function attest(provider: Signer, { jwk }: Signer): Promise<string> {
  const header = { typ: 'oauth-client-attestation+jwt', alg: provider.alg, x5c: [...provider.x5c] }
  const claims = { sub: CLIENT_ID, iat: seconds(), exp: seconds() + 3600, cnf: { jwk: { ...jwk } } }
  return writeJws(header, claims, (data) => provider.sign(data))
}

/** Runs the flow from the metadata to the credential, without an offer. */
export async function wholeFlow(terms: Whole): Promise<void> {
  const { port, client, dataset } = terms
  await object(await send(port, '/.well-known/openid-credential-issuer'), 200)
  await object(await send(port, '/.well-known/oauth-authorization-server'), 200)
  client.nonce = (await freshNonce(port)).dpop
  const pushedRequest = await pushRequest(terms, client)
  const { interaction, cookie } = await visitOnly(terms, pushedRequest)
  const decision = await object(
    await send(port, `/auth/interaction/complete/${interaction}`, {
      headers: { ...authorization, ...json },
      body: JSON.stringify({ credential_dataset: dataset }),
    }),
    200,
  )
  const back = await send(port, pathOf(decision.redirect_uri as string), { headers: { cookie } })
  const code = new URL(back.headers.get('location') ?? '').searchParams.get('code') ?? ''
  must(back.status === 303 && code !== '', 'return', `${back.status}`)
  await credential(terms, await redeem(terms, pushedRequest, code))
}

/** Pushes a request; with a DPoP proof where the wallet has a key. */
export async function pushRequest({ port, scope }: FlowTerms, client = makeClient(undefined)): Promise<PushedRequest> {
  const verifier = randomBytes(32).toString('base64url')
  const body = new URLSearchParams({
    response_type: 'code',
    client_id: CLIENT_ID,
    redirect_uri: REDIRECT_URI,
    scope,
    state: 'state',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  }).toString()
  const headers = { ...form, ...(await attestationHeaders(client, port)), ...(await dpopHeader(client, '/auth/par')) }
  const { request_uri: requestUri } = await object(await send(port, '/auth/par', { headers, body }), 201)
  return { requestUri: requestUri as string, verifier }
}

/** Visits the address as the browser does that brings the request, which is a row from then on. */
export async function visitOnly({ port }: FlowTerms, { requestUri }: PushedRequest) {
  const query = new URLSearchParams({ client_id: CLIENT_ID, request_uri: requestUri }).toString()
  const answer = await send(port, `/auth/authorize?${query}`)
  must(answer.status === 303, 'authorize', `${answer.status}`)
  const [cookie = ''] = (answer.headers.get('set-cookie') ?? '').split(';')
  const interaction = new URL(answer.headers.get('location') ?? '').searchParams.get('interaction') ?? ''
  return { cookie, interaction }
}

async function redeem({ port, client }: Whole, { verifier }: PushedRequest, code: string): Promise<string> {
  const body = new URLSearchParams({
    grant_type: 'authorization_code',
    code,
    code_verifier: verifier,
    client_id: CLIENT_ID,
    redirect_uri: REDIRECT_URI,
  }).toString()
  const proof = await dpopHeader(client, '/auth/token-endpoint')
  const headers = { ...form, ...(await attestationHeaders(client, port)), ...proof }
  const answer = await object(await send(port, '/auth/token-endpoint', { headers, body }), 200)
  must(answer.token_type === (client.dpopKey ? 'DPoP' : 'Bearer'), 'token', 'another type')
  return answer.access_token as string
}

async function credential({ port, client, holder, configurationId }: Whole, token: string): Promise<void> {
  const nonce = (await freshNonce(port)).proof
  const header = { typ: 'openid4vci-proof+jwt', alg: 'ES256', kid: `${toDidJwk(holder.jwk)}#0` }
  const claims = { nonce, aud: BASE_URL.issuer, iat: seconds() }
  const jwt = await writeJws(header, claims, (data) => holder.sign(data))
  const path = '/issuance/oid4vci/credential-request'
  const scheme = client.dpopKey ? 'DPoP' : 'Bearer'
  const proof = await dpopHeader(client, path, token)
  const answer = await send(port, path, {
    headers: { ...json, authorization: `${scheme} ${token}`, ...proof },
    body: JSON.stringify({ credential_configuration_id: configurationId, proofs: { jwt: [jwt] } }),
  })
  must(Array.isArray((await object(answer, 200)).credentials), 'credential', 'none')
}

async function freshNonce(port: number): Promise<{ readonly proof: string; readonly dpop: string }> {
  const answer = await send(port, '/issuance/oid4vci/nonce', { body: '' })
  const dpop = answer.headers.get('dpop-nonce') ?? ''
  return { proof: (await object(answer, 200)).c_nonce as string, dpop }
}

/** Makes the DPoP proof of a wallet that has a key. RFC 9449 section 4.2. */
async function dpopHeader({ dpopKey, nonce }: Client, path: string, token?: string): Promise<Record<string, string>> {
  if (dpopKey === undefined) return {}
  const claims = {
    jti: randomBytes(16).toString('base64url'),
    htm: 'POST',
    htu: `${BASE_URL.issuer}${path}`,
    iat: seconds(),
    nonce,
    ...(token === undefined ? {} : { ath: createHash('sha256').update(token).digest('base64url') }),
  }
  const header = { typ: 'dpop+jwt', alg: dpopKey.alg, jwk: { ...dpopKey.jwk } }
  return { dpop: await writeJws(header, claims, (data) => dpopKey.sign(data)) }
}

/**
 * Makes the headers with the attestation and the proof of its key, with a fresh challenge. Attestation-Based Client
 * Authentication.
 */
async function attestationHeaders({ dpopKey, attestation }: Client, port: number): Promise<Record<string, string>> {
  if (dpopKey === undefined || attestation === undefined) return {}
  const answer = await object(await send(port, '/auth/challenge', { body: '' }), 200)
  const claims = {
    aud: BASE_URL.issuer,
    jti: randomBytes(16).toString('base64url'),
    iat: seconds(),
    challenge: answer.attestation_challenge as string,
  }
  const header = { typ: 'oauth-client-attestation-pop+jwt', alg: dpopKey.alg }
  const pop = await writeJws(header, claims, (data) => dpopKey.sign(data))
  return { 'oauth-client-attestation': attestation, 'oauth-client-attestation-pop': pop }
}

interface SentRequest {
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** Sends a request, by POST where there is a body. */
function send(port: number, path: string, { headers = {}, body }: SentRequest = {}): Promise<Response> {
  const method = body === undefined ? 'GET' : 'POST'
  const init = { method, headers, redirect: 'manual' as const, ...(body === undefined ? {} : { body }) }
  return fetch(`http://127.0.0.1:${port}${path}`, init)
}

async function object(answer: Response, status: number): Promise<Record<string, unknown>> {
  const text = await answer.text()
  must(answer.status === status, answer.url, `${answer.status} ${text}`)
  return JSON.parse(text) as Record<string, unknown>
}

function pathOf(address: string): string {
  const { pathname, search } = new URL(address)
  return `${pathname}${search}`
}

function seconds(): number {
  return Math.floor(Date.now() / 1000)
}
