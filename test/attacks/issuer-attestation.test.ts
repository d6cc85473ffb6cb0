/**
 * Key attestations: each attack changes one thing of a right one, is refused, uses up nothing, and the right request
 * with the same nonce still gets the credential. OpenID4VCI 1.0, Key Attestation in JWT format, jwt and attestation
 * Proof Types.
 */
import { createPublicKey, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toBase64url } from '../../src/codec/base64url.ts'
import { writeName } from '../../src/keys/certificate-name.ts'
import { EXTENDED_KEY_USAGE } from '../../src/keys/certificate-purpose.ts'
import { createSigner } from '../../src/keys/file-signer.ts'
import { makeSelfSignedCertificate } from '../../src/keys/make-certificate.ts'
import type { Algorithm } from '../../src/keys/signature.ts'
import { type Attester, attestationOf, attesterCertificate, makeAttester, trusting } from '../support/attestation.ts'
import { certify, makeAuthority } from '../support/forge.ts'
import {
  expectRefusal,
  expectWithoutEffect,
  oneCredential,
  proofOf,
  type Ready,
  readySession,
  request,
} from '../support/issuance.ts'
import { header, type JwtChanges, payload } from '../support/jwt.ts'
import { ISSUER_URL, makeKey, type Services, startServices } from '../support/services.ts'
import { call, configuration, declare, fetchNonce, holderSigner } from '../support/wire.ts'

/** No x belongs to this y. */
const NO_POINT = { kty: 'OKP', crv: 'Ed25519', x: toBase64url(Buffer.of(2, ...new Uint8Array(31))) }
const SUITE = 'oid4vci-1_0-issuer-fail-invalid-key-attestation-signature'
const VCI = 'OpenID4VCI 1.0, Key Attestation'
const required = { key_storage: ['iso_18045_high', 'iso_18045_moderate'], user_authentication: ['iso_18045_moderate'] }

let services: Services
let attester: Attester
let stranger: Attester

interface Attack {
  readonly attack: string
  readonly module: string
  readonly change: (ready: Ready) => JwtChanges | Promise<JwtChanges | string>
  readonly why: RegExp
}

const certificate = (options: Parameters<typeof attesterCertificate>[1]) => () => ({
  header: { x5c: [attesterCertificate(attester, options)] },
})
const at = (name: string, seconds: number) => (): JwtChanges => ({
  payload: { [name]: Math.floor(services.clock.now.getTime() / 1000) + seconds },
})

