/**
 * Wallets of the drafts 13, 14 and 15 and of the final specification, each by the requests that it sends. Facts 1.9.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import { readJws } from '../../src/codec/jws.ts'
import type { Validity } from '../../src/credential/evidence-parts.ts'
import { formatOf, supportedFormats } from '../../src/credential/formats.ts'
import { toDidJwk } from '../../src/keys/did.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { expectRefusal } from '../support/issuance.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import {
  call,
  configuration,
  dataset,
  declare,
  GRANT,
  holderSigner,
  keyProof,
  postForm,
  startIssuance,
} from '../support/wire.ts'

const { format, credential_definition: definition } = configuration

interface Offer {
  readonly credential_issuer: string
  readonly credential_configuration_ids: readonly string[]
  readonly grants: Record<string, Record<string, string>>
}

interface Metadata extends JsonObject {
  credential_issuer: string
  credential_endpoint: string
  nonce_endpoint: string
  credential_configurations_supported: Record<string, JsonObject>
}

const sdJwtVc = {
  format: 'dc+sd-jwt',
  vct: 'https://credentials.example/student',
  credential_metadata: {
    display: [{ name: 'Student card' }],
    claims: [
      { path: ['given_name'], mandatory: true, display: [{ name: 'Given name' }] },
      { path: ['address', 'city'] },
      { path: ['degrees', null] },
      { path: ['__proto__'] },
    ],
  },
}

const mdocDataset = { 'org.iso.18013.5.1': { given_name: 'Ada' } }

/** A wallet after its token request, with nothing that it was not told. */
interface Wallet {
  readonly services: Services
  readonly ids: readonly string[]
  readonly metadata: Metadata
  readonly token: JsonObject
  readonly holder: Signer
}

/** Makes a wallet; `place` is what the draft says of the well-known path. */
async function walletOf(
  services: Services,
  place: 'inserted' | 'appended',
  configurations: readonly object[] = [configuration],
  more: object = {},
): Promise<Wallet> {
  const ids = await Promise.all(configurations.map((each) => declare(services, each)))
  const { link } = await startIssuance(services, { credential_configurations: ids, ...more })
  const offerUrl = new URL(link).searchParams.get('credential_offer_uri') ?? ''
  const offer = (await (await services.fetch(offerUrl)).json()) as Offer
  const { origin } = new URL(offer.credential_issuer)
  const pathname = offer.credential_issuer.slice(origin.length)
  const document = async (name: string): Promise<JsonObject> => {
    const url =
      place === 'inserted' ? `${origin}/.well-known/${name}${pathname}` : `${origin}${pathname}/.well-known/${name}`
    return (await (await services.fetch(url)).json()) as JsonObject
  }
  const metadata = (await document('openid-credential-issuer')) as Metadata
  expect(metadata.credential_issuer).toBe(offer.credential_issuer)
  const { token_endpoint: tokenUrl } = await document('oauth-authorization-server')
  const code = offer.grants[GRANT]?.['pre-authorized_code'] ?? ''
  const response = await postForm(services, tokenUrl as string, { grant_type: GRANT, 'pre-authorized_code': code })
  const token = (await response.json()) as JsonObject
  return { services, ids, metadata, token, holder: await holderSigner() }
}

async function nonceFromEndpoint({ services, metadata }: Wallet): Promise<string> {
  const response = await services.fetch(metadata.nonce_endpoint, { method: 'POST' })
  return ((await response.json()) as { c_nonce: string }).c_nonce
}

/** Makes a proof, without a nonce when there is none. */
function proofWith({ services, metadata, holder }: Wallet, nonce: string | undefined): Promise<string> {
  const audience = metadata.credential_issuer
  // Wallets of all drafts send iss.
  const payload = { iss: toDidJwk(holder.jwk), ...(nonce === undefined ? { nonce: undefined as never } : {}) }
  return keyProof({ holder, nonce: nonce ?? '', audience, payload }, services.clock.now)
}

const proof = async (wallet: Wallet, nonce?: string) => ({
  proof: { proof_type: 'jwt', jwt: await proofWith(wallet, nonce) },
})
const proofs = async (wallet: Wallet, nonce?: string) => ({ proofs: { jwt: [await proofWith(wallet, nonce)] } })

