/**
 * Credo as a wallet in the authorization code flow: it pushes its request with PKCE and a DPoP key, opens a browser,
 * redeems the code and receives a batch. It has no challenge in its proof beside a wallet attestation, and none of its
 * users can give it one, so that it authenticates itself only where the issuer takes such a proof.
 */
import assert from 'node:assert/strict'
import { afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { readJws } from '../../src/codec/jws.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { thumbprint } from '../../src/keys/jwk.ts'
import { newVisitor, REDIRECT_URI, sendDecision, sentTo, visit } from '../support/code-flow.ts'
import { type HaipWorld, haipCard, startHaip } from '../support/haip.ts'
import { mdocConfiguration, mdocDataset } from '../support/mdoc.ts'
import { ISSUER_URL, type Services } from '../support/services.ts'
import { WALLET, walletAttestation } from '../support/wallet-attestation.ts'
import { declare, startIssuance } from '../support/wire.ts'
import { type CredoAgent, core, startAgent } from './credo/agent.ts'
import { startWithAuthority } from './samples.ts'

const COPIES = 3
const formats = [
  { format: 'dc+sd-jwt', declared: { ...haipCard, batch_size: COPIES }, dataset: { given_name: 'Ada' } },
  { format: 'mso_mdoc', declared: { ...mdocConfiguration, scope: 'mdl', batch_size: COPIES }, dataset: mdocDataset },
]

/** The requests of the wallet by path, with the headers and the form of each. */
interface Sent {
  readonly path: string
  readonly headers: Headers
  readonly form: URLSearchParams
  readonly answer: Response
}

function recording(fetch: typeof globalThis.fetch): { readonly fetch: typeof fetch; readonly sent: Sent[] } {
  const sent: Sent[] = []
  return {
    sent,
    fetch: async (input, init) => {
      const { pathname } = new URL(input instanceof Request ? input.url : String(input))
      const form = new URLSearchParams(typeof init?.body === 'string' ? init.body : '')
      const answer = await fetch(input, init)
      sent.push({ path: pathname, headers: new Headers(init?.headers), form, answer: answer.clone() })
      return answer
    },
  }
}

let agent: CredoAgent | undefined
afterEach(() => agent?.shutdown())

async function startWallet({ files }: Services, fetch: typeof globalThis.fetch): Promise<CredoAgent> {
  agent = await startAgent(
    fetch,
    ['anchors/0.pem', 'verifier.pem'].map((name) => files.get(name) ?? ''),
  )
  return agent
}

/** Lets a person agree, and returns the address at which their browser comes back to the wallet. */
async function agreedTo(services: Services, authorizationRequestUrl: string): Promise<URL> {
  const person = newVisitor()
  const page = await sentTo(await visit(services, person, authorizationRequestUrl))
  const { address } = await sendDecision(services, page.searchParams.get('interaction') ?? '', { approved: true })
  return sentTo(await visit(services, person, address))
}

describe('Credo, whose wallet is not authenticated', () => {
  let services: Services
  beforeAll(async () => {
    const settings = { authentication: { interactionUrl: 'https://portal.example.edu/wallet?lang=en' } }
    const required = { pushedAuthorizationRequests: 'required', dpop: 'required' }
    services = await startWithAuthority({ issuer: { ...settings, ...required } })
    return () => services.close()
  })

  it.each(formats)('receives a batch of $format through a pushed request, PKCE, a browser and DPoP', async (of) => {
    const id = await declare(services, of.declared)
    const offered = { credential_configurations: [id], credential_dataset: of.dataset, grants: ['authorization_code'] }
    const { link, sessionId } = await startIssuance(services, offered)
    const { fetch, sent } = recording(services.fetch)
    const { kms, openid4vc } = await startWallet(services, fetch)
    const { holder } = openid4vc
    const resolvedCredentialOffer = await holder.resolveCredentialOffer(link)
    const client = { clientId: WALLET, redirectUri: REDIRECT_URI }
    const begun = await holder.resolveOpenId4VciAuthorizationRequest(resolvedCredentialOffer, client)

    const back = await agreedTo(services, begun.authorizationRequestUrl)
    expect(back.searchParams.get('iss')).toBe(`${ISSUER_URL}/${sessionId}`)

    const { accessToken, accessTokenResponse, cNonce, dpop } = await holder.requestToken({
      resolvedCredentialOffer,
      ...client,
      code: back.searchParams.get('code'),
      codeVerifier: begun.codeVerifier,
      dpop: begun.dpop,
    })
    expect(accessTokenResponse).toMatchObject({ token_type: 'DPoP' })
    const keys = await Promise.all(
      Array.from({ length: COPIES }, () => kms.createKey({ type: { kty: 'EC', crv: 'P-256' } })),
    )
    const { credentials } = await holder.requestCredentials({
      resolvedCredentialOffer,
      accessToken,
      cNonce,
      dpop,
      clientId: WALLET,
      credentialBindingResolver: () => ({
        method: 'jwk',
        keys: keys.map(({ publicJwk }) => core.Kms.PublicJwk.fromPublicJwk(publicJwk)),
      }),
    })
    expect(credentials.flatMap(({ record }) => record.credentialInstances)).toHaveLength(COPIES)
    // Credo stores an mdoc in an encoding of its own.
    const answers = sent.filter(({ path, answer }) => path.endsWith('/credential-request') && answer.ok)
    const given = (await answers[0]?.answer.json()) as { readonly credentials: readonly { credential: string }[] }
    const bound = given.credentials.map(({ credential }) => formatOf(of.format)?.readHeld(credential).boundKey)
    expect(bound).toMatchObject(keys.map(({ publicJwk }) => ({ thumbprint: thumbprint(publicJwk) })))
    const pushed = sent.find(({ path }) => path.startsWith('/auth/par')) ?? assert.fail('Credo pushed nothing')
    expect(pushed.form.get('code_challenge_method')).toBe('S256')
    const redeemed = sent.filter(({ path }) => path.startsWith('/auth/token-endpoint'))
    expect(redeemed.map(({ headers }) => headers.has('dpop'))).toContain(true)
  })
})

describe('Credo with a wallet attestation', () => {
  async function begin(attestationChallenge: 'optional' | 'required') {
    const { services, instance }: HaipWorld = await startHaip({ attestationChallenge })
    onTestFinished(() => services.close())
    const id = await declare(services, haipCard)
    const { link, sessionId } = await startIssuance(services, {
      credential_configurations: [id],
      credential_dataset: { given_name: 'Ada' },
    })
    const { fetch, sent } = recording(services.fetch)
    const { kms, openid4vc } = await startWallet(services, fetch)
    const { publicJwk: jwk } = await kms.createKey({ type: { kty: 'EC', crv: 'P-256' } })
    // Credo reads the form of older drafts, in which an attestation names its provider.
    const payload = { iss: WALLET, cnf: { jwk } }
    const walletAttestationJwt = await walletAttestation(instance, services.clock.now, { payload })
    const resolvedCredentialOffer = await openid4vc.holder.resolveCredentialOffer(link)
    const client = { clientId: WALLET, redirectUri: REDIRECT_URI, walletAttestationJwt }
    const begun = openid4vc.holder.resolveOpenId4VciAuthorizationRequest(resolvedCredentialOffer, client)
    return { services, sessionId, sent, holder: openid4vc.holder, resolvedCredentialOffer, client, begun }
  }

  it('proves possession without the challenge that the metadata names', async () => {
    const { sessionId, sent, begun } = await begin('required')
    await expect(begun).rejects.toThrow(/use_attestation_challenge/)
    const [pushed] = sent.filter(({ path }) => path.startsWith('/auth/par'))
    const pop = readJws(pushed?.headers.get('oauth-client-attestation-pop') ?? '')
    expect(pop.payload).toMatchObject({ aud: `${ISSUER_URL}/${sessionId}` })
    expect(pop.payload).not.toHaveProperty('challenge')
  })

  it('gets its token by HAIP where a proof needs no challenge', async () => {
    const { services, holder, resolvedCredentialOffer, client, begun } = await begin('optional')
    const { authorizationRequestUrl, codeVerifier, dpop } = await begun
    const code = (await agreedTo(services, authorizationRequestUrl)).searchParams.get('code')
    const request = { resolvedCredentialOffer, ...client, code, codeVerifier, dpop }
    expect((await holder.requestToken(request)).accessTokenResponse).toMatchObject({ token_type: 'DPoP' })
  })
})
