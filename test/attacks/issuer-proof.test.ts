/**
 * Attacks on the key proof. Each changes one thing of a right proof; it is refused, uses up nothing, and the right
 * proof with the same nonce still gets the credential. OpenID4VCI 1.0, Verifying Proof; facts section 5 items 7 and 8.
 */
import { createHmac, generateKeyPair, sign as signWith } from 'node:crypto'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toBase64url } from '../../src/codec/base64url.ts'
import { toDidJwk } from '../../src/keys/did.ts'
import { type Algorithm, algorithms, joseAlgorithms } from '../../src/keys/signature.ts'
import {
  dump,
  expectHarmless,
  expectIssued,
  expectRefusal,
  expectWithoutEffect,
  oneCredential,
  proofOf,
  type Ready,
  readySession,
  request,
  requestWithProof,
  startedSession,
  TOKEN_ENDPOINT,
  tokenOf,
} from '../support/issuance.ts'
import { header, type JwtChanges, payload } from '../support/jwt.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import {
  configuration,
  declare,
  fetchNonce,
  holderSigner,
  issueCredential,
  postForm,
  requestCredential,
} from '../support/wire.ts'

interface Attack {
  readonly attack: string
  /** The module of the conformance suite, or the item of the security checklist. */
  readonly module: string
  readonly proof: (ready: Ready) => JwtChanges | Promise<JwtChanges | string>
  readonly error?: 'invalid_nonce' | 'invalid_credential_request'
  readonly why: RegExp
}

const generate = promisify(generateKeyPair)
const now = ({ services }: Ready): number => Math.floor(services.clock.now.getTime() / 1000)

async function signedWithRsa(alg: string): Promise<JwtChanges> {
  const { publicKey, privateKey } = await generate('rsa', { modulusLength: 2048 })
  return {
    header: { alg, kid: undefined, jwk: publicKey.export({ format: 'jwk' }) },
    sign: (data) => Promise.resolve(signWith('sha256', data, privateKey)),
  }
}

/** Makes a proof by a key of one algorithm whose header says another. */
async function signedAs(alg: string, algorithm: Algorithm): Promise<JwtChanges> {
  const signer = await holderSigner(algorithm)
  return { header: { alg, kid: undefined, jwk: signer.jwk }, sign: (data) => signer.sign(data) }
}

const keyed =
  (jwk: (own: Ready['holder']['jwk']) => object) =>
  (ready: Ready): JwtChanges => ({
    header: { kid: undefined, jwk: jwk(ready.holder.jwk) },
  })

const SIGNATURE = 'oid4vci-1_0-issuer-fail-invalid-jwt-proof-signature'
const NONCE = 'oid4vci-1_0-issuer-fail-invalid-nonce'
const PROOF = 'facts 5.7'
const REPLAY = 'facts 5.8'

