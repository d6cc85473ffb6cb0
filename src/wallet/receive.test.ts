import { createPublicKey, randomBytes } from 'node:crypto'
import type { UnderlyingSource } from 'node:stream/web'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configurationOf } from '../../test/support/configuration.ts'
import { ISSUER_URL, makeKey, type Services, startServices } from '../../test/support/services.ts'
import { changing, errorOf, memoryStore, testWallet, withMembers } from '../../test/support/wallet.ts'
import { configuration, dataset, declare, holderSigner, startIssuance } from '../../test/support/wire.ts'
import { type JsonObject, memberOf } from '../codec/json.ts'
import { readJws, writeJws } from '../codec/jws.ts'
import type { Order } from '../credential/format.ts'
import { formatOf } from '../credential/formats.ts'
import { readPemCertificates } from '../keys/certificate.ts'
import { readDid } from '../keys/did.ts'
import { createSigner } from '../keys/file-signer.ts'
import { encryptJwe } from '../keys/jwe.ts'
import { type PublicJwk, readPublicJwk } from '../keys/jwk.ts'
import { makeSelfSignedCertificate, toPem } from '../keys/make-certificate.ts'
import type { Signer } from '../keys/signer.ts'
import type { WalletErrorCode } from './error.ts'
import { receiveOffer } from './receive.ts'

const OFFER = '/credential-offer/'
const METADATA = '/openid-credential-issuer'
const SERVER = '/oauth-authorization-server'
const TOKEN = '/token-endpoint'
const NONCE = '/oid4vci/nonce'
const CREDENTIAL = '/credential-request'
const YEAR = 365 * 86_400_000

type Answer = (response: Response, init: RequestInit) => Response | Promise<Response>
type Row = readonly [wrong: string, path: string, answer: Answer, code: WalletErrorCode, message: RegExp]

/** Metadata of an issuer that requires encryption, and has it in another way than ours. */
const changedEncryption =
  (name: string, members: object): Answer =>
  async (response) => {
    const metadata = (await response.json()) as JsonObject
    const block = { ...(memberOf(metadata, name) as JsonObject), encryption_required: true, ...members }
    return Response.json({ ...metadata, [name]: block })
  }

const grant = (members: object) => ({
  grants: { 'urn:ietf:params:oauth:grant-type:pre-authorized_code': { 'pre-authorized_code': 'code', ...members } },
})

const offers: readonly Row[] = [
  ['no grant we know', OFFER, withMembers({ grants: { implicit: {} } }), 'unsupported', /no pre-authorized code/],
  [
    'the authorization code flow, which this wallet has no browser for',
    OFFER,
    withMembers({ grants: { authorization_code: {} } }),
    'unsupported',
    /cannot send you there/,
  ],
  ['no grants', OFFER, withMembers({ grants: undefined }), 'unsupported', /no pre-authorized code/],
  ['a transaction code', OFFER, withMembers(grant({ tx_code: {} })), 'needs_tx_code', /transaction code/],
  [
    'no code',
    OFFER,
    withMembers(grant({ 'pre-authorized_code': '' })),
    'invalid_offer',
    /code of the offer is missing/,
  ],
  ['no credentials', OFFER, withMembers({ credential_configuration_ids: [] }), 'invalid_offer', /non-empty array/],
  [
    'a credential twice',
    OFFER,
    withMembers({ credential_configuration_ids: ['a', 'a'] }),
    'invalid_offer',
    /different/,
  ],
  [
    'too many credentials',
    OFFER,
    withMembers({ credential_configuration_ids: Array.from({ length: 21 }, (_, i) => `c${i}`) }),
    'unsupported',
    /more than 20/,
  ],
  ['ids that are numbers', OFFER, withMembers({ credential_configuration_ids: [1] }), 'invalid_offer', /strings/],
  ['an issuer with a query', OFFER, withMembers({ credential_issuer: `${ISSUER_URL}/?a` }), 'invalid_offer', /query/],
  ['an issuer that is not a URL', OFFER, withMembers({ credential_issuer: 'me' }), 'invalid_offer', /absolute URL/],
  [
    'an issuer with a password',
    OFFER,
    withMembers({ credential_issuer: 'https://a:b@c' }),
    'invalid_offer',
    /password/,
  ],
  [
    'a public issuer without TLS',
    OFFER,
    withMembers({ credential_issuer: 'http://a.example' }),
    'insecure_address',
    /https/,
  ],
  [
    'an authorization server that is not the issuer’s',
    OFFER,
    async (response) => {
      const offer = (await response.json()) as { grants: Record<string, JsonObject> }
      for (const each of Object.values(offer.grants)) each.authorization_server = 'https://other.example'
      return Response.json(offer)
    },
    'invalid_offer',
    /which the metadata of the issuer does not list/,
  ],
]

