/**
 * Encrypted credential requests: the right ones are answered as they ask, every other is refused without effect, in the
 * clear. OpenID4VCI 1.0, Encrypted Credential Requests and Responses; facts section 5 items 9 and 16.
 */
import { randomBytes } from 'node:crypto'
import { CompactEncrypt, importJWK } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toBase64url } from '../../src/codec/base64url.ts'
import type { JsonObject } from '../../src/codec/json.ts'
import { decryptJwe, encryptJwe } from '../../src/keys/jwe.ts'
import { type PublicJwk, readPublicJwk } from '../../src/keys/jwk.ts'
import { importPrivateKey, makePrivateJwk } from '../../src/keys/private-jwk.ts'
import { attestationOf, makeAttester } from '../support/attestation.ts'
import {
  CREDENTIAL_ENDPOINT,
  dump,
  expectHarmless,
  expectRefusal,
  expectWithoutEffect,
  oneCredential,
  proofOf,
  type Ready,
  type Refusal,
  readySession,
  request,
  requestOf,
} from '../support/issuance.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { configuration, declare, holderSigner } from '../support/wire.ts'

const MODULE = 'oid4vci-1_0-issuer-fail-unsupported-encryption-algorithm'
const INVALID = 'invalid_encryption_parameters'

interface Issuer extends Ready {
  readonly key: { readonly jwk: PublicJwk; readonly kid: string }
}

const wallets = makePrivateJwk(randomBytes)
const walletJwk = { kty: 'EC', crv: 'P-256', x: wallets.x, y: wallets.y, kid: 'wallet', use: 'enc', alg: 'ECDH-ES' }
const wanted = { jwk: walletJwk, enc: 'A128GCM' }