const headerAttacks: readonly Attack[] = [
  { attack: 'no typ', module: PROOF, proof: header({ typ: undefined }), why: /typ/ },
  { attack: 'the typ of any JWT', module: PROOF, proof: header({ typ: 'JWT' }), why: /typ/ },
  { attack: 'the typ of a key binding', module: PROOF, proof: header({ typ: 'kb+jwt' }), why: /typ/ },
  { attack: 'the typ of an access token', module: PROOF, proof: header({ typ: 'at+jwt' }), why: /typ/ },
  { attack: 'the typ as an array', module: PROOF, proof: header({ typ: ['openid4vci-proof+jwt'] }), why: /typ/ },
  {
    attack: 'alg none and no signature',
    module: PROOF,
    proof: () => ({ header: { alg: 'none' }, sign: () => Promise.resolve(new Uint8Array()) }),
    why: /alg/,
  },
  { attack: 'alg none over a good signature', module: PROOF, proof: header({ alg: 'none' }), why: /alg/ },
  { attack: 'alg in lower case', module: PROOF, proof: header({ alg: 'es256' }), why: /alg/ },
  { attack: 'no alg', module: PROOF, proof: header({ alg: undefined }), why: /alg/ },
  {
    attack: 'HS256 with the public key as the secret',
    module: PROOF,
    proof: ({ holder }) => ({
      header: { alg: 'HS256', kid: undefined, jwk: holder.jwk },
      sign: (data) => Promise.resolve(createHmac('sha256', JSON.stringify(holder.jwk)).update(data).digest()),
    }),
    why: /alg/,
  },
  { attack: 'RS256 with a key of its own', module: PROOF, proof: () => signedWithRsa('RS256'), why: /alg/ },
  { attack: 'ES256 said of an RSA key', module: PROOF, proof: () => signedWithRsa('ES256'), why: /P-256/ },
  ...(Object.keys(algorithms) as Algorithm[]).flatMap((algorithm) =>
    joseAlgorithms
      .filter((alg) => !algorithms[algorithm].jose.some((name) => name === alg))
      .map((alg) => ({
        attack: `${alg} said of a key for ${algorithm}`,
        module: PROOF,
        proof: () => signedAs(alg, algorithm),
        why: /signature/,
      })),
  ),
  {
    attack: 'kid and jwk together',
    module: PROOF,
    proof: ({ holder }) => ({ header: { jwk: holder.jwk } }),
    why: /exactly one of kid/,
  },
  { attack: 'no key at all', module: PROOF, proof: header({ kid: undefined }), why: /exactly one of kid/ },
  { attack: 'a kid that is a number', module: PROOF, proof: header({ kid: 7 }), why: /kid/ },
  { attack: 'a kid that names a key nobody has', module: PROOF, proof: header({ kid: 'key-1' }), why: /did:jwk/ },
  {
    attack: 'the did:key of another',
    module: PROOF,
    proof: header({ kid: 'did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169' }),
    why: /signature/,
  },
  {
    attack: 'a did:web, to have it fetched',
    module: PROOF,
    proof: header({ kid: 'did:web:a.example#1' }),
    why: /did:jwk/,
  },
  {
    attack: 'another fragment of a did:jwk',
    module: PROOF,
    proof: ({ holder }) => ({ header: { kid: `${toDidJwk(holder.jwk)}#1` } }),
    why: /fragment/,
  },
  {
    attack: 'a did:jwk that is not base64url',
    module: PROOF,
    proof: ({ holder }) => ({ header: { kid: `${toDidJwk(holder.jwk)}=` } }),
    why: /base64url/,
  },
  {
    attack: 'a did:jwk with a private key',
    module: PROOF,
    proof: ({ holder }) => ({ header: { kid: `did:jwk:${toBase64url(JSON.stringify({ ...holder.jwk, d: 'AA' }))}` } }),
    why: /private/,
  },
  { attack: 'a private key', module: PROOF, proof: keyed((jwk) => ({ ...jwk, d: 'AA' })), why: /private/ },
  { attack: 'a symmetric key', module: PROOF, proof: keyed(() => ({ kty: 'oct', k: 'AA' })), why: /private/ },
  { attack: 'a key that is a text', module: PROOF, proof: header({ kid: undefined, jwk: 'key' }), why: /JSON object/ },
  { attack: 'a key off the curve', module: PROOF, proof: keyed((jwk) => ({ ...jwk, y: jwk.x })), why: /curve/ },
  {
    attack: 'the point zero',
    module: PROOF,
    proof: keyed((jwk) => ({ ...jwk, x: 'A'.repeat(43), y: 'A'.repeat(43) })),
    why: /curve/,
  },
  { attack: 'a key without y', module: PROOF, proof: keyed(({ x }) => ({ kty: 'EC', crv: 'P-256', x })), why: /no y/ },
  { attack: 'a coordinate of 33 bytes', module: PROOF, proof: keyed((jwk) => ({ ...jwk, x: `A${jwk.x}` })), why: /x/ },
  { attack: 'the curve secp256k1', module: PROOF, proof: keyed((jwk) => ({ ...jwk, crv: 'secp256k1' })), why: /P-256/ },
  { attack: 'a certificate and a kid', module: PROOF, proof: header({ x5c: ['AA=='] }), why: /exactly one of kid/ },
  {
    attack: 'a URL to fetch the key from',
    module: PROOF,
    proof: header({ jku: 'http://169.254.169.254/' }),
    why: /jku/,
  },
  {
    attack: 'a URL to fetch a certificate from',
    module: PROOF,
    proof: header({ x5u: 'http://127.0.0.1/' }),
    why: /x5u/,
  },
  { attack: 'a trust chain', module: PROOF, proof: header({ trust_chain: ['e30'] }), why: /trust_chain/ },
  { attack: 'a critical extension', module: 'RFC 7515 4.1.11', proof: header({ crit: ['exp'] }), why: /critical/ },
  { attack: 'an unencoded payload', module: 'RFC 7797', proof: header({ crit: ['b64'], b64: false }), why: /critical/ },
]