const configured = (change: (each: JsonObject) => object): Answer => {
  return async (response) => {
    const metadata = (await response.json()) as { credential_configurations_supported: Record<string, JsonObject> }
    const { credential_configurations_supported: all } = metadata
    const changed = Object.entries(all).map(([id, each]) => [id, { ...each, ...change(each) }] as const)
    return Response.json({ ...metadata, credential_configurations_supported: Object.fromEntries(changed) })
  }
}

const documents: readonly Row[] = [
  [
    'metadata of another issuer',
    METADATA,
    withMembers({ credential_issuer: ISSUER_URL }),
    'invalid_metadata',
    /another/,
  ],
  [
    'metadata that adds a slash to the identifier',
    METADATA,
    async (response) => {
      const metadata = (await response.json()) as { credential_issuer: string }
      return Response.json({ ...metadata, credential_issuer: `${metadata.credential_issuer}/` })
    },
    'invalid_metadata',
    /another credential_issuer/,
  ],
  [
    'no configuration for the id',
    METADATA,
    withMembers({ credential_configurations_supported: {} }),
    'invalid_metadata',
    /does not describe/,
  ],
  [
    'configurations in an array',
    METADATA,
    withMembers({ credential_configurations_supported: [] }),
    'invalid_metadata',
    /not an object/,
  ],
  [
    'no credential endpoint',
    METADATA,
    withMembers({ credential_endpoint: undefined }),
    'invalid_metadata',
    /credential_endpoint/,
  ],
  [
    'an endpoint without TLS',
    METADATA,
    withMembers({ credential_endpoint: 'http://a.example/' }),
    'insecure_address',
    /https/,
  ],
  [
    'a nonce endpoint without TLS',
    METADATA,
    withMembers({ nonce_endpoint: 'http://a.example/' }),
    'insecure_address',
    /https/,
  ],
  [
    'no authorization servers in the list',
    METADATA,
    withMembers({ authorization_servers: [] }),
    'invalid_metadata',
    /authorization_servers/,
  ],
  [
    'encrypted responses without encrypted requests',
    METADATA,
    withMembers({
      credential_request_encryption: undefined,
      credential_response_encryption: { encryption_required: true },
    }),
    'invalid_metadata',
    /credential_request_encryption/,
  ],
  [
    'encrypted requests to no key that we can use',
    METADATA,
    withMembers({
      credential_request_encryption: {
        encryption_required: true,
        jwks: { keys: [null, { kty: 'RSA', n: 'AA', e: 'AQAB', alg: 'RSA-OAEP' }] },
        enc_values_supported: ['A128GCM'],
      },
    }),
    'unsupported',
    /no key that this wallet can use/,
  ],
  [
    'an encryption of requests that we do not do',
    METADATA,
    changedEncryption('credential_request_encryption', { enc_values_supported: ['A192GCM'] }),
    'unsupported',
    /credential_request_encryption\.enc_values_supported/,
  ],
  [
    'an encryption of responses that we do not do',
    METADATA,
    changedEncryption('credential_response_encryption', { enc_values_supported: 'A128GCM' }),
    'unsupported',
    /credential_response_encryption\.enc_values_supported/,
  ],
  [
    'an agreement on keys that we do not do',
    METADATA,
    changedEncryption('credential_response_encryption', { alg_values_supported: ['RSA-OAEP'] }),
    'unsupported',
    /ECDH-ES/,
  ],
  ['an unknown format', METADATA, configured(() => ({ format: 'ldp_vc' })), 'unsupported', /format ldp_vc/],
  ['no key proofs', METADATA, configured(() => ({ proof_types_supported: {} })), 'unsupported', /no key proof/],
  [
    'attested keys only',
    METADATA,
    configured(() => ({
      proof_types_supported: { jwt: { proof_signing_alg_values_supported: ['ES256'], key_attestations_required: {} } },
    })),
    'unsupported',
    /attestation/,
  ],
  [
    'key proofs by algorithms that we do not have',
    METADATA,
    configured(() => ({ proof_types_supported: { jwt: { proof_signing_alg_values_supported: ['ES256K', -7] } } })),
    'unsupported',
    /no key proof of the type jwt signed with one of ES256, ES384, ES512, EdDSA, Ed25519/,
  ],
  [
    'other binding methods',
    METADATA,
    configured(() => ({ cryptographic_binding_methods_supported: ['did:web'] })),
    'unsupported',
    /did:web/,
  ],
  [
    'an authorization server with another name',
    SERVER,
    withMembers({ issuer: ISSUER_URL }),
    'invalid_metadata',
    /another issuer/,
  ],
  ['no token endpoint', SERVER, withMembers({ token_endpoint: undefined }), 'invalid_metadata', /token_endpoint/],
  [
    'a token endpoint without TLS',
    SERVER,
    withMembers({ token_endpoint: 'http://a.example/' }),
    'insecure_address',
    /https/,
  ],
]