/** The attacks that hold for either proof type, wanted or not. */
const attacks: readonly Attack[] = [
  { attack: 'no typ', module: VCI, change: header({ typ: undefined }), why: /the key attestation: typ/ },
  { attack: 'the typ of a key proof', module: VCI, change: header({ typ: 'openid4vci-proof+jwt' }), why: /typ/ },
  {
    attack: 'alg none and no signature',
    module: SUITE,
    change: () => ({ header: { alg: 'none' }, sign: () => Promise.resolve(new Uint8Array()) }),
    why: /the key attestation: alg/,
  },
  { attack: 'no alg', module: VCI, change: header({ alg: undefined }), why: /alg/ },
  { attack: 'the alg of another key', module: SUITE, change: header({ alg: 'ES384' }), why: /signature/ },
  { attack: 'a symmetric alg', module: VCI, change: header({ alg: 'HS256' }), why: /alg/ },
  { attack: 'a critical extension', module: 'RFC 7515 4.1.11', change: header({ crit: ['exp'] }), why: /critical/ },
  {
    attack: 'a signature by another key',
    module: SUITE,
    change: () => ({ sign: (data) => stranger.signer.sign(data) }),
    why: /signature of the key attestation/,
  },
  {
    attack: 'a signature by the key that is attested',
    module: SUITE,
    change: ({ holder }) => ({ sign: (data) => holder.sign(data) }),
    why: /signature of the key attestation/,
  },
  {
    attack: 'a signature of zeros',
    module: SUITE,
    change: () => ({ sign: () => Promise.resolve(Buffer.alloc(64)) }),
    why: /signature of the key attestation/,
  },
  {
    attack: 'a signature with one bit changed',
    module: SUITE,
    change: async (ready) => {
      const [head, body, signature = ''] = (await right(ready)).split('.')
      const bytes = Buffer.from(signature, 'base64url')
      bytes[5] = (bytes[5] ?? 0) ^ 1
      return [head, body, toBase64url(bytes)].join('.')
    },
    why: /signature of the key attestation/,
  },
  {
    attack: 'other keys under the signature',
    module: SUITE,
    change: async (ready) => {
      const [head, , signature] = (await right(ready)).split('.')
      const thief = await holderSigner()
      const [, body] = (await right({ ...ready, holder: thief })).split('.')
      return [head, body, signature].join('.')
    },
    why: /signature of the key attestation/,
  },
  { attack: 'no certificate', module: VCI, change: header({ x5c: undefined }), why: /without a certificate/ },
  {
    attack: 'a key in the header in place of a certificate',
    module: VCI,
    change: () => ({ header: { x5c: undefined, jwk: attester.signer.jwk } }),
    why: /without a certificate/,
  },
  { attack: 'an empty x5c', module: VCI, change: header({ x5c: [] }), why: /x5c is empty/ },
  { attack: 'an x5c that is a text', module: VCI, change: header({ x5c: 'AA==' }), why: /x5c is not an array/ },
  { attack: 'no certificate in x5c', module: VCI, change: header({ x5c: ['AAAA'] }), why: /x5c\[0\]/ },
  {
    attack: 'eleven certificates',
    module: VCI,
    change: () => ({ header: { x5c: Array<string>(11).fill(attester.x5c[0] ?? '') } }),
    why: /more than 10/,
  },
  {
    attack: 'the certificate of another',
    module: SUITE,
    change: () => ({ header: { x5c: [...stranger.x5c] } }),
    why: /is not trusted|signature/,
  },
  {
    attack: 'a certificate that has expired',
    module: VCI,
    change: certificate({ from: -3, until: -1 }),
    why: /expired/,
  },
  {
    attack: 'a certificate that is not valid yet',
    module: VCI,
    change: certificate({ from: 1, until: 3 }),
    why: /not valid before/,
  },
  {
    attack: 'a certificate whose key may not sign',
    module: 'RFC 5280 4.2.1.3',
    change: certificate({ usages: ['keyCertSign'] }),
    why: /digitalSignature/,
  },
  {
    attack: 'a certificate for credentials',
    module: 'RFC 5280 4.2.1.12',
    change: certificate({ purposes: [EXTENDED_KEY_USAGE.mdlDocumentSigner] }),
    why: /does not allow signing attestations/,
  },
  { attack: 'a URL to fetch the key from', module: VCI, change: header({ jku: 'http://127.0.0.1/' }), why: /jku/ },
  { attack: 'a URL to fetch a certificate from', module: VCI, change: header({ x5u: 'http://a.example' }), why: /x5u/ },
  { attack: 'a trust chain', module: VCI, change: header({ trust_chain: ['e30'] }), why: /trust_chain/ },
  { attack: 'no iat', module: VCI, change: payload({ iat: undefined }), why: /the key attestation: iat must be/ },
  { attack: 'an iat in a text', module: VCI, change: payload({ iat: '0' }), why: /iat/ },
  { attack: 'an iat in the future', module: VCI, change: at('iat', 120), why: /future/ },
  { attack: 'an exp in the past', module: VCI, change: at('exp', -62), why: /has expired/ },
  { attack: 'an exp in a text', module: VCI, change: payload({ exp: '9999999999' }), why: /exp must be/ },
  { attack: 'an exp of null', module: VCI, change: payload({ exp: null }), why: /exp must be/ },
  { attack: 'an nbf in the future', module: VCI, change: at('nbf', 120), why: /nbf/ },
  { attack: 'no attested keys', module: VCI, change: payload({ attested_keys: undefined }), why: /attested_keys/ },
  {
    attack: 'an empty list of keys',
    module: VCI,
    change: payload({ attested_keys: [] }),
    why: /attested_keys is empty/,
  },
  {
    attack: 'one key that is not a list',
    module: VCI,
    change: ({ holder }) => ({ payload: { attested_keys: holder.jwk } }),
    why: /attested_keys is not an array/,
  },
  {
    attack: '101 keys',
    module: VCI,
    change: ({ holder }) => ({ payload: { attested_keys: Array(101).fill(holder.jwk) } }),
    why: /too many keys: a request may have 100/,
  },
  {
    attack: 'a private key',
    module: VCI,
    change: ({ holder }) => ({ payload: { attested_keys: [{ ...holder.jwk, d: 'AA' }] } }),
    why: /private/,
  },
  { attack: 'a key that is a text', module: VCI, change: payload({ attested_keys: ['key'] }), why: /JSON object/ },
  {
    attack: 'a symmetric key',
    module: VCI,
    change: payload({ attested_keys: [{ kty: 'oct' }] }),
    why: /unsupported key: use EC/,
  },
  {
    attack: 'a key for encryption',
    module: VCI,
    change: ({ holder }) => ({ payload: { attested_keys: [{ ...holder.jwk, use: 'enc' }] } }),
    why: /not for signatures/,
  },
  {
    attack: 'a key for an algorithm of encryption',
    module: VCI,
    change: ({ holder }) => ({ payload: { attested_keys: [{ ...holder.jwk, alg: 'ECDH-ES' }] } }),
    why: /not for its alg/,
  },
  {
    attack: 'a key for the algorithm of another curve',
    module: VCI,
    change: ({ holder }) => ({ payload: { attested_keys: [{ ...holder.jwk, alg: 'ES512' }] } }),
    why: /not for its alg/,
  },
  {
    attack: 'a key that is not a point on P-256',
    module: VCI,
    change: ({ holder }) => ({
      payload: { attested_keys: [{ ...holder.jwk, y: toBase64url(Buffer.alloc(32, 7)) }, holder.jwk] },
    }),
    why: /not a point on the curve P-256/,
  },
  {
    attack: 'a level that is not a list',
    module: VCI,
    change: payload({ key_storage: 'iso_18045_high' }),
    why: /array/,
  },
  {
    attack: 'levels that are numbers',
    module: VCI,
    change: payload({ user_authentication: [5] }),
    why: /array of str/,
  },
  {
    attack: 'a list of levels without any',
    module: VCI,
    change: payload({ user_authentication: [] }),
    why: /user_authentication .* array of strings, and not empty/,
  },
  { attack: 'a nonce that is a number', module: VCI, change: payload({ nonce: 5 }), why: /nonce of the key attest/ },
  { attack: 'an empty text', module: VCI, change: () => Promise.resolve(''), why: /three parts/ },
  { attack: 'two parts', module: VCI, change: () => Promise.resolve('e30.e30'), why: /three parts/ },
  { attack: 'a key proof in its place', module: VCI, change: (ready) => proofOf(ready), why: /typ/ },
]