function request({ services, metadata, token }: Wallet, body: object): Promise<Response> {
  return services.fetch(metadata.credential_endpoint, {
    method: 'POST',
    headers: { authorization: `Bearer ${token.access_token as string}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
}

async function expectBody(response: Response): Promise<JsonObject> {
  const text = await response.text()
  expect([response.status, text]).toEqual([200, expect.any(String)])
  return JSON.parse(text) as JsonObject
}

/** Returns the answer to a wallet that was told to wait, once the application has decided. */
async function fetchedLater(wallet: Wallet, kind: object): Promise<JsonObject> {
  const { services, metadata, token } = wallet
  const asked = await request(wallet, { ...kind, ...(await proof(wallet, await nonceFromEndpoint(wallet))) })
  const { transaction_id: id } = (await asked.json()) as JsonObject
  expect([asked.status, id]).toEqual([202, expect.any(String)])
  const sessionId = metadata.credential_issuer.split('/').at(-1) ?? ''
  await call(services, `${ISSUER_URL}/issuance/oid4vci/complete/${sessionId}`, { credential_dataset: dataset })
  const response = await services.fetch(metadata.deferred_credential_endpoint as string, {
    method: 'POST',
    headers: { authorization: `Bearer ${token.access_token as string}`, 'content-type': 'application/json' },
    body: JSON.stringify({ transaction_id: id }),
  })
  return expectBody(response)
}

/** The form of the ids of notifications. */
const ID = expect.stringMatching(/^[\w-]{24}$/) as string
const CREDENTIAL = expect.stringMatching(/^eyJ[\w.~-]+~$/) as string

describe('an issuer as it is', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  it('serves a wallet of the final specification', async () => {
    const wallet = await walletOf(services, 'inserted')
    expect(Object.keys(wallet.token).sort()).toEqual(['access_token', 'expires_in', 'token_type'])
    const nonce = await nonceFromEndpoint(wallet)
    const body = { credential_configuration_id: wallet.ids[0], ...(await proofs(wallet, nonce)) }
    expect(await expectBody(await request(wallet, body))).toEqual({
      credentials: [{ credential: CREDENTIAL }],
      notification_id: ID,
    })
  })

  it('serves a wallet of draft 15', async () => {
    const wallet = await walletOf(services, 'appended')
    const shown = wallet.metadata.credential_configurations_supported[wallet.ids[0] ?? '']
    expect(shown?.claims).toEqual([{ mandatory: false, ...configuration.credential_metadata.claims[0] }])
    const nonce = await nonceFromEndpoint(wallet)
    const body = { credential_configuration_id: wallet.ids[0], ...(await proof(wallet, nonce)) }
    expect(await expectBody(await request(wallet, body))).toEqual({
      credentials: [{ credential: CREDENTIAL }],
      notification_id: ID,
    })
  })

  it.each([
    ['one proof', proof],
    ['proofs', proofs],
  ])('serves a wallet of draft 14, with %s', async (_, proving) => {
    const wallet = await walletOf(services, 'appended')
    const shown = wallet.metadata.credential_configurations_supported[wallet.ids[0] ?? ''] ?? {}
    expect(shown.display).toEqual(configuration.credential_metadata.display)
    const nonce = await nonceFromEndpoint(wallet)
    const kind = { format: shown.format, credential_definition: shown.credential_definition }
    const answer = await expectBody(await request(wallet, { ...kind, ...(await proving(wallet, nonce)) }))
    expect(answer).toEqual({
      credential: CREDENTIAL,
      credentials: [{ credential: answer.credential }],
      notification_id: ID,
    })
  })

  it('serves a wallet of draft 14 whose credential comes later', async () => {
    const later = { credential_dataset: undefined, deferred: true }
    const wallet = await walletOf(services, 'appended', [configuration], later)
    expect(await fetchedLater(wallet, { format, credential_definition: definition })).toEqual({
      credential: CREDENTIAL,
      credentials: [{ credential: CREDENTIAL }],
      notification_id: ID,
    })
    const newer = await walletOf(services, 'appended', [configuration], later)
    const named = { credential_configuration_id: newer.ids[0] }
    expect(Object.keys(await fetchedLater(newer, named))).toEqual(['credentials', 'notification_id'])
  })

  it('serves a wallet of draft 14 that knows SD-JWT VC by its old name', async () => {
    const wallet = await walletOf(services, 'appended', [configuration, sdJwtVc])
    const nonce = await nonceFromEndpoint(wallet)
    const asked = { format: 'vc+sd-jwt', vct: sdJwtVc.vct, ...(await proof(wallet, nonce)) }
    const { credential } = await expectBody(await request(wallet, asked))
    const [header = '', payload = ''] = (credential as string).split('.')
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toMatchObject({ typ: 'dc+sd-jwt' })
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString())).toMatchObject({ vct: sdJwtVc.vct })
  })

  it('serves a wallet of draft 14 that asks for an mdoc', async () => {
    const mdoc = { format: 'mso_mdoc', doctype: 'org.iso.18013.5.1.mDL' }
    const data = { credential_dataset: mdocDataset }
    const wallet = await walletOf(services, 'appended', [mdoc, { ...mdoc, doctype: 'org.iso.18013.5.1.other' }], data)
    const answer = await expectBody(
      await request(wallet, { ...mdoc, ...(await proof(wallet, await nonceFromEndpoint(wallet))) }),
    )
    expect(formatOf('mso_mdoc')?.readHeld(answer.credential as string).types).toEqual([mdoc.doctype])
  })

  it('tells a wallet of draft 13, which has no nonce, what it takes to be served', async () => {
    const wallet = await walletOf(services, 'appended')
    expect(Object.keys(wallet.token)).not.toContain('c_nonce')
    const refusal = { status: 400, error: 'invalid_proof', why: /draft 13.*compatibility.*'draft13'/ }
    for (const kind of [
      { format, credential_definition: definition },
      { credential_configuration_id: wallet.ids[0] },
    ]) {
      await expectRefusal(await request(wallet, { ...kind, ...(await proof(wallet)) }), refusal)
    }
  })

  const other = {
    ...configuration,
    credential_definition: { ...definition, type: ['VerifiableCredential', 'Diploma'] },
  }

  it.each([
    [
      'the types in another order',
      { format, credential_definition: { ...definition, type: ['StudentCard', 'VerifiableCredential'] } },
    ],
    ['the types without contexts', { format, credential_definition: { type: definition.type } }],
    [
      'a member that the definition does not have',
      { format, credential_definition: { ...definition, credentialSubject: {} } },
    ],
    ['a member that it does not need', { format, credential_definition: definition, claims: {}, x: 1 }],
  ])('finds what is meant by %s', async (_, kind) => {
    const wallet = await walletOf(services, 'appended', [other, configuration])
    const nonce = await nonceFromEndpoint(wallet)
    const { credential } = await expectBody(await request(wallet, { ...kind, ...(await proof(wallet, nonce)) }))
    const payload = Buffer.from((credential as string).split('.')[1] ?? '', 'base64url').toString()
    expect((JSON.parse(payload) as JsonObject).type).toEqual(definition.type)
  })

  const INVALID = 'invalid_credential_request'
  const UNKNOWN = 'unknown_credential_configuration'
  it.each([
    ['a format and nothing else', { format }, INVALID],
    ['another format', { format: 'ldp_vc', credential_definition: definition }, UNKNOWN],
    ['the twin of the format', { format: 'vc+sd-jwt', credential_definition: definition }, UNKNOWN],
    ['a format that is not text', { format: [format], credential_definition: definition }, UNKNOWN],
    ['a type less', { format, credential_definition: { ...definition, type: ['VerifiableCredential'] } }, UNKNOWN],
    ['a type more', { format, credential_definition: { ...definition, type: [...definition.type, 'X'] } }, UNKNOWN],
    [
      'a type several times',
      { format, credential_definition: { ...definition, type: Array(1000).fill(definition.type).flat() } },
      UNKNOWN,
    ],
    ['types that are not an array', { format, credential_definition: { type: 'StudentCard' } }, UNKNOWN],
    [
      'another context',
      { format, credential_definition: { ...definition, '@context': ['https://x.example'] } },
      UNKNOWN,
    ],
    ['a definition that is not an object', { format, credential_definition: 'StudentCard' }, UNKNOWN],
    ['the types of draft 11', { format, types: definition.type }, INVALID],
    ['vct beside the definition', { format, credential_definition: definition, vct: 'a' }, UNKNOWN],
    ['vct instead', { format: 'vc+sd-jwt', vct: 'https://a.example' }, UNKNOWN],
  ])('refuses %s', async (_, kind, error) => {
    const wallet = await walletOf(services, 'appended')
    const body = { ...kind, ...(await proof(wallet, await nonceFromEndpoint(wallet))) }
    await expectRefusal(await request(wallet, body), { status: 400, error })
  })

  it('refuses to choose between two of a kind, and goes by the id when there is one', async () => {
    const wallet = await walletOf(services, 'appended', [configuration, { ...configuration, validity_seconds: 60 }])
    const body = {
      format,
      credential_definition: definition,
      ...(await proof(wallet, await nonceFromEndpoint(wallet))),
    }
    await expectRefusal(await request(wallet, body), { status: 400, error: INVALID, why: /several/ })
    const named = await request(wallet, { ...body, credential_configuration_id: wallet.ids[1] })
    expect(await expectBody(named)).toMatchObject({ credentials: [{ credential: CREDENTIAL }], notification_id: ID })
  })

  it('never looks beyond the session of the token', async () => {
    const wallet = await walletOf(services, 'appended', [other])
    await declare(services)
    const body = {
      format,
      credential_definition: definition,
      ...(await proof(wallet, await nonceFromEndpoint(wallet))),
    }
    await expectRefusal(await request(wallet, body), { status: 400, error: UNKNOWN })
  })
})

describe('an issuer with compatibility: ["draft13"]', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices({ issuer: { compatibility: ['draft13'] } })
  })
  afterAll(() => services.close())
  const kind = { format, credential_definition: definition }
  const lifetime = { c_nonce: expect.stringMatching(/^[\w-]{51}$/) as string, c_nonce_expires_in: 300 }

  it('serves a wallet of draft 13, which goes from nonce to nonce without the endpoint', async () => {
    const second = { ...definition, type: ['VerifiableCredential', 'Diploma'] }
    const wallet = await walletOf(services, 'appended', [
      configuration,
      { ...configuration, credential_definition: second },
    ])
    const shown = wallet.metadata.credential_configurations_supported[wallet.ids[0] ?? '']
    expect(shown?.credential_definition).toEqual({
      ...definition,
      credentialSubject: { given_name: { mandatory: false, display: [{ name: 'Given name', locale: 'en-GB' }] } },
    })
    expect(shown).not.toHaveProperty('claims')
    expect(wallet.token).toEqual({
      access_token: expect.any(String) as string,
      token_type: 'Bearer',
      expires_in: 300,
      ...lifetime,
    })
    const first = await request(wallet, { ...kind, ...(await proof(wallet, wallet.token.c_nonce as string)) })
    const answer = await expectBody(first)
    expect(answer).toEqual({
      credential: CREDENTIAL,
      credentials: [{ credential: answer.credential }],
      notification_id: ID,
      ...lifetime,
    })
    const next = { format, credential_definition: second, ...(await proof(wallet, answer.c_nonce as string)) }
    expect(await expectBody(await request(wallet, next))).toMatchObject({ credential: CREDENTIAL, ...lifetime })
  })

  it('shows SD-JWT VC under the name of that draft, with its claims as a tree', async () => {
    const wallet = await walletOf(services, 'appended', [sdJwtVc])
    const [id = ''] = wallet.ids
    const { claims, ...shown } = wallet.metadata.credential_configurations_supported[id] ?? {}
    expect(shown).toMatchObject({ format: 'vc+sd-jwt', vct: sdJwtVc.vct, display: [{ name: 'Student card' }] })
    expect(JSON.stringify(claims)).toBe(
      JSON.stringify({
        given_name: { mandatory: true, display: [{ name: 'Given name' }] },
        address: { city: { mandatory: false } },
        degrees: {},
        ['__proto__']: { mandatory: false },
      }),
    )
    const nonce = wallet.token.c_nonce as string
    const asked = { format: shown.format, vct: shown.vct, ...(await proof(wallet, nonce)) }
    expect(await expectBody(await request(wallet, asked))).toMatchObject({ credential: CREDENTIAL })
  })

  const refusals = [
    ['a nonce that was used', 'used', kind, 'invalid_proof', lifetime],
    ['a nonce that is none', 'AAAA', kind, 'invalid_proof', lifetime],
    ['no nonce', undefined, kind, 'invalid_proof', lifetime],
    [
      'a type that is not offered',
      '',
      { format, credential_definition: { type: ['X'] } },
      'unsupported_credential_type',
      {},
    ],
    ['a format and nothing else', '', { format }, 'invalid_credential_request', {}],
  ] as const
  it.each(refusals)('refuses %s in the words of that draft', async (_, given, asked, error, members) => {
    const wallet = await walletOf(services, 'appended')
    const fresh = wallet.token.c_nonce as string
    if (given === 'used') await request(wallet, { ...kind, ...(await proof(wallet, fresh)) })
    const nonce = given === 'used' || given === '' ? fresh : given
    const response = await request(wallet, { ...asked, ...(await proof(wallet, nonce)) })
    const body = (await response.json()) as JsonObject
    expect([response.status, body]).toEqual([
      400,
      { error, error_description: expect.stringMatching(/^[ !#-[\]-~]+$/) as string, ...members },
    ])
    if (!('c_nonce' in members)) return
    const again = { ...kind, ...(await proof(wallet, body.c_nonce as string)) }
    expect(await expectBody(await request(wallet, again))).toMatchObject({ credential: CREDENTIAL })
  })

  it('answers a wallet of the final specification as ever', async () => {
    const wallet = await walletOf(services, 'inserted')
    expect(wallet.metadata.credential_configurations_supported[wallet.ids[0] ?? '']).not.toHaveProperty('display')
    const nonce = await nonceFromEndpoint(wallet)
    const body = { credential_configuration_id: wallet.ids[0], ...(await proofs(wallet, nonce)) }
    expect(await expectBody(await request(wallet, body))).toEqual({
      credentials: [{ credential: CREDENTIAL }],
      notification_id: ID,
    })
    await expectRefusal(await request(wallet, body), { status: 400, error: 'invalid_nonce' })
    const unknown = { ...body, credential_configuration_id: 'x' }
    await expectRefusal(await request(wallet, unknown), { status: 400, error: 'unknown_credential_configuration' })
  })

  it('answers a wallet of draft 14, which has several proofs and the nonce endpoint, as ever', async () => {
    const wallet = await walletOf(services, 'appended')
    const body = { ...kind, ...(await proofs(wallet, await nonceFromEndpoint(wallet))) }
    expect(Object.keys(await expectBody(await request(wallet, body))).sort()).toEqual([
      'credential',
      'credentials',
      'notification_id',
    ])
    await expectRefusal(await request(wallet, body), { status: 400, error: 'invalid_nonce' })
  })

  it('gives no nonce of one session to another', async () => {
    const [one, two] = [await walletOf(services, 'appended'), await walletOf(services, 'appended')]
    const response = await request(one, { ...kind, ...(await proof(one, two.token.c_nonce as string)) })
    expect(await response.json()).toMatchObject({ error: 'invalid_proof' })
  })
})

describe('two credentials of one dataset', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
    // Two issuances must not fall on either side of the hour.
    services.clock.now = new Date('2026-03-01T10:07:11.123Z')
  })
  afterAll(() => services.close())

  /** The members that each format needs to be declared; a format that is not here fails below. */
  const declared: Record<string, object> = {
    'jwt_vc_json-ld': configuration,
    'vc+sd-jwt': { ...configuration, format: 'vc+sd-jwt' },
    jwt_vc_json: {
      ...configuration,
      format: 'jwt_vc_json',
      credential_definition: { ...definition, '@context': ['https://www.w3.org/2018/credentials/v1'] },
    },
    'dc+sd-jwt': { format: 'dc+sd-jwt', vct: sdJwtVc.vct },
    mso_mdoc: { format: 'mso_mdoc', doctype: 'org.iso.18013.5.1.mDL' },
  }

  it.each([
    ...supportedFormats.map((name) => [name, 'by its configuration'] as const),
    ['jwt_vc_json-ld', 'by its format'],
    ['jwt_vc_json-ld', 'by its identifier'],
  ] as const)('of %s, asked for %s, issued minutes apart, say the same of when', async (name, way) => {
    const times: unknown[] = []
    for (let round = 0; round < 2; round++) {
      const id = await declare(services, declared[name])
      const { sessionId } = await startIssuance(services, {
        credential_configurations: [id],
        ...(name === 'mso_mdoc' ? { credential_dataset: mdocDataset } : {}),
      })
      const offer = (await (
        await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`)
      ).json()) as Offer
      const details = JSON.stringify([{ type: 'openid_credential', credential_configuration_id: id }])
      const response = await postForm(services, `${ISSUER_URL}/auth/token-endpoint/${sessionId}`, {
        grant_type: GRANT,
        'pre-authorized_code': offer.grants[GRANT]?.['pre-authorized_code'] ?? '',
        ...(way === 'by its identifier' ? { authorization_details: details } : {}),
      })
      const token = (await response.json()) as JsonObject
      const [granted] = (token.authorization_details ?? []) as { credential_identifiers: string[] }[]
      const asked = {
        'by its configuration': { credential_configuration_id: id },
        'by its format': { format: name, credential_definition: definition },
        'by its identifier': { credential_identifier: granted?.credential_identifiers[0] },
      }[way]
      const metadataUrl = `${ISSUER_URL}/.well-known/openid-credential-issuer/${sessionId}`
      const metadata = (await (await services.fetch(metadataUrl)).json()) as Metadata
      const wallet = { services, ids: [id], metadata, token, holder: await holderSigner() }
      const nonce = await nonceFromEndpoint(wallet)
      const answer = await expectBody(await request(wallet, { ...asked, ...(await proofs(wallet, nonce)) }))
      const [first] = answer.credentials as { credential: string }[]
      const credential = first?.credential ?? ''
      const { validity } = formatOf(name)?.readHeld(credential) ?? {}
      const { iat, nbf, exp } = name === 'mso_mdoc' ? {} : readJws(credential.split('~')[0] ?? '').payload
      times.push({ validity, iat, nbf, exp })
      services.clock.now = new Date(services.clock.now.getTime() + 17 * 60_000 + 3210)
    }
    services.clock.now = new Date('2026-03-01T10:07:11.123Z')
    expect(times[1]).toEqual(times[0])
    const { validity } = times[0] as { validity: Validity }
    expect(validity.notAfter[0]?.at).toEqual(new Date('2027-03-01T11:00:00Z'))
    const hours = [...JSON.stringify(times[0]).matchAll(/T\d\d:(\d\d:\d\d)/g)].map(([, minutes]) => minutes)
    expect(new Set(hours)).toEqual(new Set(['00:00']))
    const { iat } = times[0] as { iat?: number }
    expect(iat).toBe(name === 'mso_mdoc' ? undefined : Date.parse('2026-03-01T10:00:00Z') / 1000)
  })
})

describe('the issuer that is known by its base URL', () => {
  it('has one document, which is the final one, and serves a wallet of draft 15 by it', async () => {
    const issuer = { id: ISSUER_URL, display: { name: 'Uni' }, identifier: 'base' }
    const services = await startServices({ issuer: { issuer } })
    try {
      const wallet = await walletOf(services, 'appended')
      expect(wallet.metadata.credential_issuer).toBe(ISSUER_URL)
      const nonce = await nonceFromEndpoint(wallet)
      const body = { credential_configuration_id: wallet.ids[0], ...(await proof(wallet, nonce)) }
      expect(await expectBody(await request(wallet, body))).toEqual({
        credentials: [{ credential: CREDENTIAL }],
        notification_id: ID,
      })
    } finally {
      await services.close()
    }
  })
})