const answers: readonly Row[] = [
  ['a DPoP token without a proof', TOKEN, withMembers({ token_type: 'DPoP' }), 'invalid_response', /not Bearer/],
  ['a token of another type', TOKEN, withMembers({ token_type: 'mac' }), 'invalid_response', /token_type/],
  ['no token', TOKEN, withMembers({ access_token: undefined }), 'invalid_response', /access_token/],
  ['a token that adds a header', TOKEN, withMembers({ access_token: 'a\r\nx: y' }), 'invalid_response', /access_token/],
  ['no nonce', NONCE, withMembers({ c_nonce: undefined }), 'invalid_response', /c_nonce/],
  ['a credential for later', CREDENTIAL, withMembers({ transaction_id: 't' }), 'not_yet', /new offer later/],
  ['a transaction without an id', CREDENTIAL, withMembers({ transaction_id: 7 }), 'invalid_response', /not a string/],
  [
    'a negative interval',
    CREDENTIAL,
    withMembers({ transaction_id: 't', interval: -1 }),
    'invalid_response',
    /interval/,
  ],
  ['no credentials', CREDENTIAL, withMembers({ credentials: [] }), 'invalid_response', /credentials\[0\]/],
  [
    'a credential that is an object',
    CREDENTIAL,
    withMembers({ credentials: [{ credential: {} }] }),
    'invalid_response',
    /string/,
  ],
  [
    'a credential that is nothing',
    CREDENTIAL,
    withMembers({ credentials: [{ credential: 'x' }] }),
    'invalid_credential',
    /cannot be read/,
  ],
  [
    'an error',
    TOKEN,
    () => Response.json({ error: 'invalid_grant', error_description: 'used' }, { status: 400 }),
    'refused',
    /used \(invalid_grant, status 400\)/,
  ],
  [
    'an error that says nothing',
    NONCE,
    () => new Response('', { status: 500 }),
    'refused',
    /does not say why \(status 500\)/,
  ],
]