/** The attacks that matter where an attestation is required. */
const whenRequired: readonly Attack[] = [
  {
    attack: 'a certificate of a TLS server',
    module: VCI,
    change: certificate({ purposes: [EXTENDED_KEY_USAGE.tlsServer], isCritical: false }),
    why: /is that of a TLS server; sign attestations with another one/,
  },
  {
    attack: 'an attester that nobody knows',
    module: VCI,
    change: () => ({ header: { x5c: [...stranger.x5c] }, sign: (data) => stranger.signer.sign(data) }),
    why: /not trusted/,
  },
  {
    attack: 'an attester that nobody knows, with its CA',
    module: VCI,
    change: () => ({
      header: { x5c: [...stranger.x5c, stranger.authority.der.toString('base64')] },
      sign: (data) => stranger.signer.sign(data),
    }),
    why: /not trusted/,
  },
  {
    attack: 'a CA of the name of ours',
    module: VCI,
    change: async () => {
      const namesake = await makeAuthority('Wallet Maker CA')
      const der = certify(namesake, stranger.key, { uris: ['https://wallet.example'] })
      return { header: { x5c: [der.toString('base64')] }, sign: (data) => stranger.signer.sign(data) }
    },
    why: /its key did not sign it/,
  },
  {
    attack: 'a certificate by the attester, which is not a CA',
    module: 'RFC 5280 6.1.4',
    change: async () => {
      const key = await makeKey()
      const der = certify({ name: writeName([['CN', 'Wallet Maker']]), key: attester.key }, key, {
        uris: ['https://wallet.example'],
      })
      const signer = createSigner(key, [])
      return { header: { x5c: [der.toString('base64'), ...attester.x5c] }, sign: (data) => signer.sign(data) }
    },
    why: /is not a CA/,
  },
  {
    attack: 'a certificate that signed itself',
    module: 'HAIP 4.5.1',
    change: async () => {
      const key = await makeKey()
      const times = { notBefore: new Date(Date.now() - 1e6), notAfter: new Date(Date.now() + 1e6) }
      const content = { privateKey: key, publicKey: createPublicKey(key), commonName: 'Wallet Maker', ...times }
      const der = makeSelfSignedCertificate({ ...content, serial: randomBytes(16) })
      const signer = createSigner(key, [])
      return { header: { x5c: [der.toString('base64')] }, sign: (data) => signer.sign(data) }
    },
    why: /names itself as its issuer/,
  },
  {
    attack: 'a key that is not a point on Ed25519',
    module: 'RFC 8032 5.1.3',
    change: ({ holder }) => ({ payload: { attested_keys: [NO_POINT, holder.jwk] } }),
    why: /not a point on the curve Ed25519/,
  },
  { attack: 'no key_storage', module: VCI, change: payload({ key_storage: undefined }), why: /key_storage .* one of/ },
  {
    attack: 'a lower key_storage',
    module: VCI,
    change: payload({ key_storage: ['iso_18045_basic'] }),
    why: /key_stor/,
  },
  { attack: 'no level of key_storage', module: VCI, change: payload({ key_storage: [] }), why: /key_storage/ },
  {
    attack: 'no user_authentication',
    module: VCI,
    change: payload({ user_authentication: undefined }),
    why: /user_authentication .* one of iso_18045_moderate/,
  },
  {
    attack: 'a higher user_authentication that is not in the list',
    module: VCI,
    change: payload({ user_authentication: ['iso_18045_high'] }),
    why: /user_authentication/,
  },
]

