/** The npm packages `@openid4vc/*` as a wallet, with our keys and `fetch`, and the rows they take. */
import assert from 'node:assert/strict'
import { createPublicKey, randomBytes } from 'node:crypto'
import { exportJWK, type JWK } from 'jose'
import type { JsonObject } from '../../src/codec/json.ts'
import { readJws, writeJws } from '../../src/codec/jws.ts'
import { parseCertificate } from '../../src/keys/certificate.ts'
import { toDidJwk } from '../../src/keys/did.ts'
import { isJwsSignedBy } from '../../src/keys/signature.ts'
import type { Signer } from '../../src/keys/signer.ts'
import type { Services } from '../support/services.ts'
import { encryptFor, type Holder, makeHolder, presentJwt, sha256, type WalletRequest } from './holder.ts'
import { presentMdoc } from './mdoc.ts'
import type { Row, Step } from './rows.ts'
import { assertVerified, offerOf, requestOf } from './samples.ts'
import { presentSdJwt } from './sd-jwt.ts'

type Call<Result> = (options: object) => Promise<Result>

interface IssuanceClient {
  readonly initiateAuthorization: Call<{
    readonly authorizationRequestUrl: string
    readonly pkce?: { readonly codeVerifier: string }
  }>
  parseAndVerifyAuthorizationResponseRedirectUrl(options: object): { readonly code?: string }
  readonly retrieveAuthorizationCodeAccessTokenFromOffer: Call<{
    readonly accessTokenResponse: { readonly access_token: string }
    readonly dpop?: object
  }>
  resolveCredentialOffer(
    link: string,
  ): Promise<{ readonly credential_issuer: string; readonly credential_configuration_ids: readonly string[] }>
  resolveIssuerMetadata(issuer: string): Promise<Metadata>
  readonly retrievePreAuthorizedCodeAccessTokenFromOffer: Call<{
    readonly accessTokenResponse: { readonly access_token: string; readonly c_nonce?: string }
    readonly dpop?: object
  }>
  readonly requestNonce: Call<{ readonly c_nonce: string }>
  readonly createCredentialRequestJwtProof: Call<{ readonly jwt: string }>
  readonly retrieveCredentials: Call<{
    readonly credentialResponse: {
      readonly credential?: string
      readonly credentials?: readonly (string | { readonly credential: string })[]
    }
  }>
}

interface Metadata {
  readonly credentialIssuer: JsonObject
  readonly authorizationServers: readonly JsonObject[]
  readonly originalDraftVersion: string
}

interface PresentationClient {
  parseOpenid4vpAuthorizationRequest(options: object): { readonly type: string; readonly params: JsonObject }
  readonly resolveOpenId4vpAuthorizationRequest: Call<ResolvedRequest>
  readonly createOpenid4vpAuthorizationResponse: Call<{
    readonly authorizationResponsePayload: JsonObject
    readonly jarm?: { readonly responseJwt: string }
  }>
  readonly submitOpenid4vpAuthorizationResponse: Call<{ readonly response: Response }>
}

interface ResolvedRequest {
  readonly authorizationRequestPayload: WalletRequest
  readonly client: { readonly prefix: string; readonly identifier: string }
  readonly dcql: { readonly query: unknown }
  readonly version: number
}

interface Packages {
  readonly Openid4vciClient: new (options: object) => IssuanceClient
  readonly Openid4vpClient: new (options: object) => PresentationClient
  readonly setGlobalConfig: (config: object) => void
  readonly clientAuthenticationAnonymous: () => unknown
  readonly clientAuthenticationNone: (options: { readonly clientId: string }) => unknown
}

// The packages are named at run time, because they are installed for these tests only, and their types take seconds to
// check.
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

export type Fetch = typeof globalThis.fetch

/** Makes the parts that the packages leave to the wallet: its keys, hashes, randomness, and the network. */
function callbacks(holder: Signer, fetch: Fetch, clientId?: string) {
  return {
    fetch,
    hash: (data: Uint8Array) => sha256(data),
    generateRandom: (length: number) => new Uint8Array(randomBytes(length)),
    clientAuthentication:
      clientId === undefined
        ? packages.clientAuthenticationAnonymous()
        : packages.clientAuthenticationNone({ clientId }),
    signJwt: async (_: JwtSigner, jwt: { readonly header: JsonObject; readonly payload: JsonObject }) => ({
      jwt: await writeJws(jwt.header, jwt.payload, (data) => holder.sign(data)),
      signerJwk: holder.jwk,
    }),
    encryptJwe: async ({ publicJwk }: { readonly publicJwk: JWK }, payload: string) => ({
      encryptionJwk: publicJwk,
      jwe: await encryptFor(publicJwk, payload),
    }),
    verifyJwt: async ({ x5c }: JwtSigner, { compact }: { readonly compact: string }) => {
      const { publicKey } = parseCertificate(Buffer.from(x5c?.[0] ?? '', 'base64'))
      return {
        verified: isJwsSignedBy(readJws(compact), publicKey),
        signerJwk: await exportJWK(createPublicKey(publicKey.export({ type: 'spki', format: 'pem' }))),
      }
    },
    getX509CertificateMetadata: (text: string) => {
      const { dnsNames, uris } = parseCertificate(Buffer.from(text, 'base64'))
      return { sanDnsNames: dnsNames, sanUriNames: uris }
    },
  }
}