describe('an issuer that does one thing wrong', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  it.each([...offers, ...documents])(
    'is refused before the code is spent: %s',
    async (_, path, answer, code, message) => {
      const { wallet, texts, sent } = testWallet(changing(services.fetch, path, answer), services.clock)
      const error = await errorOf(receiveOffer(wallet, (await startIssuance(services)).link))
      expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)])
      expect(texts.size).toBe(0)
      expect(sent.filter(({ to }) => to.startsWith('POST'))).toEqual([])
    },
  )

  it.each(answers)('is refused, and nothing is stored: %s', async (_, path, answer, code, message) => {
    const { wallet, texts } = testWallet(changing(services.fetch, path, answer), services.clock)
    const error = await errorOf(receiveOffer(wallet, (await startIssuance(services)).link))
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)])
    expect(texts.size).toBe(0)
  })

  const limits = { seconds: 10, bytes: 20_000 }
  const transport: readonly (readonly [string, Answer, WalletErrorCode, RegExp])[] = [
    [
      'redirects',
      () => new Response(null, { status: 302, headers: { location: ISSUER_URL } }),
      'invalid_response',
      /redirects/,
    ],
    ['answers without end', () => endless(), 'invalid_response', /larger than 20000 bytes/],
    ['breaks off', () => broken(), 'unreachable', /cannot be reached \(ECONNRESET\)/],
    [
      'is not there',
      () => Promise.reject(new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })),
      'unreachable',
      /ECONNREFUSED/,
    ],
    [
      'answers with a page',
      () => new Response('<p>', { headers: { 'content-type': 'text/html' } }),
      'invalid_response',
      /text\/html/,
    ],
    [
      'answers with no JSON',
      () => new Response('{', { headers: { 'content-type': 'application/json' } }),
      'invalid_response',
      /cannot be read/,
    ],
    ['answers with an array', () => Response.json([]), 'invalid_response', /not a JSON object/],
  ]
  const everywhere = [OFFER, METADATA, SERVER, TOKEN, NONCE, CREDENTIAL]

  it.each(transport)('%s, at any step', async (_, answer, code, message) => {
    for (const path of everywhere) {
      const { link } = await startIssuance(services)
      const { wallet, texts } = testWallet(changing(services.fetch, path, answer), services.clock, { limits })
      const error = await errorOf(receiveOffer(wallet, link))
      expect([path, error.code, error.message]).toEqual([path, code, expect.stringMatching(message)])
      expect(texts.size).toBe(0)
    }
  })

  it.each([
    ['does not answer', () => new Promise<Response>(() => undefined)],
    ['stops in the middle', () => Promise.resolve(stalled())],
  ])('%s, and is not waited for', async (_, answer) => {
    const { wallet } = testWallet(answer, services.clock, { limits: { seconds: 0.05, bytes: 1000 } })
    const error = await errorOf(receiveOffer(wallet, (await startIssuance(services)).link))
    expect([error.code, error.message]).toEqual(['unreachable', expect.stringMatching(/longer than 0\.05 seconds/)])
  })

  it('gives every request a time, and asks for redirects not to be followed', async () => {
    const modes: unknown[] = []
    const fetch: typeof globalThis.fetch = (input, init) => {
      modes.push([init?.redirect, init?.signal instanceof AbortSignal])
      return services.fetch(input, init)
    }
    const { wallet } = testWallet(fetch, services.clock)
    await receiveOffer(wallet, (await startIssuance(services)).link)
    expect(modes).toEqual([...everywhere, '/notification'].map(() => ['manual', true]))
  })
})

interface Made {
  readonly order: Order
  readonly signer: Signer
}

