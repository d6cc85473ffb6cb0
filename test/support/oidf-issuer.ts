/**
 * The wallet of the OpenID Foundation's conformance suite, as its modules for issuers play it: it starts from the link,
 * follows only what it is told, and sends members nobody knows with every request.
 */
import { randomBytes, type webcrypto } from 'node:crypto'
import { compactDecrypt } from 'jose'
import { expect } from 'vitest'
import { isObject, type Json, type JsonObject, memberOf } from '../../src/codec/json.ts'
import { writeJws } from '../../src/codec/jws.ts'
import type { App } from '../../src/http/app-type.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { dpopProof } from './dpop.ts'
import { encryptedRequest } from './encryption.ts'
import type { DrivenFormat } from './oidf-formats.ts'
import { type HaipPlan, haipOptions, tokenByCode } from './oidf-haip.ts'
import { fetchFrom, ISSUER_URL, outboundBy, type ServiceOptions, type Services, startServices } from './services.ts'
import { call, GRANT, holderSigner } from './wire.ts'

/** The suite takes no http: every address of the documents begins like these. */
const HTTPS_ISSUER = 'https://issuer.example'
export const HTTPS_VERIFIER = 'https://verifier.example'

export type Identifier = 'base' | 'session'

/** Services with the wallet by HAIP of their plan, where the plan is by HAIP. */
export interface DrivenServices extends Services {
  readonly plan?: HaipPlan
}

/** Starts both services, the issuer by HAIP. */
export async function startHttpsHaip(
  identifier: Identifier,
  isWalletInitiated: boolean,
  more: ServiceOptions = {},
): Promise<DrivenServices> {
  const { options, instance } = await haipOptions()
  const files = { ...options.files, ...more.files }
  const services = await startHttpsServices(identifier, {
    ...options,
    files,
    issuer: { ...options.issuer, ...more.issuer },
  })
  return { ...services, plan: { instance, isWalletInitiated } }
}

/** Starts both services, the issuer by the name of its certificate. */
export async function startHttpsServices(identifier: Identifier, options: ServiceOptions = {}): Promise<Services> {
  const issuer = { id: ISSUER_URL, display: { name: 'Example University' }, identifier }
  const apps = new Map<string, App>()
  const fetch = fetchFrom(apps)
  const services = await startServices({
    ...options,
    outbound: outboundBy(fetch),
    issuer: { baseUrl: HTTPS_ISSUER, issuer, ...options.issuer },
    verifier: { baseUrl: HTTPS_VERIFIER, ...options.verifier },
  })
  apps.set(HTTPS_ISSUER, services.issuer).set(HTTPS_VERIFIER, services.verifier)
  return { ...services, fetch }
}

/** The state of the wallet after it has read the offer and the documents to which it leads. */
export interface DiscoveredIssuer {
  readonly services: DrivenServices
  readonly driven: DrivenFormat
  readonly offer: JsonObject
  readonly configurationId: string
  readonly metadata: JsonObject
  readonly server: JsonObject
}

export interface AuthorizedClient extends DiscoveredIssuer {
  readonly holder: Signer
  readonly token: JsonObject
  /** The key to which the token is bound; absent for a bearer token. */
  readonly dpopKey?: Signer | undefined
}

/** The ids of configurations by the services that have them: each is made for its first offer. */
const configurationIds = new WeakMap<DrivenServices, Map<JsonObject, Promise<string>>>()

async function declare(services: DrivenServices, configuration: JsonObject): Promise<string> {
  // A wallet by HAIP asks by scope: each configuration has its own.
  const own = services.plan && { scope: `${configuration.scope as string}-${random()}` }
  const created = await call(services, `${HTTPS_ISSUER}/credential-configuration/create`, { ...configuration, ...own })
  expect(created.status).toBe(201)
  return created.text()
}

/** Makes the link of a new offer for one credential, as the application gets it. */
async function offerLink(services: DrivenServices, driven: DrivenFormat): Promise<string> {
  const ids = configurationIds.get(services) ?? new Map<JsonObject, Promise<string>>()
  configurationIds.set(services, ids)
  const id = ids.get(driven.configuration) ?? declare(services, driven.configuration)
  ids.set(driven.configuration, id)
  const session = { credential_dataset: driven.dataset, credential_configurations: [await id] }
  const started = await call(services, `${HTTPS_ISSUER}/issuance/oid4vci/new-session`, session)
  return textOf((await started.json()) as JsonObject, 'credential_offer_uri')
}