export function issuanceClient(
  services: Services,
  holder: Signer,
  fetch: Fetch = services.fetch,
  clientId?: string,
): IssuanceClient {
  return new packages.Openid4vciClient({ callbacks: callbacks(holder, fetch, clientId) })
}

/** Sets the headers by which a client authenticates itself to the server of the metadata. */
export type Authenticate = (request: {
  readonly headers: Headers
  readonly authorizationServerMetadata: JsonObject
}) => Promise<void>

/** Makes a client of a wallet that has a key for each purpose, and authenticates itself. */
export function authenticatedClient(
  { fetch }: Pick<Services, 'fetch'>,
  keys: readonly [Signer, ...Signer[]],
  clientAuthentication: Authenticate,
): IssuanceClient {
  const signJwt = async (
    { publicJwk }: { readonly publicJwk: JWK },
    { header, payload }: { readonly header: JsonObject; readonly payload: JsonObject },
  ) => {
    const signer = keys.find(({ jwk }) => jwk.x === publicJwk.x) ?? assert.fail('the wallet has no such key')
    return { jwt: await writeJws(header, payload, (data) => signer.sign(data)), signerJwk: signer.jwk }
  }
  return new packages.Openid4vciClient({ callbacks: { ...callbacks(keys[0], fetch), signJwt, clientAuthentication } })
}

export function presentationClient(
  services: Services,
  holder: Signer,
  fetch: Fetch = services.fetch,
): PresentationClient {
  return new packages.Openid4vpClient({ callbacks: callbacks(holder, fetch) })
}

/** The differences of a wallet of some version of OpenID4VCI from one of the final version. */
export interface Dialect {
  /** The name of the version in the package, which makes the credential request by it. */
  readonly version: 'V1' | 'Draft15' | 'Draft14'
  readonly proof: 'proof' | 'proofs'
  readonly key: 'jwk' | 'did'
  readonly nonceFrom: 'nonce endpoint' | 'token response'
  /** The client id that asks for the token, where the authorization server wants to know. */
  readonly clientId?: string
  readonly txCode?: string
  /** Tells whether the wallet binds its token, by proofs of the one key that it has here. */
  readonly dpop?: boolean
}

export const FINAL: Dialect = { version: 'V1', proof: 'proofs', key: 'jwk', nonceFrom: 'nonce endpoint' }

/** Asks as a wallet before draft 16 does, which appended the well-known path to the identifier. */
function withoutInsertedPaths(fetch: Fetch): Fetch {
  return (input, init) => {
    const { pathname } = new URL(input instanceof Request ? input.url : input)
    const inserted = pathname.startsWith('/.well-known/openid-credential-issuer/')
    return inserted ? Promise.resolve(new Response(null, { status: 404 })) : fetch(input, init)
  }
}

/** Runs the whole issuance, and returns the credential. */
export async function receive(
  services: Services,
  offer: { readonly link: string; readonly id: string },
  { signer }: Pick<Holder, 'signer'>,
  dialect: Dialect = FINAL,
  step: Step = async (_, work) => await work(),
): Promise<string> {
  const { version, proof, key, nonceFrom, clientId, txCode } = dialect
  const fetch = version === 'V1' ? services.fetch : withoutInsertedPaths(services.fetch)
  const client = issuanceClient(services, signer, fetch, clientId)
  const credentialOffer = await step('offer', () => client.resolveCredentialOffer(offer.link))
  assert.deepEqual(credentialOffer.credential_configuration_ids, [offer.id])
  const served = await step('metadata', () => client.resolveIssuerMetadata(credentialOffer.credential_issuer))
  const issuerMetadata = { ...served, originalDraftVersion: version }
  const terms = { credentialOffer, issuerMetadata, txCode, ...(dialect.dpop && { dpop: dpopOptions(signer) }) }
  const { accessTokenResponse, dpop } = await step('token', () =>
    client.retrievePreAuthorizedCodeAccessTokenFromOffer(terms),
  )
  const nonce = await step('nonce', async () =>
    nonceFrom === 'nonce endpoint'
      ? (await client.requestNonce({ issuerMetadata })).c_nonce
      : (accessTokenResponse.c_nonce ?? assert.fail('the token response has no c_nonce')),
  )
  const method = key === 'jwk' ? { publicJwk: signer.jwk } : { didUrl: `${toDidJwk(signer.jwk)}#0` }
  const { jwt } = await step('key proof', () =>
    client.createCredentialRequestJwtProof({
      issuerMetadata,
      credentialConfigurationId: offer.id,
      nonce,
      issuedAt: services.clock.now,
      signer: { method: key, alg: signer.alg, ...method },
    }),
  )
  return step('credential', async () => {
    const { credentialResponse } = await client.retrieveCredentials({
      issuerMetadata,
      accessToken: accessTokenResponse.access_token,
      credentialConfigurationId: offer.id,
      ...(dpop && { dpop }),
      ...(proof === 'proof' ? { proof: { proof_type: 'jwt', jwt } } : { proofs: { jwt: [jwt] } }),
    })
    const [first] = credentialResponse.credentials ?? [credentialResponse.credential ?? '']
    return typeof first === 'object' ? first.credential : (first ?? assert.fail('no credential'))
  })
}