async function issuerKey(services: Services): Promise<Issuer['key']> {
  const response = await services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer`)
  const metadata = (await response.json()) as { credential_request_encryption: { jwks: { keys: JsonObject[] } } }
  const [key] = metadata.credential_request_encryption.jwks.keys
  return { jwk: readPublicJwk(key), kid: key?.kid as string }
}

async function issuerSession(services: Services, configurationId: string): Promise<Issuer> {
  const ready = await readySession(services, { credential_configurations: [configurationId] })
  return { ...ready, key: await issuerKey(services) }
}

const seal = ({ key }: Issuer, payload: string, more: { zip?: 'DEF'; enc?: 'A256GCM' } = {}): Promise<string> =>
  encryptJwe(payload, { jwk: key.jwk, kid: key.kid, alg: 'ECDH-ES', enc: more.enc ?? 'A128GCM', zip: more.zip })

const right = async (issuer: Issuer, changes: Readonly<Record<string, unknown>> = {}): Promise<string> =>
  JSON.stringify(await requestOf(issuer, { credential_response_encryption: wanted, ...changes }))

const post = ({ services, token }: Ready, body: string, type = 'application/jwt') =>
  services.fetch(CREDENTIAL_ENDPOINT, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': type },
    body,
  })

/** Makes a JWE by the JOSE library with whatever header, to the issuer's key. */
async function withHeader(issuer: Issuer, header: JsonObject): Promise<string> {
  const key = await importJWK({ ...issuer.key.jwk, alg: 'ECDH-ES' })
  return new CompactEncrypt(Buffer.from(await right(issuer)))
    .setProtectedHeader({ alg: 'ECDH-ES', enc: 'A128GCM', kid: issuer.key.kid, ...header })
    .encrypt(key)
}

/** Changes members of the header of the right JWE, which no longer fits its tag. */
async function changed(issuer: Issuer, change: (header: JsonObject) => JsonObject): Promise<string> {
  const [header = '', ...rest] = (await seal(issuer, await right(issuer))).split('.')
  const members = JSON.parse(Buffer.from(header, 'base64url').toString()) as JsonObject
  return [toBase64url(JSON.stringify(change(members))), ...rest].join('.')
}

interface JweAttack {
  readonly attack: string
  readonly body: (issuer: Issuer) => Promise<string>
  readonly why: RegExp
}

const jweAttacks: readonly JweAttack[] = [
  {
    attack: 'no kid, for another key',
    body: async (issuer) => {
      const key = { ...issuer.key, jwk: readPublicJwk(walletJwk), kid: undefined as never }
      return seal({ ...issuer, key }, '{}')
    },
    why: /cannot be decrypted with the key that is published/,
  },
  { attack: 'the kid of another key', body: (issuer) => withHeader(issuer, { kid: 'other' }), why: /kid/ },
  {
    attack: 'another key under our kid',
    body: async (issuer) => seal({ ...issuer, key: { ...issuer.key, jwk: readPublicJwk(walletJwk) } }, '{}'),
    why: /cannot be decrypted/,
  },
  {
    attack: 'alg RSA-OAEP',
    body: (issuer) => changed(issuer, (header) => ({ ...header, alg: 'RSA-OAEP' })),
    why: /alg/,
  },
  { attack: 'alg dir', body: (issuer) => changed(issuer, (header) => ({ ...header, alg: 'dir' })), why: /alg/ },
  { attack: 'alg ECDH-ES+A128KW', body: (issuer) => withHeader(issuer, { alg: 'ECDH-ES+A128KW' }), why: /key|alg/ },
  { attack: 'enc A128CBC-HS256', body: (issuer) => withHeader(issuer, { enc: 'A128CBC-HS256' }), why: /enc|vector/ },
  {
    attack: 'zip of another kind',
    body: (issuer) => changed(issuer, (header) => ({ ...header, zip: 'GZ' })),
    why: /zip/,
  },
  {
    attack: 'an epk that is not a point of the curve',
    body: (issuer) =>
      changed(issuer, ({ epk, ...header }) => ({
        ...header,
        epk: { ...(epk as JsonObject), y: (epk as JsonObject).x ?? '' },
      })),
    why: /epk/,
  },
  {
    attack: 'no epk',
    body: (issuer) => changed(issuer, (header) => ({ ...header, epk: undefined as never })),
    why: /epk/,
  },
  {
    attack: 'crit',
    body: (issuer) => changed(issuer, (header) => ({ ...header, crit: ['x'], x: 1 })),
    why: /critical/,
  },
  {
    attack: 'a changed tag',
    body: async (issuer) => `${(await seal(issuer, await right(issuer))).slice(0, -22)}${'A'.repeat(22)}`,
    why: /cannot be decrypted/,
  },
  { attack: 'four parts', body: async () => Promise.resolve('e30.AA.AA.AA'), why: /five parts/ },
  { attack: 'an empty text', body: async () => Promise.resolve(''), why: /./ },
  { attack: 'a text that is not JSON inside', body: (issuer) => seal(issuer, 'hello'), why: /JSON/ },
  { attack: 'an array inside', body: (issuer) => seal(issuer, '[]'), why: /JSON object/ },
  {
    attack: 'a signed JWT inside',
    body: async (issuer) => seal(issuer, `${toBase64url('{}')}.${toBase64url(await right(issuer))}.AA`),
    why: /JSON/,
  },
  {
    attack: 'encryption in encryption',
    body: async (issuer) => seal(issuer, await seal(issuer, await right(issuer))),
    why: /JSON/,
  },
  {
    attack: 'some hundred bytes that inflate to more than 512 KiB',
    body: async (issuer) => seal(issuer, JSON.stringify({ padding: 'a'.repeat(2 ** 19) }), { zip: 'DEF' }),
    why: /inflated/,
  },
  {
    attack: 'a megabyte that inflates to a hundred',
    body: async (issuer) => seal(issuer, JSON.stringify({ padding: 'a'.repeat(1e8) }), { zip: 'DEF' }),
    why: /inflated/,
  },
]

const jwkWithout = (name: string) => ({ ...walletJwk, [name]: undefined })
const parameterAttacks: readonly { attack: string; encryption: unknown; why: RegExp; module?: string }[] = [
  { attack: 'null', encryption: null, why: /object/ },
  { attack: 'nothing in it', encryption: {}, why: /enc/ },
  { attack: 'no enc', encryption: { jwk: walletJwk }, why: /enc/ },
  { attack: 'an unknown enc', encryption: { ...wanted, enc: 'A192GCM' }, why: /enc/, module: MODULE },
  { attack: 'enc in an array', encryption: { ...wanted, enc: ['A128GCM'] }, why: /enc/ },
  { attack: 'an enc named like a member of every object', encryption: { ...wanted, enc: 'constructor' }, why: /enc/ },
  { attack: 'an unknown zip', encryption: { ...wanted, zip: 'GZ' }, why: /zip/ },
  { attack: 'no jwk', encryption: { enc: 'A128GCM' }, why: /jwk/ },
  { attack: 'a jwk without alg', encryption: { ...wanted, jwk: jwkWithout('alg') }, why: /alg/, module: MODULE },
  {
    attack: 'another alg',
    encryption: { ...wanted, jwk: { ...walletJwk, alg: 'RSA-OAEP-256' } },
    why: /alg/,
    module: MODULE,
  },
  {
    attack: 'an RSA key',
    encryption: { ...wanted, jwk: { kty: 'RSA', n: 'AA', e: 'AQAB', alg: 'RSA1_5' } },
    why: /jwk/,
  },
  { attack: 'a private key', encryption: { ...wanted, jwk: { ...walletJwk, d: wallets.d } }, why: /private/ },
  { attack: 'a symmetric key', encryption: { ...wanted, jwk: { kty: 'oct', k: 'AA', alg: 'dir' } }, why: /jwk/ },
  { attack: 'a key on another curve', encryption: { ...wanted, jwk: { ...walletJwk, crv: 'P-384' } }, why: /jwk/ },
  { attack: 'no point of the curve', encryption: { ...wanted, jwk: { ...walletJwk, y: walletJwk.x } }, why: /curve/ },
  { attack: 'a key to sign with', encryption: { ...wanted, jwk: { ...walletJwk, use: 'sig' } }, why: /use/ },
  { attack: 'a kid that is a number', encryption: { ...wanted, jwk: { ...walletJwk, kid: 1 } }, why: /kid/ },
]

async function expectEncrypted(response: Response, enc = 'A128GCM', zip?: 'DEF'): Promise<JsonObject> {
  const text = await response.text()
  expect([response.status, response.headers.get('content-type'), text]).toEqual([
    200,
    'application/jwt',
    expect.stringMatching(/^[\w-]+\.\.[\w-]+\.[\w-]+\.[\w-]+$/) as string,
  ])
  const header = JSON.parse(Buffer.from(text.split('.')[0] ?? '', 'base64url').toString()) as JsonObject
  expect(header).toEqual({
    alg: 'ECDH-ES',
    enc,
    kid: 'wallet',
    epk: expect.any(Object) as object,
    ...(zip === undefined ? {} : { zip }),
  })
  expect(response.headers.get('cache-control')).toBe('no-store')
  const keys = [{ key: importPrivateKey(wallets), kid: 'wallet' }]
  const decryption = { keys, encs: ['A128GCM', 'A256GCM'], maxBytes: 1e6, zip } as const
  return decryptJwe(text, decryption)
}

describe('an encrypted credential request', () => {
  let services: Services
  let configurationId: string
  beforeAll(async () => {
    services = await startServices()
    configurationId = await declare(services)
  })
  afterAll(() => services.close())
  const session = () => issuerSession(services, configurationId)

  it.each([
    ['A128GCM', undefined],
    ['A256GCM', undefined],
    ['A128GCM', 'DEF'],
  ] as const)('is answered encrypted as it asks: %s, zip %s', async (enc, zip) => {
    const issuer = await session()
    const asked = { credential_response_encryption: { jwk: walletJwk, enc, ...(zip && { zip }) } }
    const body = await seal(issuer, await right(issuer, asked), zip && { zip })
    expect(await expectEncrypted(await post(issuer, body), enc, zip)).toEqual(oneCredential)
  })

  it('has room for the largest batch, each key with an attestation of its own', async () => {
    const [id, attester] = [await declare(services, { ...configuration, batch_size: 100 }), await makeAttester()]
    const issuer = await issuerSession(services, id)
    const proofs = Array.from({ length: 100 }, async () => {
      const holder = await holderSigner()
      const payload = { nonce: issuer.nonce }
      const attestation = await attestationOf(attester, [holder.jwk], services.clock.now, { payload })
      return proofOf({ ...issuer, holder }, { header: { key_attestation: attestation } })
    })
    const asked = { proof: undefined, proofs: { jwt: await Promise.all(proofs) } }
    const content = await expectEncrypted(await post(issuer, await seal(issuer, await right(issuer, asked))))
    expect(content.credentials).toHaveLength(100)
  })

  it('is answered in the clear when it does not ask', async () => {
    const issuer = await session()
    const body = await seal(issuer, await right(issuer, { credential_response_encryption: undefined }), {
      enc: 'A256GCM',
    })
    const response = await post(issuer, body)
    expect([response.status, await response.json()]).toEqual([200, oneCredential])
  })

  it('may name no key, as some wallets do, and is for the published one', async () => {
    const issuer = await session()
    const body = await withHeader(issuer, { kid: undefined as never })
    expect(JSON.parse(Buffer.from(body.split('.')[0] ?? '', 'base64url').toString())).not.toHaveProperty('kid')
    expect((await post(issuer, body)).status).toBe(200)
  })

  it('is answered without a kid when the key of the wallet has none', async () => {
    const issuer = await session()
    const asked = { credential_response_encryption: { jwk: jwkWithout('kid'), enc: 'A128GCM' } }
    const response = await post(issuer, await seal(issuer, await right(issuer, asked)))
    const [header = ''] = (await response.text()).split('.')
    expect(JSON.parse(Buffer.from(header, 'base64url').toString())).not.toHaveProperty('kid')
  })

  it('is refused in the clear, with the code that the same request has in the clear', async () => {
    const issuer = await session()
    const body = await seal(issuer, await right(issuer, { credential_configuration_id: 'unknown' }))
    await expectRefusal(await post(issuer, body), { status: 400, error: 'unknown_credential_configuration' })
    const missing = await seal(issuer, await right(issuer, { proof: undefined }))
    await expectRefusal(await post(issuer, missing), { status: 400, error: 'invalid_proof' })
  })

  it.each(jweAttacks)('with $attack: refused without effect (facts 5.16)', async ({ body, why }) => {
    const issuer = await session()
    const sent = await body(issuer)
    await expectHarmless(issuer, () => post(issuer, sent), { status: 400, error: INVALID, why })
  })

  it.each(parameterAttacks)('that wants an answer to $attack: refused without effect', async ({ encryption, why }) => {
    const issuer = await session()
    const sent = await seal(issuer, await right(issuer, { credential_response_encryption: encryption }))
    await expectHarmless(issuer, () => post(issuer, sent), { status: 400, error: INVALID, why })
  })

  it('whose members stand below __proto__: refused without effect, and nobody else is', async () => {
    const issuer = await session()
    const sent = await seal(issuer, `{"__proto__": ${await right(issuer)}}`)
    await expectHarmless(issuer, () => post(issuer, sent), { status: 400, error: 'invalid_credential_request' })
    expect(Object.keys(Object.prototype)).toEqual([])
  })

  it('of more than 512 KiB: refused unread', async () => {
    const issuer = await session()
    const refusal: Refusal = { status: 413, error: 'request_too_large' }
    await expectHarmless(issuer, () => post(issuer, 'a'.repeat(2 ** 19 + 1)), refusal)
  })

  it('for another issuer: refused without effect', async () => {
    const other = await startServices()
    try {
      const issuer = await session()
      const sent = await seal({ ...issuer, key: await issuerKey(other) }, await right(issuer))
      await expectHarmless(issuer, () => post(issuer, sent), { status: 400, error: INVALID, why: /kid/ })
    } finally {
      await other.close()
    }
  })

  it('sent twice issues once: the nonce in it is spent', async () => {
    const issuer = await session()
    const body = await seal(issuer, await right(issuer))
    await expectEncrypted(await post(issuer, body))
    await expectWithoutEffect(services, () => post(issuer, body), { status: 400, error: 'invalid_nonce' })
  })

  it('is not decrypted for who has no access token', async () => {
    const issuer = await session()
    const body = await seal(issuer, 'hello')
    await expectRefusal(await post({ ...issuer, token: 'x' }, body), { status: 401, error: 'invalid_token' })
  })

  it('in the clear that wants an encrypted answer: refused without effect', async () => {
    const issuer = await session()
    const attack = () => request(issuer, { credential_response_encryption: wanted })
    await expectHarmless(issuer, attack, { status: 400, error: INVALID, why: /encrypted request/ })
  })

  it('called JSON: refused without effect', async () => {
    const issuer = await session()
    const body = await seal(issuer, await right(issuer))
    const refusal: Refusal = { status: 400, error: 'invalid_credential_request' }
    await expectHarmless(issuer, () => post(issuer, body, 'application/json'), refusal)
  })
})

describe('an issuer that offers no encryption', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices({ issuer: { credentialEncryption: 'off' } })
  })
  afterAll(() => services.close())

  it('has nothing of it in its metadata, also not in that for older drafts', async () => {
    const { sessionId } = await readySession(services, { credential_configurations: [await declare(services)] })
    const wellKnown = '.well-known/openid-credential-issuer'
    for (const path of [wellKnown, `${wellKnown}/${sessionId}`, `${sessionId}/${wellKnown}`]) {
      const metadata = (await (await services.fetch(`${ISSUER_URL}/${path}`)).json()) as JsonObject
      expect(metadata).toHaveProperty('credential_endpoint')
      expect(Object.keys(metadata).filter((member) => member.includes('encryption'))).toEqual([])
    }
  })

  it('issues to what is in the clear, and refuses the rest', async () => {
    const ready = await readySession(services, { credential_configurations: [await declare(services)] })
    const before = await dump(services)
    const sealed = await encryptJwe('{}', { jwk: walletJwk as PublicJwk, kid: 'k', alg: 'ECDH-ES', enc: 'A128GCM' })
    const refusal: Refusal = { status: 400, error: INVALID }
    await expectRefusal(await post(ready, sealed), {
      ...refusal,
      why: /takes no encrypted requests; send application\/json/,
    })
    const draft15 = { jwk: walletJwk, alg: 'ECDH-ES', enc: 'A128GCM' }
    const why = /credential_response_encryption is not supported by this issuer; leave it out/
    await expectRefusal(await request(ready, { credential_response_encryption: draft15 }), { ...refusal, why })
    expect(await dump(services)).toBe(before)
    expect(await (await request(ready)).json()).toEqual(oneCredential)
  })
})

describe('an issuer that requires encryption', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices({ issuer: { credentialEncryption: 'required' } })
  })
  afterAll(() => services.close())

  it('says so', async () => {
    const response = await services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer`)
    expect(await response.json()).toMatchObject({
      credential_request_encryption: { encryption_required: true },
      credential_response_encryption: { encryption_required: true },
    })
  })

  it('refuses what is not, and issues to what is', async () => {
    const issuer = await issuerSession(services, await declare(services))
    const before = await dump(services)
    const refusal: Refusal = { status: 400, error: INVALID }
    const why = /takes encrypted credential requests only/
    await expectRefusal(await request(issuer), { ...refusal, why })
    await expectRefusal(await request(issuer, { credential_response_encryption: wanted }), { ...refusal, why })
    const plain = await seal(issuer, await right(issuer, { credential_response_encryption: undefined }))
    await expectRefusal(await post(issuer, plain), { ...refusal, why: /credential_response_encryption is missing/ })
    expect(await dump(services)).toBe(before)
    expect(await expectEncrypted(await post(issuer, await seal(issuer, await right(issuer))))).toEqual(oneCredential)
  })
})