const inProof: readonly Attack[] = [
  { attack: 'no exp', module: VCI, change: payload({ exp: undefined }), why: /until when it is good/ },
  {
    attack: 'the keys of others only',
    module: VCI,
    change: async () => ({ payload: { attested_keys: [(await holderSigner()).jwk, (await holderSigner()).jwk] } }),
    why: /not among the attested_keys/,
  },
  { attack: 'another nonce', module: VCI, change: payload({ nonce: 'another' }), why: /not that of the key proof/ },
  { attack: 'an empty nonce', module: VCI, change: payload({ nonce: '' }), why: /not that of the key proof/ },
]

const alone: readonly Attack[] = [
  { attack: 'no nonce', module: VCI, change: payload({ nonce: undefined }), why: /has no nonce/ },
  { attack: 'an empty nonce', module: VCI, change: payload({ nonce: '' }), why: /has no nonce/ },
  {
    attack: 'no exp and an iat 302 seconds ago',
    module: VCI,
    change: () => ({ payload: { ...at('iat', -302)().payload, exp: undefined } }),
    why: /too old/,
  },
]

/** Makes the attestation of the wallet of the session. */
async function right(ready: Ready, changes: JwtChanges = {}): Promise<string> {
  return attestationOf(attester, [(await holderSigner()).jwk, ready.holder.jwk], services.clock.now, changes)
}

async function rightAlone(ready: Ready, changes: JwtChanges = {}): Promise<string> {
  const { payload: members, ...rest } = changes
  const withNonce = { ...rest, payload: { nonce: ready.nonce, ...members } }
  return attestationOf(attester, [ready.holder.jwk, (await holderSigner()).jwk], services.clock.now, withNonce)
}