describe('a credential with one thing wrong', () => {
  let services: Services
  let issuer: Signer
  beforeAll(async () => {
    services = await startServices()
    issuer = createSigner(services.issuerKey, readPemCertificates(services.files.get('issuer.pem') ?? ''))
  })
  afterAll(() => services.close())

  /** Answers with a credential that is as it should be, but for what `change` does. */
  const issuing = (
    change: (made: Made) => Made | Promise<Made>,
    after = (text: string) => text,
  ): typeof globalThis.fetch =>
    changing(services.fetch, CREDENTIAL, async (_, init) => {
      const hour = 3_600_000
      const now = services.clock.now.getTime()
      const { order, signer } = await change({
        order: {
          configuration: configurationOf(configuration),
          dataset,
          issuer: ISSUER_URL,
          holderKey: proofKey(init),
          issuedAt: new Date(now - hour),
          expiresAt: new Date(now + hour),
        },
        signer: issuer,
      })
      const credential = await formatOf('jwt_vc_json-ld')?.issue(order, signer, randomBytes)
      return Response.json({ credentials: [{ credential: after(credential ?? '') }] })
    })

  const chained = (from: Date, until: Date): Signer => {
    const key = services.issuerKey
    const publicKey = createPublicKey(key)
    const names = { commonName: 'Example', serial: Buffer.of(1), notBefore: from, notAfter: until }
    const der = makeSelfSignedCertificate({ privateKey: key, publicKey, ...names })
    return createSigner(key, readPemCertificates(toPem(der)))
  }

  it('is kept when nothing is wrong', async () => {
    const { wallet, texts } = testWallet(
      issuing((made) => made),
      services.clock,
    )
    await receiveOffer(wallet, (await startIssuance(services)).link)
    expect(texts.size).toBe(1)
  })

  it('is kept as a plain JWT, of which nothing can be hidden', async () => {
    const open = ({ order, signer }: Made): Made => {
      return {
        signer,
        order: { ...order, configuration: configurationOf({ ...configuration, selective_disclosure: 'none' }) },
      }
    }
    const { wallet } = testWallet(
      issuing(open, (text) => text.slice(0, -1)),
      services.clock,
    )
    const [stored] = await receiveOffer(wallet, (await startIssuance(services)).link)
    expect(stored?.credential).not.toContain('~')
    expect(stored?.disclosable).toEqual([])
  })

  const rows: readonly (readonly [string, (made: Made) => Made | Promise<Made>, RegExp])[] = [
    [
      'bound to another key',
      async ({ order, signer }) => ({ signer, order: { ...order, holderKey: createSigner(await makeKey(), []).jwk } }),
      /bound to another key/,
    ],
    [
      'signed by another key than that of its certificate',
      async ({ order, signer }) => ({ order, signer: { ...createSigner(await makeKey(), []), x5c: signer.x5c } }),
      /signature is not by the key of CN=issuer\.localhost/,
    ],
    [
      'without a certificate',
      ({ order, signer }) => ({ order, signer: { ...signer, x5c: [] } }),
      /without the certificate/,
    ],
    [
      'of a certificate that has expired',
      ({ order }) => ({ order, signer: chained(new Date(Date.now() - YEAR), new Date(Date.now() - 86_400_000)) }),
      /expired on/,
    ],
    [
      'of a certificate that is not valid yet',
      ({ order }) => ({ order, signer: chained(new Date(Date.now() + 86_400_000), new Date(Date.now() + YEAR)) }),
      /not valid before/,
    ],
    [
      'that has expired',
      ({ order, signer }) => ({
        signer,
        order: { ...order, expiresAt: new Date(services.clock.now.getTime() - 1000) },
      }),
      /it expired on/,
    ],
    ['of nobody', ({ order, signer }) => ({ signer, order: { ...order, issuer: '' } }), /who issued it/],
    [
      'of another type',
      ({ order, signer }) => {
        const definition = { ...configuration.credential_definition, type: ['VerifiableCredential', 'Ticket'] }
        return {
          signer,
          order: { ...order, configuration: configurationOf({ ...configuration, credential_definition: definition }) },
        }
      },
      /not of the type StudentCard/,
    ],
  ]

  it.each(rows)('is not kept: one %s', async (_, change, message) => {
    const { wallet, texts } = testWallet(issuing(change), services.clock)
    const error = await errorOf(receiveOffer(wallet, (await startIssuance(services)).link))
    expect([error.code, error.message]).toEqual(['invalid_credential', expect.stringMatching(message)])
    expect(texts.size).toBe(0)
  })

  /** The credential with another header or payload, signed by the issuer as if that were right. */
  const rewritten = (parts: { header?: JsonObject; payload?: JsonObject }): typeof globalThis.fetch =>
    changing(
      issuing((made) => made),
      CREDENTIAL,
      async (response) => {
        const { credentials } = (await response.json()) as { credentials: { credential: string }[] }
        const [jwt = '', ...rest] = credentials[0]?.credential.split('~') ?? []
        const { header, payload } = readJws(jwt)
        const again = await writeJws({ ...header, ...parts.header }, { ...payload, ...parts.payload }, (data) =>
          issuer.sign(data),
        )
        return Response.json({ credentials: [{ credential: [again, ...rest].join('~') }] })
      },
    )

  const gone = undefined as unknown as string
  const changedParts: readonly (readonly [string, { header?: JsonObject; payload?: JsonObject }, RegExp])[] = [
    ['bound to no key', { payload: { cnf: gone } }, /not bound to a key/],
    ['with two issuers', { payload: { iss: 'https://other.example' } }, /two different issuers/],
    ['of another type header', { header: { typ: 'JWT' } }, /its type \(typ\) is JWT/],
    ['with a time that is none', { payload: { exp: 'soon' } }, /exp is not a time/],
    ['with a certificate that is none', { header: { x5c: ['AAAA'] } }, /certificate of its issuer cannot be read/],
    ['signed with another algorithm', { header: { alg: 'none' } }, /signature is not by the key/],
  ]

  it.each(changedParts)('is not kept: one %s', async (_, parts, message) => {
    const { wallet, texts } = testWallet(rewritten(parts), services.clock)
    const error = await errorOf(receiveOffer(wallet, (await startIssuance(services)).link))
    expect([error.code, error.message]).toEqual(['invalid_credential', expect.stringMatching(message)])
    expect(texts.size).toBe(0)
  })

  const texts: readonly (readonly [string, (text: string) => string, RegExp])[] = [
    [
      'with a changed payload',
      (text) => text.replace(/\.[^.]+\./, (part) => `.${changed(part.slice(1, -1))}.`),
      /signature is not/,
    ],
    ['with a disclosure that belongs to another', (text) => `${text}WyJzYWx0IiwgIm5hbWUiLCAxXQ~`, /not referred to/],
    ['with a disclosure twice', (text) => text.replace(/~([^~]+)~/, '~$1~$1~'), /sent twice/],
    ['that is cut short', (text) => text.slice(0, 300), /cannot be read/],
  ]

  it.each(texts)('is not kept: one %s', async (_, after, message) => {
    const { wallet, texts: stored } = testWallet(
      issuing((made) => made, after),
      services.clock,
    )
    const error = await errorOf(receiveOffer(wallet, (await startIssuance(services)).link))
    expect([error.code, error.message]).toEqual(['invalid_credential', expect.stringMatching(message)])
    expect(stored.size).toBe(0)
  })
})