export async function discover(services: DrivenServices, driven: DrivenFormat): Promise<DiscoveredIssuer> {
  const link = new URL(await offerLink(services, driven))
  expect([...link.searchParams.keys()]).toEqual(['credential_offer_uri'])
  const offer = await documentAt(services, link.searchParams.get('credential_offer_uri') ?? '')
  const identifier = textOf(offer, 'credential_issuer')
  const metadata = await documentAt(services, wellKnown(identifier, 'openid-credential-issuer'))
  const [server = identifier] = (metadata.authorization_servers ?? []) as readonly string[]
  return {
    services,
    driven,
    offer,
    metadata,
    configurationId: (offer.credential_configuration_ids as readonly string[])[0] ?? '',
    server: await documentAt(services, wellKnown(server, 'oauth-authorization-server')),
  }
}

/**
 * Returns a well-known address, whose name is between host and path. OpenID4VCI 1.0, Credential Issuer Metadata
 * Retrieval; RFC 8414 section 3.
 */
export function wellKnown(identifier: string, name: string): string {
  const { origin, pathname } = new URL(identifier)
  return `${origin}/.well-known/${name}${pathname === '/' ? '' : pathname}`
}

/** Fetches a JSON document from an address that must be https, and expects that any web page may read it. */
export async function documentAt({ fetch }: Services, url: string): Promise<JsonObject> {
  expect(url).toMatch(/^https:\/\//)
  const response = await fetch(url)
  expect([url, response.status]).toEqual([url, 200])
  expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
  return (await response.json()) as JsonObject
}

/**
 * Fetches a token, bound to the key where there is one: as the suite does by DPoP, whose nonce it is told in a first
 * refusal.
 */
export async function authorize(discovery: DiscoveredIssuer, dpopKey?: Signer): Promise<AuthorizedClient> {
  const { plan } = discovery.services
  const key = dpopKey ?? (plan && (await holderSigner()))
  const response = plan === undefined ? await tokenByOffer(discovery, key) : await tokenByPlan(discovery, plan, key)
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
  return { ...discovery, holder: await holderSigner(), token: (await response.json()) as JsonObject, dpopKey: key }
}

function tokenByPlan(discovery: DiscoveredIssuer, plan: HaipPlan, dpopKey: Signer | undefined): Promise<Response> {
  const { services, metadata, configurationId, driven } = discovery
  const described = metadata.credential_configurations_supported as Record<string, JsonObject>
  const scope = textOf(described[configurationId] ?? {}, 'scope')
  const terms = { ...discovery, plan, scope, dataset: driven.dataset }
  return tokenByCode(terms, (url, init) => sendProved({ services, dpopKey }, url, init))
}

function tokenByOffer({ services, offer, server }: DiscoveredIssuer, dpopKey: Signer | undefined): Promise<Response> {
  const grant = memberOf(offer.grants, GRANT) as JsonObject
  const form = { grant_type: GRANT, 'pre-authorized_code': textOf(grant, 'pre-authorized_code'), ...unknownText() }
  const url = textOf(server, 'token_endpoint')
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  const body = new URLSearchParams(form).toString()
  return sendProved({ services, dpopKey }, url, { method: 'POST', headers, body })
}

/** Sends the request, with a DPoP proof where there is a key, and again with the nonce that the first answer wants. */
async function sendProved(
  { services, dpopKey: key, token }: Pick<AuthorizedClient, 'services' | 'dpopKey'> & { readonly token?: string },
  url: string,
  init: RequestInit,
): Promise<Response> {
  if (key === undefined) return services.fetch(url, init)
  const send = async (nonce: string | undefined): Promise<Response> => {
    const proof = { services, key, url, nonce: '', ...(token === undefined ? {} : { token }) }
    const dpop = await dpopProof(proof, { payload: { nonce } })
    return services.fetch(url, { ...init, headers: { ...(init.headers as Record<string, string>), dpop } })
  }
  const refused = await send(undefined)
  expect([400, 401]).toContain(refused.status)
  expect(((await refused.json()) as JsonObject).error).toBe('use_dpop_nonce')
  return send(refused.headers.get('dpop-nonce') ?? '')
}

/** Goes the usual way up to the credential request. */
export async function walletWithToken(services: DrivenServices, driven: DrivenFormat): Promise<AuthorizedClient> {
  return authorize(await discover(services, driven))
}

export async function nonceFor({ services, metadata }: DiscoveredIssuer): Promise<string> {
  const response = await services.fetch(textOf(metadata, 'nonce_endpoint'), { method: 'POST' })
  expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
  return textOf((await response.json()) as JsonObject, 'c_nonce')
}

export interface ProofChanges {
  readonly header?: JsonObject
  readonly payload?: JsonObject
  /** Signs in place of the holder. */
  readonly thief?: Signer
}

/** Makes a key proof. The suite names a client in iss, although it is anonymous. */
export async function proofFor(wallet: AuthorizedClient, changes: ProofChanges = {}): Promise<string> {
  const payload = {
    iss: 'conformance-suite',
    aud: wallet.metadata.credential_issuer as Json,
    iat: Math.floor(wallet.services.clock.now.getTime() / 1000),
    nonce: await nonceFor(wallet),
    ...changes.payload,
  }
  const header = { typ: 'openid4vci-proof+jwt', alg: 'ES256', jwk: { ...wallet.holder.jwk }, ...changes.header }
  return writeJws(header, payload, (data) => (changes.thief ?? wallet.holder).sign(data))
}

export interface RequestChanges {
  /** Members of the body; undefined ones are left out. */
  readonly members?: Readonly<Record<string, unknown>>
  /** Encrypts the body to the key of the metadata, with these header members. */
  readonly encrypted?: { readonly enc: string; readonly zip?: string }
  readonly headers?: Readonly<Record<string, string>>
  readonly query?: string
}

/** Sends a credential request as it should be, with unknown members, but for the changes. */
export async function credentialResponse(wallet: AuthorizedClient, changes: RequestChanges = {}): Promise<Response> {
  const { metadata, token, configurationId } = wallet
  const usual = 'proofs' in (changes.members ?? {}) ? {} : { proofs: { jwt: [await proofFor(wallet)] } }
  const body = JSON.stringify({
    credential_configuration_id: configurationId,
    ...usual,
    ...unknownText(),
    [random()]: { nested: [random()] },
    ...changes.members,
  })
  const url = `${textOf(metadata, 'credential_endpoint')}${changes.query ?? ''}`
  return sendProved({ ...wallet, token: textOf(token, 'access_token') }, url, {
    method: 'POST',
    headers: {
      'content-type': changes.encrypted ? 'application/jwt' : 'application/json',
      authorization: `${textOf(token, 'token_type')} ${textOf(token, 'access_token')}`,
      ...changes.headers,
    },
    body: changes.encrypted ? await encryptedRequest(metadata, body, changes.encrypted) : body,
  })
}

/** Sends a notification of a credential with an unknown member. */
export function sendNotification(wallet: AuthorizedClient, members: object): Promise<Response> {
  const token = textOf(wallet.token, 'access_token')
  return sendProved({ ...wallet, token }, textOf(wallet.metadata, 'notification_endpoint'), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `${textOf(wallet.token, 'token_type')} ${token}`,
    },
    body: JSON.stringify({ ...members, ...unknownText() }),
  })
}