const attested = async (ready: Ready, attestation: string): Promise<Response> => {
  const changes: JwtChanges = { header: { key_attestation: attestation } }
  return request(ready, { proof: undefined, proofs: { jwt: [await proofOf(ready, changes)] } })
}

const byAttestation = (ready: Ready, ...attestations: readonly unknown[]): Promise<Response> =>
  request(ready, { proof: undefined, proofs: { attestation: attestations } })

async function boundKey(response: Response): Promise<unknown> {
  const body = (await response.json()) as { credentials?: { credential: string }[] }
  expect([response.status, body]).toEqual([200, oneCredential])
  const [, payloadPart = ''] = (body.credentials?.[0]?.credential ?? '').split('.')
  return (JSON.parse(Buffer.from(payloadPart, 'base64url').toString()) as { cnf: { jwk: unknown } }).cnf.jwk
}

describe('a key attestation that is wrong', () => {
  let needing: string
  let plain: string
  beforeAll(async () => {
    ;[attester, stranger] = [await makeAttester(), await makeAttester('Stranger')]
    services = await startServices(trusting(attester))
    needing = await declare(services, { ...configuration, key_attestations_required: required })
    plain = await declare(services)
  })
  afterAll(() => services.close())
  const ready = (id: string) => readySession(services, { credential_configurations: [id] })

  async function refused(session: Ready, attack: () => Promise<Response>, why: RegExp, error = 'invalid_proof') {
    await expectWithoutEffect(services, attack, { status: 400, error, why })
    expect(await boundKey(await attested(session, await right(session)))).toEqual(session.holder.jwk)
  }

  it.each([...attacks, ...whenRequired, ...inProof])(
    'with a key proof that needs it, $attack: refused and without effect ($module)',
    async ({ change, why }) => {
      const session = await ready(needing)
      const changes = await change(session)
      const jwt = typeof changes === 'string' ? changes : await right(session, changes)
      await refused(session, () => attested(session, jwt), why)
    },
  )

  it.each([...attacks, ...inProof])(
    'with a key proof that does not need it, $attack: refused and without effect ($module)',
    async ({ change, why }) => {
      const session = await ready(plain)
      const changes = await change(session)
      const jwt = typeof changes === 'string' ? changes : await right(session, changes)
      await refused(session, () => attested(session, jwt), why)
    },
  )

  it.each([...attacks, ...whenRequired, ...alone])(
    'in place of a key proof, $attack: refused and without effect ($module)',
    async ({ change, why }) => {
      const session = await ready(needing)
      const changes = await change(session)
      const jwt = typeof changes === 'string' ? changes : await rightAlone(session, changes)
      await refused(session, () => byAttestation(session, jwt), why)
    },
  )

  it.each<[string, unknown]>([
    ['a number', 5],
    ['a list', ['e30.e30.AA']],
    ['null', null],
  ])('is %s: refused', async (_, value) => {
    const session = await ready(plain)
    const jwt = await proofOf(session, { header: { key_attestation: value } })
    await refused(session, () => request(session, { proof: { proof_type: 'jwt', jwt } }), /must be a JWT/)
  })

  it.each<[string, unknown, RegExp]>([
    ['another key', '0', /signature of the key proof is not by the key/],
    ['no key, so that the first one is meant', undefined, /signature of the key proof is not by the key/],
    ['a key behind the last', '2', /kid of the key proof names no key/],
    ['an index that is not written in decimal', '01', /kid of the key proof names no key/],
    ['a kid that no key has', 'k9', /kid of the key proof names no key/],
    ['a member that every list has', 'length', /kid of the key proof names no key/],
    ['a number', 1, /must be a did:jwk or did:key/],
  ])('is beside a kid that names %s: refused', async (_, kid, why) => {
    for (const id of [needing, plain]) {
      const session = await ready(id)
      const jwt = await proofOf(session, { header: { kid, key_attestation: await right(session) } })
      await refused(session, () => request(session, { proof: { proof_type: 'jwt', jwt } }), why)
    }
  })

  it('is missing beside a kid that is an index: refused', async () => {
    const session = await ready(plain)
    const jwt = await proofOf(session, { header: { kid: '0' } })
    await refused(session, () => request(session, { proof: { proof_type: 'jwt', jwt } }), /key proof cannot be read/)
  })

  it('is missing: refused where it is required', async () => {
    const session = await ready(needing)
    await refused(session, () => request(session), /needs a key attestation/)
  })

  it('stands in place of a key proof where none is required: refused, as nobody says whose word counts', async () => {
    const session = await ready(plain)
    const jwt = await rightAlone(session)
    await refused(session, () => byAttestation(session, jwt), /takes no proof of the type attestation/)
  })

  it('has a nonce of somebody else, or one that was used', async () => {
    const [a, b] = [await ready(needing), await ready(needing)]
    const foreign = await rightAlone(a, { payload: { nonce: b.nonce } })
    await refused(a, () => byAttestation(a, foreign), /c_nonce/, 'invalid_nonce')
    const used = await rightAlone(b)
    expect(await boundKey(await byAttestation(b, used))).toEqual(b.holder.jwk)
    await expectRefusal(await byAttestation(b, used), { status: 400, error: 'invalid_nonce' })
    const again = { ...b, nonce: await fetchNonce(services, b.sessionId) }
    expect(await boundKey(await byAttestation(again, await rightAlone(again)))).toEqual(b.holder.jwk)
  })

  it('is sent in another form: refused', async () => {
    const session = await ready(needing)
    const jwt = await rightAlone(session)
    for (const [proofs, why] of [
      [{ attestation: jwt }, /exactly one member/],
      [{ attestation: [] }, /must be a key proof/],
      [{ attestation: [5] }, /must be a key proof/],
      [{ attestation: [jwt, jwt] }, /must have one key attestation/],
      [{ attestation: [jwt], jwt: [await proofOf(session)] }, /exactly one member/],
      [{ di_vp: [jwt] }, /exactly one member/],
    ] as const) {
      const response = await request(session, { proof: undefined, proofs })
      await expectRefusal(response, { status: 400, error: 'invalid_proof', why })
    }
    await refused(
      session,
      () => request(session, { proof: { proof_type: 'attestation', attestation: jwt } }),
      /must be jwt/,
    )
  })
})

