/**
 * The way of the wallet of the OpenID Foundation's modules for issuers to a token of an issuer by HAIP: it pushes its
 * request with a wallet attestation, opens a browser, and redeems the code with DPoP.
 */
import { randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { type JsonObject, memberOf } from '../../src/codec/json.ts'
import { toPem } from '../../src/keys/make-certificate.ts'
import {
  type CodeWallet,
  INTERACTION_URL,
  newVisitor,
  REDIRECT_URI,
  sentTo,
  tokenForm,
  visit,
  walletAsking,
} from './code-flow.ts'
import { certify, makeAuthority } from './forge.ts'
import type { ServiceOptions, Services } from './services.ts'
import {
  makeInstance,
  makeProvider,
  popOf,
  trustingProvider,
  WALLET,
  type WalletInstance,
  walletAttestation,
} from './wallet-attestation.ts'
import { call } from './wire.ts'

/** The wallet instance of a plan by HAIP, and the party that begins its flows. */
export interface HaipPlan {
  readonly instance: WalletInstance
  readonly isWalletInitiated: boolean
}

/** The knowledge of the wallet once it has read the metadata. */
export interface CodeFlowTerms {
  readonly services: Services
  readonly plan: HaipPlan
  readonly offer: JsonObject
  readonly server: JsonObject
  readonly scope: string
  /** The claims for a wallet that comes without an offer. */
  readonly dataset: JsonObject
}

/** Posts a form to a token endpoint or the like, with a DPoP proof. */
export type ProvedPost = (url: string, init: RequestInit) => Promise<Response>

/** Returns the options of an issuer by HAIP that is known by an https name, and a wallet that it takes. */
export async function haipOptions(): Promise<{ readonly options: ServiceOptions; readonly instance: WalletInstance }> {
  const [provider, ca] = [await makeProvider(), await makeAuthority('Example CA')]
  const { issuer, files } = trustingProvider(provider)
  const authentication = { interactionUrl: INTERACTION_URL }
  return {
    instance: await makeInstance(provider),
    options: {
      issuer: { ...issuer, profile: 'haip', authentication },
      ...(files && { files }),
      anchors: [toPem(ca.der)],
      issuerCertificates: (key) => Promise.resolve(toPem(certify(ca, key)) + toPem(ca.der)),
    },
  }
}

/** Sends a request to the token endpoint with a code, and returns the answer. */
export async function tokenByCode(terms: CodeFlowTerms, proved: ProvedPost): Promise<Response> {
  const { offer, plan, scope, server } = terms
  const grants = (offer.grants ?? {}) as Record<string, Record<string, string>>
  const { issuer_state: state = '' } = grants.authorization_code ?? {}
  const offered = plan.isWalletInitiated ? undefined : { issuer_state: state }
  const unknown = { [randomBytes(12).toString('hex')]: 'x' }
  const wallet = walletAsking({ scope, client_id: WALLET, redirect_uri: REDIRECT_URI, ...offered, ...unknown })
  const pushed = await post(
    terms,
    textAt(server, 'pushed_authorization_request_endpoint'),
    wallet.form,
    terms.services.fetch,
  )
  const { request_uri: requestUri } = (await pushed.json()) as { readonly request_uri: string }
  expect([pushed.status, requestUri]).toEqual([201, expect.stringMatching(/^urn:/) as string])
  const code = await codeFor(terms, requestUri, wallet)
  return post(terms, textAt(server, 'token_endpoint'), { ...tokenForm(wallet, code), ...unknown }, proved)
}

/** Returns the code that the browser of the person brings back. RFC 9207: with the issuer that the metadata names. */
async function codeFor(
  { services, plan, server, dataset }: CodeFlowTerms,
  requestUri: string,
  wallet: CodeWallet,
): Promise<string> {
  const address = new URL(textAt(server, 'authorization_endpoint'))
  address.search = new URLSearchParams({ client_id: WALLET, request_uri: requestUri }).toString()
  const person = newVisitor()
  const page = await sentTo(await visit(services, person, address.href))
  const completion = `${address.origin}/auth/interaction/complete/${page.searchParams.get('interaction') ?? ''}`
  const decision = plan.isWalletInitiated ? { credential_dataset: dataset } : { approved: true }
  const { redirect_uri: return_ } = (await (await call(services, completion, decision)).json()) as Record<
    string,
    string
  >
  const { searchParams } = await sentTo(await visit(services, person, return_ ?? ''))
  expect([searchParams.get('iss'), searchParams.get('state')]).toEqual([server.issuer, wallet.form.state])
  return searchParams.get('code') ?? ''
}

async function post(
  { services, plan, server }: CodeFlowTerms,
  url: string,
  form: object,
  send: ProvedPost,
): Promise<Response> {
  const { now } = services.clock
  const challenged = await services.fetch(textAt(server, 'challenge_endpoint'), { method: 'POST' })
  expect([challenged.status, challenged.headers.get('cache-control')]).toEqual([200, 'no-store'])
  const { attestation_challenge: challenge } = (await challenged.json()) as { readonly attestation_challenge: string }
  const { instance } = plan
  const attested = async () => ({
    'oauth-client-attestation': await walletAttestation(instance, now),
    'oauth-client-attestation-pop': await popOf(instance, { now, challenge, audience: textAt(server, 'issuer') }),
  })
  const headers = { 'content-type': 'application/x-www-form-urlencoded', ...(await attested()) }
  return send(url, { method: 'POST', headers, body: new URLSearchParams({ ...form }).toString() })
}

function textAt(object: JsonObject, name: string): string {
  const value = memberOf(object, name)
  expect([name, typeof value]).toEqual([name, 'string'])
  return value as string
}
