/**
 * An independent wallet by HAIP against an issuer by HAIP: the npm packages `@openid4vc/*` push their request with a
 * wallet attestation, go through the authorization code flow with PKCE and DPoP, and request a batch.
 */
import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { formatOf } from '../../src/credential/formats.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { newVisitor, REDIRECT_URI, sendDecision, sentTo, visit } from '../support/code-flow.ts'
import { type HaipWorld, haipCard, startHaip } from '../support/haip.ts'
import { mdocConfiguration, mdocDataset } from '../support/mdoc.ts'
import { ISSUER_URL } from '../support/services.ts'
import { fetchChallenge, popOf, WALLET, walletAttestation } from '../support/wallet-attestation.ts'
import { declare, holderSigner, startIssuance } from '../support/wire.ts'
import { type Authenticate, authenticatedClient } from './openid4vc.ts'

const COPIES = 3
const formats = [
  { format: 'dc+sd-jwt', declared: { ...haipCard, batch_size: COPIES }, dataset: { given_name: 'Ada' } },
  { format: 'mso_mdoc', declared: { ...mdocConfiguration, scope: 'mdl', batch_size: COPIES }, dataset: mdocDataset },
]

describe('an independent wallet that is attested', () => {
  let world: HaipWorld
  let keys: readonly Signer[]
  beforeAll(async () => {
    world = await startHaip()
    keys = await Promise.all(Array.from({ length: COPIES }, () => holderSigner()))
    return () => world.services.close()
  })

  /** The package proves possession without the challenge of the server, and leaves other ways to the wallet. */
  const authenticate: Authenticate = async ({ headers, authorizationServerMetadata }) => {
    const { services, instance } = world
    const { now } = services.clock
    expect(authorizationServerMetadata.challenge_endpoint).toBe(`${ISSUER_URL}/auth/challenge`)
    const audience = authorizationServerMetadata.issuer as string
    const pop = await popOf(instance, { now, challenge: await fetchChallenge(services), audience })
    headers.set('oauth-client-attestation', await walletAttestation(instance, now))
    headers.set('oauth-client-attestation-pop', pop)
  }

  it.each(formats)(
    'receives a batch of $format by an offer, through a pushed request, a browser and DPoP',
    async (of) => {
      const { services } = world
      const { now } = services.clock
      const id = await declare(services, of.declared)
      const offered = { credential_configurations: [id], credential_dataset: of.dataset }
      const { link } = await startIssuance(services, offered)
      const dpopKey = await holderSigner()
      const client = authenticatedClient(services, [dpopKey, ...keys], authenticate)
      const credentialOffer = await client.resolveCredentialOffer(link)
      const issuerMetadata = await client.resolveIssuerMetadata(credentialOffer.credential_issuer)
      const dpop = { signer: { method: 'jwk', alg: dpopKey.alg, publicJwk: dpopKey.jwk } }
      const state = randomBytes(16).toString('base64url')
      const begun = await client.initiateAuthorization({
        credentialOffer,
        issuerMetadata,
        dpop,
        state,
        clientId: WALLET,
        redirectUri: REDIRECT_URI,
        scope: of.declared.scope,
      })
      expect(new URL(begun.authorizationRequestUrl).searchParams.get('request_uri')).toMatch(/^urn:/)

      const person = newVisitor()
      const page = await sentTo(await visit(services, person, begun.authorizationRequestUrl))
      const { address } = await sendDecision(services, page.searchParams.get('interaction') ?? '', { approved: true })
      const back = await sentTo(await visit(services, person, address))
      const { code } = client.parseAndVerifyAuthorizationResponseRedirectUrl({
        url: back.href,
        authorizationServerMetadata: issuerMetadata.authorizationServers[0],
      })

      const { accessTokenResponse, dpop: proved } = await client.retrieveAuthorizationCodeAccessTokenFromOffer({
        credentialOffer,
        issuerMetadata,
        authorizationCode: code,
        pkceCodeVerifier: begun.pkce?.codeVerifier,
        redirectUri: REDIRECT_URI,
        dpop,
      })
      expect(accessTokenResponse).toMatchObject({ token_type: 'DPoP' })
      const { c_nonce: nonce } = await client.requestNonce({ issuerMetadata })
      const proofs = await Promise.all(
        keys.map(async ({ alg, jwk }) => {
          const signer = { method: 'jwk', alg, publicJwk: jwk }
          const asked = { issuerMetadata, credentialConfigurationId: id, nonce, issuedAt: now, signer }
          return (await client.createCredentialRequestJwtProof(asked)).jwt
        }),
      )
      const { credentialResponse } = await client.retrieveCredentials({
        issuerMetadata,
        accessToken: accessTokenResponse.access_token,
        credentialConfigurationId: id,
        dpop: proved,
        proofs: { jwt: proofs },
      })
      const credentials = (credentialResponse.credentials ?? []) as readonly { readonly credential: string }[]
      const bound = credentials.map(({ credential }) => formatOf(of.format)?.readHeld(credential).boundKey)
      expect(bound).toMatchObject(keys.map(({ kid }) => ({ thumbprint: kid })))
    },
  )
})