describe('a key attestation', () => {
  beforeAll(async () => {
    attester = await makeAttester()
    services = await startServices(trusting(attester))
  })
  afterAll(() => services.close())
  const ready = async (posted: object) =>
    readySession(services, { credential_configurations: [await declare(services, { ...configuration, ...posted })] })

  it.each<[string, JwtChanges]>([
    ['as it is', {}],
    ['with the nonce of the proof', { payload: {} }],
    ['made long ago, and good for long', { payload: { iat: 1_600_000_000 } }],
    ['with other members', { payload: { iss: 'https://wallet.example', certification: 'x', status: {} } }],
    ['with the typ that older drafts had', { header: { typ: 'keyattestation+jwt' } }],
    ['with several levels', { payload: { key_storage: ['iso_18045_enhanced-basic', 'iso_18045_moderate'] } }],
  ])('is taken %s', async (what, changes) => {
    const session = await ready({ key_attestations_required: required })
    const nonce = what === 'with the nonce of the proof' ? { nonce: session.nonce } : {}
    const jwt = await right(session, { ...changes, payload: { ...changes.payload, ...nonce } })
    expect(await boundKey(await attested(session, jwt))).toEqual(session.holder.jwk)
  })

  it.each<[string, string | undefined, (key: object, other: object) => readonly object[]]>([
    ['its index', '1', (key, other) => [other, key]],
    [
      'its kid',
      'k1',
      (key, other) => [
        { ...other, kid: 'k0' },
        { ...key, kid: 'k1' },
      ],
    ],
    ['its kid, which is the index of another', '0', (key, other) => [other, { ...key, kid: '0' }]],
    ['nothing, as the first key is meant', undefined, (key, other) => [key, other]],
  ])('has the key that the key proof names by %s', async (_, kid, keysOf) => {
    for (const posted of [{ key_attestations_required: required }, {}]) {
      const session = await ready(posted)
      const keys = keysOf(session.holder.jwk, (await holderSigner()).jwk)
      const attestation = await attestationOf(attester, keys, services.clock.now)
      const jwt = await proofOf(session, { header: { kid, key_attestation: attestation } })
      const response = await request(session, { proof: undefined, proofs: { jwt: [jwt] } })
      expect(await boundKey(response)).toEqual(session.holder.jwk)
    }
  })

  it('is enough when any will do, and when it is not wanted at all', async () => {
    for (const posted of [{ key_attestations_required: {} }, {}]) {
      const session = await ready(posted)
      const jwt = await right(session, { payload: { key_storage: undefined, user_authentication: undefined } })
      expect(await boundKey(await attested(session, jwt))).toEqual(session.holder.jwk)
    }
  })

  it('stands in place of a key proof, and the credential is bound to the first of its keys', async () => {
    const session = await ready({ key_attestations_required: {} })
    const jwt = await rightAlone(session, { payload: { exp: undefined } })
    expect(await boundKey(await byAttestation(session, jwt))).toEqual(session.holder.jwk)
  })

  it.each<Algorithm>(['ES384', 'ES512', 'EdDSA'])('is taken by %s, through an intermediate', async (algorithm) => {
    const maker = await makeAttester('Wallet Maker', algorithm)
    const intermediateKey = await makeKey(algorithm)
    const name = writeName([['CN', 'Intermediate']])
    const intermediate = certify(maker.authority, intermediateKey, { name, isCa: true, usages: ['keyCertSign'] })
    const leaf = certify({ name, key: intermediateKey }, maker.key, { uris: ['https://wallet.example'] })
    const world = await startServices(trusting(maker))
    const posted = { ...configuration, key_attestations_required: required }
    const session = {
      ...(await readySession(world, { credential_configurations: [await declare(world, posted)] })),
      holder: await holderSigner(algorithm),
    }
    const x5c = [leaf, intermediate].map((der) => der.toString('base64'))
    const jwt = await attestationOf({ ...maker, x5c }, [session.holder.jwk], world.clock.now)
    expect(await boundKey(await attested(session, jwt))).toEqual(session.holder.jwk)
    await world.close()
  })

  it('is asked for in the metadata, for both proof types, and nowhere else', async () => {
    const id = await declare(services, { ...configuration, key_attestations_required: required })
    const plain = await declare(services)
    const response = await services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer`)
    const { credential_configurations_supported: shown } = (await response.json()) as {
      credential_configurations_supported: Record<string, Record<string, unknown>>
    }
    const algs = ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
    const proof = { proof_signing_alg_values_supported: algs, key_attestations_required: required }
    expect(shown[id]?.proof_types_supported).toEqual({ jwt: proof, attestation: proof })
    expect(shown[id]).not.toHaveProperty('key_attestations_required')
    expect(shown[plain]?.proof_types_supported).toEqual({ jwt: { proof_signing_alg_values_supported: algs } })
  })

  it.each<[unknown, RegExp]>([
    [true, /key_attestations_required.* must be an object/],
    [{ key_storage: [] }, /key_attestations_required\.key_storage/],
    [{ key_storage: 'iso_18045_high' }, /key_attestations_required\.key_storage/],
    [{ keystorage: ['a'] }, /key_attestations_required\.keystorage/],
  ])('is declared in the form of the metadata: %j is refused', async (value, why) => {
    const posted = { ...configuration, key_attestations_required: value }
    const response = await call(services, `${ISSUER_URL}/credential-configuration/create`, posted)
    await expectRefusal(response, { status: 400, error: 'invalid_request', why })
  })

  it('cannot be required while nobody is trusted to attest', async () => {
    const nobody = await startServices()
    const posted = { ...configuration, key_attestations_required: {} }
    const response = await call(nobody, `${ISSUER_URL}/credential-configuration/create`, posted)
    await expectRefusal(response, { status: 400, error: 'invalid_request', why: /keyAttestationTrustAnchors/ })
    await nobody.close()
  })
})