describe('receiving', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  it('sends the final form of the request, with a key for this credential alone', async () => {
    const { wallet, sent } = testWallet(services.fetch, services.clock)
    const [first] = await receiveOffer(wallet, (await startIssuance(services)).link)
    const [second] = await receiveOffer(wallet, (await startIssuance(services)).link)
    expect(first?.holder.jwk).not.toEqual(second?.holder.jwk)
    const body = JSON.parse(sent.find(({ to }) => to.includes(CREDENTIAL))?.body ?? '') as JsonObject
    expect(Object.keys(body)).toEqual(['credential_configuration_id', 'proofs'])
    const { header, payload } = readJws((body.proofs as { jwt: string[] }).jwt[0] ?? '')
    expect(header).toMatchObject({ typ: 'openid4vci-proof+jwt', alg: 'ES256' })
    expect(header.kid).toMatch(/^did:jwk:.*#0$/)
    expect(Object.keys(payload)).toEqual(['aud', 'iat', 'nonce'])
  })

  it.each([undefined, 'wallet'])('is known to the authorization server as %s', async (clientId) => {
    const known = clientId === undefined ? {} : { clientId }
    const { wallet, sent } = testWallet(services.fetch, services.clock, known)
    await receiveOffer(wallet, (await startIssuance(services)).link)
    const form = new URLSearchParams(sent.find(({ to }) => to.includes('/auth/token-endpoint'))?.body)
    expect(form.get('client_id')).toBe(clientId ?? null)
  })

  it('names its key by jwk where the issuer knows no did:jwk', async () => {
    const fetch = changing(
      services.fetch,
      METADATA,
      configured(() => ({ cryptographic_binding_methods_supported: ['jwk'] })),
    )
    const { wallet, sent } = testWallet(fetch, services.clock)
    const [stored] = await receiveOffer(wallet, (await startIssuance(services)).link)
    const body = JSON.parse(sent.find(({ to }) => to.includes(CREDENTIAL))?.body ?? '') as { proofs: { jwt: string[] } }
    const { header } = readJws(body.proofs.jwt[0] ?? '')
    expect(header).toEqual({ typ: 'openid4vci-proof+jwt', alg: 'ES256', jwk: { ...stored?.holder.jwk } })
  })

  it('takes an offer by value and under both schemes', async () => {
    const { sessionId } = await startIssuance(services)
    const offer = await (await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`)).text()
    const { wallet, sent } = testWallet(services.fetch, services.clock)
    const stored = await receiveOffer(
      wallet,
      `openid-credential-offer://?credential_offer=${encodeURIComponent(offer)}`,
    )
    expect(stored).toHaveLength(1)
    expect(sent[0]?.to).toBe(`GET ${ISSUER_URL}/.well-known/openid-credential-issuer/${sessionId}`)
  })

  it('takes the issuer for its own authorization server where it names none', async () => {
    const fetch = changing(services.fetch, METADATA, withMembers({ authorization_servers: undefined }))
    const { wallet } = testWallet(fetch, services.clock)
    expect(await receiveOffer(wallet, (await startIssuance(services)).link)).toHaveLength(1)
  })

  it.each([
    ['haip-vci://?x=y', 'invalid_link', /exactly one of credential_offer and/],
    ['haip-vci://?credential_offer=%7B%7D&credential_offer_uri=https%3A%2F%2Fa', 'invalid_link', /exactly one of/],
    ['haip-vci://?credential_offer_uri=http%3A%2F%2Fa.example', 'insecure_address', /only https/],
    ['haip-vci://?credential_offer=%7B', 'invalid_offer', /offer in the link cannot be read/],
    ['haip-vp://?credential_offer=%7B%7D', 'invalid_link', /begins with haip-vci/],
  ])('refuses the link %s', async (link, code, message) => {
    const { wallet, sent } = testWallet(services.fetch, services.clock)
    const error = await errorOf(receiveOffer(wallet, link))
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)])
    expect(sent).toEqual([])
  })

  it('does without a nonce where the issuer has no nonce endpoint', async () => {
    const fetch = changing(services.fetch, METADATA, withMembers({ nonce_endpoint: undefined }))
    const { wallet, sent } = testWallet(fetch, services.clock)
    const error = await errorOf(receiveOffer(wallet, (await startIssuance(services)).link))
    expect(error.server?.error).toBe('invalid_proof')
    expect(sent.some(({ to }) => to.includes(NONCE))).toBe(false)
  })

  it('uses the credential identifier that a token response names', async () => {
    const { link, id } = await startIssuance(services)
    const details = [{ type: 'openid_credential', credential_configuration_id: id, credential_identifiers: ['one'] }]
    const { wallet, sent } = testWallet(
      changing(services.fetch, TOKEN, withMembers({ authorization_details: details })),
      services.clock,
    )
    const error = await errorOf(receiveOffer(wallet, link))
    expect(error.server?.error).toBe('unknown_credential_identifier')
    expect(JSON.parse(sent.at(-1)?.body ?? '')).toMatchObject({ credential_identifier: 'one' })
  })

  describe('from an issuer that requires encryption', () => {
    let strict: Services
    beforeAll(async () => {
      strict = await startServices({ issuer: { credentialEncryption: 'required' } })
    })
    afterAll(() => strict.close())

    it('sends an encrypted request and reads the encrypted answer', async () => {
      const { wallet, sent, steps } = testWallet(strict.fetch, strict.clock)
      const [stored] = await receiveOffer(wallet, (await startIssuance(strict)).link)
      expect(stored?.name).toBe('Student card')
      const request = sent.find(({ to }) => to.includes(CREDENTIAL))?.body ?? ''
      expect(request).toMatch(/^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/)
      expect(JSON.parse(Buffer.from(request.split('.')[0] ?? '', 'base64url').toString())).toMatchObject({
        alg: 'ECDH-ES',
        enc: 'A256GCM',
      })
      expect(steps.find(({ what }) => what === 'requested the credential')?.request?.sent).toMatch(/^encrypted: /)
    })

    it('encrypts the request alone where the issuer encrypts no answers', async () => {
      const { link } = await startIssuance(services)
      const plain: Answer = async (response) => {
        const metadata = (await response.json()) as JsonObject
        const request = { ...(metadata.credential_request_encryption as JsonObject), encryption_required: true }
        return Response.json({
          ...metadata,
          credential_request_encryption: request,
          credential_response_encryption: undefined,
        })
      }
      const { wallet } = testWallet(changing(services.fetch, METADATA, plain), services.clock)
      expect(await receiveOffer(wallet, link)).toHaveLength(1)
    })

    const jwt =
      (body: string): Answer =>
      () =>
        new Response(body, { headers: { 'content-type': 'application/jwt' } })
    it.each([
      [
        'JSON',
        () => Response.json({ credentials: [{ credential: 'a' }] }),
        /application\/json and not with application\/jwt/,
      ],
      ['no JWE', jwt('hello'), /five parts/],
      ['nothing', jwt(''), /five parts/],
    ] as const)('refuses %s as the answer', async (_, answer, message) => {
      const changed = changing(strict.fetch, CREDENTIAL, answer)
      const { wallet, texts } = testWallet(changed, strict.clock)
      const error = await errorOf(receiveOffer(wallet, (await startIssuance(strict)).link))
      expect([error.code, error.message]).toEqual(['invalid_response', expect.stringMatching(message)])
      expect(texts.size).toBe(0)
    })

    it('refuses an answer to another key', async () => {
      const other = readPublicJwk((await holderSigner()).jwk)
      const sealed = await encryptJwe('{}', { jwk: other, alg: 'ECDH-ES', enc: 'A256GCM', kid: 'answer' })
      const { wallet } = testWallet(changing(strict.fetch, CREDENTIAL, jwt(sealed)), strict.clock)
      const error = await errorOf(receiveOffer(wallet, (await startIssuance(strict)).link))
      expect([error.code, error.message]).toEqual(['invalid_response', expect.stringMatching(/cannot be decrypted/)])
    })
  })

  it('receives every credential of an offer, and keeps those before one that fails', async () => {
    const ids = [await declare(services), await declare(services)]
    const both = await startIssuance(services, { credential_configurations: ids })
    const { wallet, texts } = testWallet(services.fetch, services.clock)
    expect(await receiveOffer(wallet, both.link)).toHaveLength(2)
    expect(texts.size).toBe(2)

    let requests = 0
    const fetch = changing(services.fetch, CREDENTIAL, (response) => {
      requests += 1
      return requests === 2 ? Response.json({ error: 'credential_request_denied' }, { status: 400 }) : response
    })
    const half = testWallet(fetch, services.clock)
    const again = await startIssuance(services, { credential_configurations: ids })
    const error = await errorOf(receiveOffer(half.wallet, again.link))
    expect(error.code).toBe('refused')
    expect(error.message).toContain(`received before that and kept: ${[...half.texts.keys()].join('')}`)
    expect(half.texts.size).toBe(1)
  })

  it('tells each step, and nothing that is secret', async () => {
    const { wallet, steps, sent, texts } = testWallet(services.fetch, services.clock)
    const [stored] = await receiveOffer(wallet, (await startIssuance(services)).link)
    expect(steps.map(({ request, status }) => [request?.method, status])).toEqual([
      ['GET', 200],
      ['GET', 200],
      ['GET', 200],
      ['POST', 200],
      ['POST', 200],
      ['POST', 200],
      [undefined, undefined],
      ['POST', 204],
    ])
    const told = JSON.stringify(steps)
    const code = new URLSearchParams(sent.find(({ to }) => to.includes(TOKEN))?.body).get('pre-authorized_code') ?? ''
    const { holder_key: key } = JSON.parse([...texts.values()][0] ?? '') as { holder_key: { d: string } }
    for (const secret of ['Ada', 'Lovelace', code, key.d, stored?.credential ?? '']) {
      expect(secret).not.toBe('')
      expect(told).not.toContain(secret)
    }
  })

  it('asks a store that fails only once it has something to store', async () => {
    const store = { ...memoryStore(new Map()), write: () => Promise.reject(new Error('the disk is full')) }
    const { wallet } = testWallet(services.fetch, services.clock, { store })
    await expect(receiveOffer(wallet, (await startIssuance(services)).link)).rejects.toThrow('the disk is full')
  })
})

function proofKey({ body }: RequestInit): PublicJwk {
  const { proofs } = JSON.parse(body as string) as { proofs: { jwt: string[] } }
  const kid = memberOf(readJws(proofs.jwt[0] ?? '').header, 'kid')
  return readDid(kid as string)
}

function changed(part: string): string {
  const payload = JSON.parse(Buffer.from(part, 'base64url').toString()) as JsonObject
  return Buffer.from(JSON.stringify({ ...payload, exp: Number(payload.exp) + 1 })).toString('base64url')
}

function endless(): Response {
  const chunk = new Uint8Array(8192)
  return bodyOf({ pull: (controller) => controller.enqueue(chunk) })
}

function stalled(): Response {
  return bodyOf({ start: (controller) => controller.enqueue(new Uint8Array(8)) })
}

function broken(): Response {
  return bodyOf({
    pull: (controller) => controller.error(Object.assign(new Error('x'), { cause: { code: 'ECONNRESET' } })),
  })
}

function bodyOf(source: UnderlyingSource<Uint8Array>): Response {
  return new Response(new ReadableStream(source), { headers: { 'content-type': 'application/json' } })
}
