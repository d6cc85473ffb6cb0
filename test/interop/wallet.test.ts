/**
 * An independent wallet against both services: the npm packages `@openid4vc/openid4vci` and `@openid4vc/openid4vp` read our
 * offers, metadata and request objects by their own schemas, and send what they make of them.
 */
import { createHash, createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import { readJws, writeJws } from '../../src/codec/jws.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { parseCertificate } from '../../src/keys/certificate.ts'
import { toDidJwk } from '../../src/keys/did.ts'
import { signedBy } from '../../src/keys/signature.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import {
  configuration,
  dataset,
  declare,
  holderSigner,
  presentationOf,
  startIssuance,
  startVerification,
  statusOf,
} from '../support/wire.ts'

type Call<Result> = (options: object) => Promise<Result>

interface IssuanceClient {
  resolveCredentialOffer(
    link: string,
  ): Promise<{ readonly credential_issuer: string; readonly credential_configuration_ids: readonly string[] }>
  resolveIssuerMetadata(issuer: string): Promise<Metadata>
  readonly retrievePreAuthorizedCodeAccessTokenFromOffer: Call<{
    readonly accessTokenResponse: { readonly access_token: string }
  }>
  readonly requestNonce: Call<{ readonly c_nonce: string }>
  readonly createCredentialRequestJwtProof: Call<{ readonly jwt: string }>
  readonly retrieveCredentials: Call<{
    readonly credentialResponse: { readonly credentials: readonly { readonly credential: string }[] }
  }>
}

interface Metadata {
  readonly credentialIssuer: JsonObject
  readonly authorizationServers: readonly JsonObject[]
  readonly originalDraftVersion: string
}

interface PresentationClient {
  parseOpenid4vpAuthorizationRequest(options: object): { readonly type: string; readonly params: JsonObject }
  readonly resolveOpenId4vpAuthorizationRequest: Call<Resolved>
  readonly createOpenid4vpAuthorizationResponse: Call<{ readonly authorizationResponsePayload: JsonObject }>
  readonly submitOpenid4vpAuthorizationResponse: Call<{ readonly response: Response }>
}

interface Resolved {
  readonly authorizationRequestPayload: {
    readonly nonce: string
    readonly client_id: string
    readonly state: string
    readonly response_uri: string
  }
  readonly client: { readonly prefix: string; readonly identifier: string }
  readonly dcql: { readonly query: unknown }
  readonly version: number
}

interface Packages {
  readonly Openid4vciClient: new (options: object) => IssuanceClient
  readonly Openid4vpClient: new (options: object) => PresentationClient
  readonly setGlobalConfig: (config: object) => void
  readonly clientAuthenticationAnonymous: () => unknown
}

// Named at run time, because the packages are installed for these tests only.
const names = ['@openid4vc/openid4vci', '@openid4vc/openid4vp', '@openid4vc/oauth2']
const modules = await Promise.all(names.map((name) => import(name) as Promise<Partial<Packages>>))
const packages = Object.fromEntries(modules.flatMap((module) => Object.entries(module))) as unknown as Packages
// The services of this process have no TLS.
packages.setGlobalConfig({ allowInsecureUrls: true })

interface JwtSigner {
  readonly method: string
  readonly x5c?: readonly string[]
  readonly didUrl?: string
}

/** What the packages leave to the wallet: its keys, hashes, randomness, and the network. */
function callbacks(services: Services, holder: Signer) {
  return {
    fetch: services.fetch,
    hash: (data: Uint8Array) => new Uint8Array(createHash('sha256').update(data).digest()),
    generateRandom: (length: number) => new Uint8Array(randomBytes(length)),
    clientAuthentication: packages.clientAuthenticationAnonymous(),
    signJwt: async (_: JwtSigner, jwt: { readonly header: JsonObject; readonly payload: JsonObject }) => ({
      jwt: await writeJws(jwt.header, jwt.payload, (data) => holder.sign(data)),
      signerJwk: holder.jwk,
    }),
    verifyJwt: ({ x5c }: JwtSigner, { compact }: { readonly compact: string }) => {
      const key: KeyObject = parseCertificate(Buffer.from(x5c?.[0] ?? '', 'base64')).publicKey
      const signerJwk = createPublicKey(key.export({ type: 'spki', format: 'pem' })).export({ format: 'jwk' })
      return { verified: signedBy(readJws(compact), key), signerJwk }
    },
    getX509CertificateMetadata: (text: string) => {
      const { dnsNames, uris } = parseCertificate(Buffer.from(text, 'base64'))
      return { sanDnsNames: dnsNames, sanUriNames: uris }
    },
  }
}