const payloadAttacks: readonly Attack[] = [
  { attack: 'no aud', module: PROOF, proof: payload({ aud: undefined }), why: /aud/ },
  { attack: 'the aud of another issuer', module: PROOF, proof: payload({ aud: 'https://a.example' }), why: /aud/ },
  {
    attack: 'an aud that begins like ours',
    module: PROOF,
    proof: payload({ aud: `${ISSUER_URL}.a.example` }),
    why: /aud/,
  },
  {
    attack: 'an aud below ours',
    module: PROOF,
    proof: ({ audience }) => ({ payload: { aud: `${audience}/x` } }),
    why: /aud/,
  },
  {
    attack: 'an aud for us and for another',
    module: PROOF,
    proof: ({ audience }) => ({ payload: { aud: [audience, 'https://a.example'] } }),
    why: /aud .* and no other/,
  },
  { attack: 'an aud in upper case', module: PROOF, proof: payload({ aud: ISSUER_URL.toUpperCase() }), why: /aud/ },
  {
    attack: 'the aud of another session',
    module: PROOF,
    proof: payload({ aud: `${ISSUER_URL}/${'a'.repeat(32)}` }),
    why: /aud/,
  },
  { attack: 'two slashes after the aud', module: PROOF, proof: payload({ aud: `${ISSUER_URL}//` }), why: /aud/ },
  { attack: 'an array of foreign auds', module: PROOF, proof: payload({ aud: ['a', 'b'] }), why: /aud/ },
  { attack: 'an empty array of auds', module: PROOF, proof: payload({ aud: [] }), why: /aud/ },
  { attack: 'an array in an array as aud', module: PROOF, proof: payload({ aud: [[ISSUER_URL]] }), why: /aud/ },
  { attack: 'no iat', module: PROOF, proof: payload({ iat: undefined }), why: /iat/ },
  {
    attack: 'an iat in a text',
    module: PROOF,
    proof: (ready) => ({ payload: { iat: String(now(ready)) } }),
    why: /iat/,
  },
  { attack: 'an iat of null', module: PROOF, proof: payload({ iat: null }), why: /iat/ },
  {
    attack: 'an iat in milliseconds',
    module: PROOF,
    proof: (ready) => ({ payload: { iat: now(ready) * 1000 } }),
    why: /future/,
  },
  {
    attack: 'an iat 302 seconds ago',
    module: PROOF,
    proof: (ready) => ({ payload: { iat: now(ready) - 302 } }),
    why: /too old/,
  },
  {
    attack: 'an iat a year ago',
    module: 'peers 1.11',
    proof: (ready) => ({ payload: { iat: now(ready) - 31_536_000 } }),
    why: /too old/,
  },
  { attack: 'an iat of zero', module: PROOF, proof: payload({ iat: 0 }), why: /too old/ },
  { attack: 'a negative iat', module: PROOF, proof: payload({ iat: -1e300 }), why: /too old/ },
  {
    attack: 'an iat 62 seconds ahead',
    module: PROOF,
    proof: (ready) => ({ payload: { iat: now(ready) + 62 } }),
    why: /future/,
  },
  {
    attack: 'an exp in the past',
    module: PROOF,
    proof: (ready) => ({ payload: { exp: now(ready) - 61 } }),
    why: /exp/,
  },
  {
    attack: 'an exp in a text',
    module: PROOF,
    proof: (ready) => ({ payload: { exp: String(now(ready) + 60) } }),
    why: /exp/,
  },
  {
    attack: 'an nbf in the future',
    module: PROOF,
    proof: (ready) => ({ payload: { nbf: now(ready) + 61 } }),
    why: /nbf/,
  },
  { attack: 'an nbf in a text', module: PROOF, proof: payload({ nbf: '0' }), why: /nbf/ },
  { attack: 'no nonce', module: PROOF, proof: payload({ nonce: undefined }), why: /no nonce/ },
  { attack: 'an empty nonce', module: PROOF, proof: payload({ nonce: '' }), why: /no nonce/ },
  { attack: 'a nonce that is a number', module: PROOF, proof: payload({ nonce: 1 }), why: /no nonce/ },
  {
    attack: 'a nonce in an array',
    module: PROOF,
    proof: ({ nonce }) => ({ payload: { nonce: [nonce] } }),
    why: /no nonce/,
  },
  {
    attack: 'a random nonce',
    module: NONCE,
    proof: payload({ nonce: toBase64url(Buffer.alloc(38, 7)) }),
    error: 'invalid_nonce',
    why: /c_nonce/,
  },
  {
    attack: 'an invented nonce, for which no signature is verified',
    module: NONCE,
    proof: () => ({ payload: { nonce: 'AAAA' }, sign: () => Promise.resolve(Buffer.alloc(64, 1)) }),
    error: 'invalid_nonce',
    why: /c_nonce/,
  },
  { attack: 'a short nonce', module: NONCE, proof: payload({ nonce: 'AAAA' }), error: 'invalid_nonce', why: /c_nonce/ },
  {
    attack: 'a nonce that is not base64url',
    module: NONCE,
    proof: payload({ nonce: 'ü' }),
    error: 'invalid_nonce',
    why: /c_nonce/,
  },
  {
    attack: 'a nonce that says it lasts longer',
    module: REPLAY,
    proof: ({ nonce }) => {
      const bytes = Buffer.from(nonce, 'base64url')
      bytes.writeUIntBE(bytes.readUIntBE(0, 6) + 1000, 0, 6)
      return { payload: { nonce: toBase64url(bytes) } }
    },
    error: 'invalid_nonce',
    why: /c_nonce/,
  },
  {
    attack: 'a nonce with its random part changed',
    module: REPLAY,
    proof: ({ nonce }) => {
      const bytes = Buffer.from(nonce, 'base64url')
      bytes[10] = (bytes[10] ?? 0) ^ 1
      return { payload: { nonce: toBase64url(bytes) } }
    },
    error: 'invalid_nonce',
    why: /c_nonce/,
  },
  {
    attack: 'the nonce of another session',
    module: REPLAY,
    proof: async ({ services, configurationId }) => {
      const other = await readySession(services, { credential_configurations: [configurationId] })
      return { payload: { nonce: other.nonce } }
    },
    error: 'invalid_nonce',
    why: /c_nonce/,
  },
]