/**
 * Decrypts, by an independent library, the answer to a wallet that wants it encrypted to its key, as `credentialIn`
 * wants it.
 */
export async function decryptResponse(response: Response, key: webcrypto.CryptoKey): Promise<Response> {
  expect(response.headers.get('content-type')).toBe('application/jwt')
  const { plaintext, protectedHeader } = await compactDecrypt(await response.text(), key)
  expect(protectedHeader).toMatchObject({ alg: 'ECDH-ES', kid: 'suite' })
  const headers = { 'cache-control': response.headers.get('cache-control') ?? '' }
  return Response.json(JSON.parse(Buffer.from(plaintext).toString()), { status: response.status, headers })
}

/** Returns the one credential of a response; anything else than it and a notification id is unknown to the suite. */
export async function credentialIn(response: Response): Promise<unknown> {
  const body = (await response.json()) as JsonObject
  expect([response.status, body]).toEqual([200, expect.objectContaining({ credentials: expect.any(Array) as unknown })])
  expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
  expect(response.headers.get('cache-control')).toBe('no-store')
  expect(Object.keys(body).filter((name) => !['credentials', 'notification_id'].includes(name))).toEqual([])
  const credentials = body.credentials as readonly Json[]
  expect(credentials.map((each) => isObject(each) && Object.keys(each))).toEqual([['credential']])
  return (credentials[0] as JsonObject).credential
}

/** The codes of OpenID4VCI 1.0, Credential Error Response: the suite takes no others. */
const CODES = [
  'invalid_credential_request',
  'unknown_credential_configuration',
  'unknown_credential_identifier',
  'invalid_proof',
  'invalid_nonce',
  'invalid_encryption_parameters',
  'credential_request_denied',
]

export async function expectError(response: Response, code: string): Promise<void> {
  const body = (await response.json()) as JsonObject
  expect(CODES).toContain(code)
  expect([response.status, body.error]).toEqual([400, code])
  expect(Object.keys(body).filter((name) => !['error', 'error_description'].includes(name))).toEqual([])
  expect(body.error_description ?? '').toMatch(/^[ !#-[\]-~]*$/)
  expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
  expect(response.headers.get('cache-control')).toBe('no-store')
}

export function textOf(object: JsonObject, name: string): string {
  const value = memberOf(object, name)
  expect([name, typeof value]).toEqual([name, 'string'])
  return value as string
}

function random(): string {
  return randomBytes(12).toString('hex')
}

function unknownText(): Record<string, string> {
  return { [random()]: random() }
}