function dpopOptions({ alg, jwk }: Signer): object {
  return { signer: { method: 'jwk', alg, publicJwk: jwk } }
}

/** Resolves the link, answers with what `make` makes for the request, and returns the verifier's answer. */
export async function present(
  services: Services,
  link: string,
  { signer }: Pick<Holder, 'signer'>,
  make: (asked: WalletRequest) => Promise<string>,
  step: Step = async (_, work) => await work(),
): Promise<Response> {
  const client = presentationClient(services, signer)
  const { authorizationRequestPayload } = await step('request', () => {
    const { params } = client.parseOpenid4vpAuthorizationRequest({ authorizationRequest: link })
    return client.resolveOpenId4vpAuthorizationRequest({ authorizationRequestPayload: params })
  })
  const presentation = await step('presentation', () => make(authorizationRequestPayload))
  return step('response', async () => {
    const authorizationResponse = await client.createOpenid4vpAuthorizationResponse({
      authorizationRequestPayload,
      authorizationResponsePayload: { vp_token: { card: [presentation] } },
      ...encryption(authorizationRequestPayload),
    })
    const { response } = await client.submitOpenid4vpAuthorizationResponse({
      authorizationRequestPayload,
      ...authorizationResponse,
    })
    return response
  })
}

/** Returns the options for the encryption of a response, if the request wants it. */
export function encryption({ response_mode: mode, client_metadata: metadata }: WalletRequest): object {
  if (!mode?.endsWith('.jwt')) return {}
  const serverMetadata = {
    authorization_encryption_alg_values_supported: ['ECDH-ES'],
    authorization_encryption_enc_values_supported: ['A128GCM'],
  }
  return { jarm: { encryption: { jwk: metadata?.jwks?.keys[0] }, serverMetadata } }
}

const presenters: Readonly<Record<string, typeof presentSdJwt>> = {
  mso_mdoc: (_, credential, holder, request) => presentMdoc(credential, holder, request),
  jwt_vc_json: (_, credential, holder, request) => presentJwt(credential, holder, request),
}

/** Makes the presentation of a credential with the package of its format. */
export const presentByFormat: typeof presentSdJwt = (format, ...rest) =>
  (presenters[format] ?? presentSdJwt)(format, ...rest)

function row(format: string, specification: string, dialect: Dialect, holding: readonly string[]): Row {
  return {
    packages: ['@openid4vc/openid4vci', '@openid4vc/openid4vp', ...holding],
    role: 'wallet',
    specification: `${specification}, OpenID4VP 1.0`,
    format,
    ...(dialect.nonceFrom === 'token response' && { issuer: { compatibility: ['draft13'] } }),
    run: async (services, step) => {
      const holder = await makeHolder()
      const credential = await receive(services, await offerOf(services, format), holder, dialect, step)
      const { sessionId, link } = await requestOf(services, format)
      const response = await present(
        services,
        link,
        holder,
        (request) => presentByFormat(format, credential, holder, request),
        step,
      )
      await step('verification', async () => {
        assert.deepEqual([response.status, await response.json()], [200, {}])
        await assertVerified(services, format, sessionId)
      })
    },
  }
}

/** The formats, each with the packages that hold its credentials. */
export const formats: Readonly<Record<string, readonly string[]>> = {
  'jwt_vc_json-ld': ['@sd-jwt/core'],
  jwt_vc_json: [],
  'dc+sd-jwt': ['@sd-jwt/sd-jwt-vc'],
  mso_mdoc: ['@owf/mdoc'],
}

const dialects: Readonly<Record<string, Dialect>> = {
  'OpenID4VCI 1.0': FINAL,
  'OpenID4VCI draft 15': { ...FINAL, version: 'Draft15', proof: 'proof', key: 'did' },
  'OpenID4VCI draft 14': { ...FINAL, version: 'Draft14', proof: 'proof' },
  'OpenID4VCI draft 13 (`compatibility`)': {
    version: 'Draft14',
    proof: 'proof',
    key: 'did',
    nonceFrom: 'token response',
  },
}

const CLAIMS_OF_DRAFT_15 = {
  at: 'credential',
  error: /Unknown format 'mso_mdoc'/,
  because:
    'claims are a tree in draft 14 and a list in draft 15; we serve the list, and the tree where `compatibility` names draft 13',
}

/** Every format in every version that the packages can act as. */
export const openid4vcRows: readonly Row[] = Object.entries(dialects).flatMap(([specification, dialect]) =>
  Object.entries(formats).map(([format, holding]) => ({
    ...row(format, specification, dialect, holding),
    ...(specification === 'OpenID4VCI draft 14' && format === 'mso_mdoc' ? { fails: CLAIMS_OF_DRAFT_15 } : {}),
  })),
)