const signatureAttacks: readonly Attack[] = [
  {
    attack: 'the signature of another key',
    module: SIGNATURE,
    proof: async () => {
      const other = await holderSigner()
      return { sign: (data) => other.sign(data) }
    },
    why: /signature/,
  },
  {
    attack: 'a signature of zeros',
    module: SIGNATURE,
    proof: () => ({ sign: () => Promise.resolve(Buffer.alloc(64)) }),
    why: /signature/,
  },
  {
    attack: 'an empty signature',
    module: SIGNATURE,
    proof: () => ({ sign: () => Promise.resolve(Buffer.alloc(0)) }),
    why: /signature/,
  },
  {
    attack: 'a signature with a byte too many',
    module: SIGNATURE,
    proof: ({ holder }) => ({ sign: async (data) => Buffer.concat([await holder.sign(data), Buffer.alloc(1)]) }),
    why: /signature/,
  },
  {
    attack: 'the payload of another proof under the signature',
    module: SIGNATURE,
    proof: async (ready) => {
      const [head, , signature] = (await proofOf(ready)).split('.')
      const [, other] = (await proofOf(ready, { payload: { iat: now(ready) - 1 } })).split('.')
      return [head, other, signature].join('.')
    },
    why: /signature/,
  },
  {
    attack: 'the header of another key over the signature',
    module: SIGNATURE,
    proof: async (ready) => {
      const [, body, signature] = (await proofOf(ready)).split('.')
      const thief = await holderSigner()
      const [head] = (await proofOf({ ...ready, holder: thief })).split('.')
      return [head, body, signature].join('.')
    },
    why: /signature/,
  },
  { attack: 'an empty text', module: SIGNATURE, proof: () => Promise.resolve(''), why: /three parts/ },
  { attack: 'two parts', module: SIGNATURE, proof: () => Promise.resolve('e30.e30'), why: /three parts/ },
  {
    attack: 'five parts, as encryption has',
    module: SIGNATURE,
    proof: () => Promise.resolve('e30.e30.AA.AA.AA'),
    why: /three parts/,
  },
  {
    attack: 'a padded header',
    module: SIGNATURE,
    proof: async (ready) => (await proofOf(ready)).replace('.', '=.'),
    why: /base64url/,
  },
  {
    attack: 'a header that is an array',
    module: SIGNATURE,
    proof: () => Promise.resolve('W10.e30.AA'),
    why: /JSON object/,
  },
  { attack: 'a payload that is not JSON', module: SIGNATURE, proof: () => Promise.resolve('e30.AAAA.AA'), why: /JSON/ },
  {
    attack: 'a payload nested 20,000 deep',
    module: PROOF,
    proof: async (ready) => {
      const [head, , signature] = (await proofOf(ready)).split('.')
      return [head, toBase64url(`${'{"a":'.repeat(2e4)}1${'}'.repeat(2e4)}`), signature].join('.')
    },
    why: /deeper/,
  },
  {
    attack: 'a credential of ours in place of a proof',
    module: 'facts 5.17',
    proof: async ({ services }) => (await issueCredential(services, await holderSigner())).split('~')[0] ?? '',
    why: /typ/,
  },
  {
    attack: 'the access token in place of a proof',
    module: 'facts 5.17',
    proof: ({ token }) => Promise.resolve(token),
    why: /typ/,
  },
]