describe('an independent wallet', () => {
  let services: Services
  let holder: Signer
  beforeAll(async () => {
    services = await startServices()
    holder = await holderSigner()
  })
  afterAll(() => services.close())

  const issuance = () => new packages.Openid4vciClient({ callbacks: callbacks(services, holder) })
  const presentation = () => new packages.Openid4vpClient({ callbacks: callbacks(services, holder) })

  /** The whole issuance with the key proof in either place, and the credential. */
  async function receive(form: 'proof' | 'proofs', by: 'jwk' | 'did'): Promise<string> {
    const id = await declare(services, configuration)
    const { link } = await startIssuance(services, { credential_configurations: [id] })
    const client = issuance()
    const credentialOffer = await client.resolveCredentialOffer(link)
    expect(credentialOffer.credential_configuration_ids).toEqual([id])
    const issuerMetadata = await client.resolveIssuerMetadata(credentialOffer.credential_issuer)
    expect(issuerMetadata.authorizationServers).toHaveLength(1)
    const { accessTokenResponse } = await client.retrievePreAuthorizedCodeAccessTokenFromOffer({
      credentialOffer,
      issuerMetadata,
    })
    const { c_nonce: nonce } = await client.requestNonce({ issuerMetadata })
    const signer =
      by === 'jwk'
        ? { method: 'jwk', alg: 'ES256', publicJwk: holder.jwk }
        : { method: 'did', alg: 'ES256', didUrl: `${toDidJwk(holder.jwk)}#0` }
    const { jwt } = await client.createCredentialRequestJwtProof({
      issuerMetadata,
      credentialConfigurationId: id,
      nonce,
      issuedAt: services.clock.now,
      signer,
    })
    const { credentialResponse } = await client.retrieveCredentials({
      issuerMetadata,
      accessToken: accessTokenResponse.access_token,
      credentialConfigurationId: id,
      ...(form === 'proof' ? { proof: { proof_type: 'jwt', jwt } } : { proofs: { jwt: [jwt] } }),
    })
    return credentialResponse.credentials[0]?.credential ?? ''
  }

  it.each([
    ['proofs', 'jwk'],
    ['proofs', 'did'],
    ['proof', 'jwk'],
    ['proof', 'did'],
  ] as const)('receives a credential with %s and a key proof by %s', async (form, by) => {
    const credential = await receive(form, by)
    expect(formatOf('jwt_vc_json-ld')?.hold(credential).claims.credentialSubject).toEqual(dataset.credentialSubject)
  })

  it('reads our metadata as that of the final specification, with nothing of ours left out', async () => {
    const id = await declare(services, configuration)
    const { sessionId } = await startIssuance(services, { credential_configurations: [id] })
    for (const issuer of [ISSUER_URL, `${ISSUER_URL}/${sessionId}`]) {
      const { credentialIssuer, originalDraftVersion, authorizationServers } =
        await issuance().resolveIssuerMetadata(issuer)
      expect(originalDraftVersion).toBe('V1')
      expect(credentialIssuer.credential_issuer).toBe(issuer)
      expect(authorizationServers[0]?.issuer).toBe(issuer)
      const known = credentialIssuer.credential_configurations_supported as Record<string, JsonObject>
      expect(known[id]).toMatchObject({ ...configuration, proof_types_supported: { jwt: {} } })
    }
  })

  it('presents what it received, and our verification service accepts it', async () => {
    const credential = await receive('proofs', 'jwk')
    const { sessionId, link } = await startVerification(services)
    const client = presentation()
    const parsed = client.parseOpenid4vpAuthorizationRequest({ authorizationRequest: link })
    expect(parsed.type).toBe('jar')
    const resolved = await client.resolveOpenId4vpAuthorizationRequest({ authorizationRequestPayload: parsed.params })
    expect(resolved).toMatchObject({ version: 100, client: { prefix: 'x509_hash' } })
    const { authorizationRequestPayload } = resolved
    const text = await presentationOf(credential, holder, authorizationRequestPayload, services.clock)
    const { authorizationResponsePayload } = await client.createOpenid4vpAuthorizationResponse({
      authorizationRequestPayload,
      authorizationResponsePayload: { vp_token: { card: [text] } },
    })
    expect(authorizationResponsePayload.state).toBe(authorizationRequestPayload.state)
    const { response } = await client.submitOpenid4vpAuthorizationResponse({
      authorizationRequestPayload,
      authorizationResponsePayload,
    })
    expect([response.status, await response.json()]).toEqual([200, {}])
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
  })

  it('declines, in its own words', async () => {
    const { sessionId, link } = await startVerification(services)
    const client = presentation()
    const { params } = client.parseOpenid4vpAuthorizationRequest({ authorizationRequest: link })
    const { authorizationRequestPayload } = await client.resolveOpenId4vpAuthorizationRequest({
      authorizationRequestPayload: params,
    })
    const { response } = await client.submitOpenid4vpAuthorizationResponse({
      authorizationRequestPayload,
      authorizationResponsePayload: { error: 'access_denied', state: authorizationRequestPayload.state },
    })
    expect(response.status).toBe(200)
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'DECLINED' })
  })

  it('does not take a request object that somebody else signed', async () => {
    const { link } = await startVerification(services)
    const client = new packages.Openid4vpClient({
      callbacks: {
        ...callbacks(services, holder),
        fetch: async (url: string, init?: RequestInit) => {
          const { header, payload } = readJws(await (await services.fetch(url, init)).text())
          return new Response(await writeJws(header, payload, (data) => holder.sign(data)), {
            headers: { 'content-type': 'application/oauth-authz-req+jwt' },
          })
        },
      },
    })
    const { params } = client.parseOpenid4vpAuthorizationRequest({ authorizationRequest: link })
    await expect(client.resolveOpenId4vpAuthorizationRequest({ authorizationRequestPayload: params })).rejects.toThrow()
  })
})