describe('a key proof that is wrong', () => {
  let services: Services
  let configurationId: string
  beforeAll(async () => {
    services = await startServices()
    configurationId = await declare(services)
  })
  afterAll(() => services.close())
  const ready = () => readySession(services, { credential_configurations: [configurationId] })

  const attacks = [...headerAttacks, ...payloadAttacks, ...signatureAttacks]
  it.each(attacks)('$attack: refused and without effect ($module)', async ({ proof, error, why }) => {
    const session = await ready()
    const jwt = await proof(session)
    const refusal = { status: 400, error: error ?? 'invalid_proof', why }
    await expectHarmless(session, () => requestWithProof(session, jwt), refusal)
  })

  // The tables above have attacks on the key or its name; here is everything else, by holders with other keys. What a
  // payload says is judged alike whichever key signed it: one other kind of key shows it.
  describe.each([
    ['ES384', signatureAttacks],
    ['ES512', signatureAttacks],
    ['EdDSA', [...payloadAttacks, ...signatureAttacks]],
  ] as const)('by a key for %s', (algorithm, attacks) => {
    it.each(attacks)('$attack: refused and without effect ($module)', async (row) => {
      const session = { ...(await ready()), holder: await holderSigner(algorithm) }
      const refusal = { status: 400, error: row.error ?? 'invalid_proof', why: row.why }
      const jwt = await row.proof(session)
      await expectHarmless(session, () => requestWithProof(session, jwt), refusal)
    })
  })

  it.each(['did:jwk without fragment', 'jwk', 'jwk with other members', 'iss', 'aud with a slash', 'base aud'])(
    'takes a proof with %s',
    async (form) => {
      const session = await ready()
      const did = toDidJwk(session.holder.jwk)
      const changes: Record<string, JwtChanges> = {
        'did:jwk without fragment': { header: { kid: did } },
        jwk: { header: { kid: undefined, jwk: session.holder.jwk } },
        'jwk with other members': {
          header: { kid: undefined, jwk: { ...session.holder.jwk, kid: 'a', use: 'sig', alg: 'ES256' } },
        },
        iss: { payload: { iss: 'wallet', other: 1 } },
        'aud with a slash': { payload: { aud: `${session.audience}/` } },
        'base aud': { payload: { aud: ISSUER_URL } },
      }
      expect((await requestWithProof(session, changes[form] ?? {})).status).toBe(200)
    },
  )

  it.each(joseAlgorithms)('takes a proof by %s, and binds to its key', async (alg) => {
    const algorithm = (Object.keys(algorithms) as Algorithm[]).find((name) =>
      algorithms[name].jose.some((each) => each === alg),
    )
    const session = { ...(await ready()), holder: await holderSigner(algorithm) }
    const jwt = await proofOf(session, { header: { alg } })
    const response = await requestWithProof(session, jwt)
    const { credentials } = (await response.json()) as { credentials: { credential: string }[] }
    const [, body = ''] = (credentials[0]?.credential ?? '').split('.')
    expect(JSON.parse(Buffer.from(body, 'base64url').toString())).toMatchObject({ cnf: { jwk: session.holder.jwk } })
  })

  it('takes an iat from 300 seconds ago to 60 seconds ahead, and not a second more', async () => {
    const real = services.clock.now
    services.clock.now = new Date(Math.ceil(real.getTime() / 1000) * 1000)
    const session = await ready()
    for (const [offset, status] of [
      [-301, 400],
      [61, 400],
      [-300, 200],
    ] as const) {
      const response = await requestWithProof(session, { payload: { iat: now(session) + offset } })
      expect([offset, response.status]).toEqual([offset, status])
    }
    const another = await ready()
    expect((await requestWithProof(another, { payload: { iat: now(another) + 60 } })).status).toBe(200)
    services.clock.now = real
  })

  it('refuses a nonce that was used, also written differently, and stays SUCCEEDED', async () => {
    const session = await ready()
    await expectIssued(session)
    const before = await dump(services)
    const last = session.nonce.at(-1) ?? ''
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const sameBytes = session.nonce.slice(0, -1) + (alphabet[alphabet.indexOf(last) ^ 1] ?? '')
    expect(Buffer.from(sameBytes, 'base64url')).toEqual(Buffer.from(session.nonce, 'base64url'))
    for (const nonce of [session.nonce, sameBytes, `${session.nonce}=`]) {
      const response = await requestWithProof(session, { payload: { nonce } })
      await expectRefusal(response, { status: 400, error: 'invalid_nonce' })
    }
    expect(await dump(services)).toBe(before)
    await expectIssued({ ...session, nonce: await fetchNonce(services, session.sessionId) })
  })

  it('refuses a nonce of another session, and leaves it to that session', async () => {
    const [a, b] = [await ready(), await ready()]
    await expectHarmless(a, () => requestWithProof(a, { payload: { nonce: b.nonce } }), {
      status: 400,
      error: 'invalid_nonce',
    })
    await expectIssued(b)
  })

  it('takes a nonce from the endpoint without a session, once in all sessions', async () => {
    const base = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/nonce`, { method: 'POST' })
    const { c_nonce: nonce } = (await base.json()) as { c_nonce: string }
    const [a, b] = [await ready(), await ready()]
    expect((await requestWithProof(a, { payload: { nonce } })).status).toBe(200)
    await expectHarmless(b, () => requestWithProof(b, { payload: { nonce } }), { status: 400, error: 'invalid_nonce' })
  })

  describe('in a session with two configurations', () => {
    const both = async () => {
      const ids = [configurationId, await declare(services, { format: 'dc+sd-jwt', vct: 'urn:example:card' })]
      const session = await readySession(services, { credential_configurations: ids })
      return { session, ids }
    }
    const used = { status: 400, error: 'invalid_nonce' }

    it('takes one nonce for a request of each, and no second time for either, however it is named', async () => {
      const { session, ids } = await both()
      for (const id of ids) expect((await request({ ...session, configurationId: id })).status).toBe(200)
      const proofs = { jwt: [await proofOf(session)] }
      const { format, credential_definition } = configuration
      for (const name of [
        ...ids.map((id) => ({ credential_configuration_id: id })),
        { credential_configuration_id: undefined, format, credential_definition },
        { credential_configuration_id: undefined, format: 'dc+sd-jwt', vct: 'urn:example:card' },
      ]) {
        await expectWithoutEffect(services, () => request(session, name), used)
        await expectWithoutEffect(services, () => request(session, { ...name, proof: undefined, proofs }), used)
      }
      const next = { ...session, nonce: await fetchNonce(services, session.sessionId) }
      for (const id of ids) expect((await request({ ...next, configurationId: id })).status).toBe(200)
    })

    it('takes one nonce once for a configuration, by its credential identifier or by its own', async () => {
      const { session, ids } = await both()
      const [first = ''] = ids
      const authorization_details = JSON.stringify(
        ids.map((id) => ({ type: 'openid_credential', credential_configuration_id: id })),
      )
      const another = await startedSession(services, { credential_configurations: ids })
      const form = { ...another.form, authorization_details }
      const answer = await postForm(services, `${TOKEN_ENDPOINT}/${another.sessionId}`, form)
      const body = (await answer.json()) as {
        access_token: string
        authorization_details: { credential_identifiers: string[] }[]
      }
      const detailed = {
        ...session,
        ...another,
        token: body.access_token,
        nonce: await fetchNonce(services, another.sessionId),
        audience: `${ISSUER_URL}/${another.sessionId}`,
      }
      const byIdentifier = {
        credential_configuration_id: undefined,
        credential_identifier: body.authorization_details[0]?.credential_identifiers[0],
      }
      expect((await request(detailed, byIdentifier)).status).toBe(200)
      await expectWithoutEffect(services, () => request(detailed, byIdentifier), used)
      await expectWithoutEffect(services, () => request({ ...detailed, configurationId: first }), used)
    })

    it('takes a nonce that is for any session in the session alone that used it first', async () => {
      const { session, ids } = await both()
      const { session: other, ids: otherIds } = await both()
      const response = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/nonce`, { method: 'POST' })
      const { c_nonce: nonce } = (await response.json()) as { c_nonce: string }
      expect((await request({ ...session, nonce })).status).toBe(200)
      await expectWithoutEffect(services, () => request({ ...other, nonce, configurationId: otherIds[1] ?? '' }), used)
      expect((await request({ ...session, nonce, configurationId: ids[1] ?? '' })).status).toBe(200)
    })

    it('gives no second credential of either to 40 requests with one nonce at the same time', async () => {
      const { session, ids } = await both()
      const responses = await Promise.all(
        Array.from({ length: 40 }, (_, at) => request({ ...session, configurationId: ids[at % 2] ?? '' })),
      )
      // The uses are in one row, so that requests for both at once may be refused one of them.
      const accepted = responses.flatMap(({ status }, at) => (status === 200 ? [ids[at % 2]] : []))
      expect(accepted.length).toBeGreaterThan(0)
      expect(new Set(accepted).size).toBe(accepted.length)
      const row = await services.issuerStore.get('issuance_session', session.sessionId)
      expect(row?.value.issued.map((batch) => batch.configurationId).sort()).toEqual(accepted.toSorted())
    })

    it('has a nonce for the next request in each credential response, which is good for this session', async () => {
      const { session, ids } = await both()
      const first = (await (await request(session)).json()) as Record<string, unknown>
      expect(first).toEqual({
        ...oneCredential,
        c_nonce: expect.stringMatching(/^[\w-]{51}$/) as string,
        c_nonce_expires_in: 300,
      })
      const next = { ...session, nonce: first.c_nonce as string }
      const { session: other } = await both()
      await expectWithoutEffect(services, () => request({ ...other, nonce: next.nonce }), used)
      expect((await request({ ...next, configurationId: ids[1] ?? '' })).status).toBe(200)
    })
  })

  it('refuses a nonce that has expired, to a token that has not', async () => {
    const real = services.clock.now
    const session = await startedSession(services, { credential_configurations: [configurationId] })
    const nonce = await fetchNonce(services, session.sessionId)
    services.clock.now = new Date(real.getTime() + 200_000)
    const audience = `${ISSUER_URL}/${session.sessionId}`
    const late = { ...session, token: await tokenOf(session), holder: await holderSigner(), nonce, audience }
    services.clock.now = new Date(real.getTime() + 300_000)
    await expectRefusal(await request(late), { status: 400, error: 'invalid_nonce' })
    services.clock.now = new Date(real.getTime() + 299_999)
    await expectIssued(late)
    services.clock.now = real
  })

  it('binds the credential to the key that was proved, and to no other', async () => {
    const session = await ready()
    const credential = await expectIssued(session)
    const [, body = ''] = credential.split('.')
    const { cnf } = JSON.parse(Buffer.from(body, 'base64url').toString()) as { cnf: unknown }
    expect(cnf).toEqual({ jwk: session.holder.jwk })
  })

  it('gives one credential to 50 requests with one nonce at the same time', async () => {
    const session = await ready()
    const jwt = await proofOf(session)
    const body = { credential_configuration_id: configurationId, proof: { proof_type: 'jwt', jwt } }
    const responses = await Promise.all(
      Array.from({ length: 50 }, () => requestCredential(services, session.token, body)),
    )
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const response of responses.filter(({ status }) => status !== 200)) {
      await expectRefusal(response, { status: 400, error: 'invalid_nonce' })
    }
    expect(await services.issuerStore.get('issuance_session', session.sessionId)).toMatchObject({
      value: { issued: [{ configurationId }] },
    })
  })

  it('gives ten copies to 50 requests with their own nonces at the same time, and no eleventh after', async () => {
    const session = await ready()
    const nonces = await Promise.all(Array.from({ length: 51 }, () => fetchNonce(services, session.sessionId)))
    const [spare = '', ...own] = nonces
    const responses = await Promise.all(own.map((nonce) => request({ ...session, nonce })))
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(10)
    for (const response of responses.filter(({ status }) => status !== 200)) {
      await expectRefusal(response, { status: 400, error: 'credential_request_denied' })
    }
    const before = await dump(services)
    await expectRefusal(await request({ ...session, nonce: spare }), {
      status: 400,
      error: 'credential_request_denied',
    })
    expect(await dump(services)).toBe(before)
    const row = await services.issuerStore.get('issuance_session', session.sessionId)
    expect(row?.value.issued).toHaveLength(10)
    expect(
      (await services.issuerStore.list('spent_nonce')).filter(({ id }) => nonces.includes(id.split('.')[0] ?? '')),
    ).toHaveLength(10)
  })
})
