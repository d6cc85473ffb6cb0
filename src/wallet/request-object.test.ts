import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { EXAMPLE_KEY } from '../../test/support/encryption.ts'
import { makeKey } from '../../test/support/services.ts'
import { errorOf, testWallet } from '../../test/support/wallet.ts'
import { dcqlQuery } from '../../test/support/wire.ts'
import { toBase64url } from '../codec/base64url.ts'
import type { JsonObject } from '../codec/json.ts'
import { writeJws } from '../codec/jws.ts'
import { parseCertificate } from '../keys/certificate.ts'
import { writeName } from '../keys/certificate-name.ts'
import { createSigner } from '../keys/file-signer.ts'
import { keyUsage, makeCertificate, makeSelfSignedCertificate } from '../keys/make-certificate.ts'
import type { WalletErrorCode } from './error.ts'
import { fetchRequest } from './request-object.ts'

const URL_OF_REQUEST = 'https://verifier.example/request'
const DAY = 86_400_000

/** Everything a verifier sends, as it should be; a row of the tables changes one thing. */
interface Verifier {
  readonly key: KeyObject
  readonly header: JsonObject
  readonly payload: JsonObject
  readonly linkClientId: string
  /** The parameters of the link in the place of its own; an empty one is left out. */
  readonly linkParameters: Readonly<Record<string, string>>
  readonly contentType: string
  readonly after: (text: string) => string
}

type Change = (verifier: Verifier) => Verifier | Promise<Verifier>
type Row = readonly [wrong: string, change: Change, message: RegExp]

/** A member that is undefined is gone. */
const payload =
  (members: object): Change =>
  (verifier) => ({ ...verifier, payload: { ...verifier.payload, ...members } })
const header =
  (members: object): Change =>
  (verifier) => ({ ...verifier, header: { ...verifier.header, ...members } })
const sent =
  (parts: Partial<Verifier>): Change =>
  (verifier) => ({ ...verifier, ...parts })

const encrypted = (keys: unknown, more: object = {}): Change =>
  payload({ response_mode: 'direct_post.jwt', client_metadata: { jwks: { keys }, ...more } })
const transactions = (more: object, query: object = {}): Change =>
  payload({
    transaction_data: [toBase64url(JSON.stringify({ type: 'payment', credential_ids: ['card'], ...more }))],
    dcql_query: { credentials: [{ ...dcqlQuery.credentials[0], ...query }] },
  })
const posting =
  (nonce: string | undefined): Change =>
  (verifier) => ({
    ...verifier,
    linkParameters: { request_uri_method: 'post' },
    payload: JSON.parse(JSON.stringify({ ...verifier.payload, wallet_nonce: nonce })) as JsonObject,
  })

const clock = { now: new Date() }
const seconds = () => Math.floor(clock.now.getTime() / 1000)

describe('a request object', () => {
  let verifierKey: KeyObject
  beforeAll(async () => {
    verifierKey = await makeKey()
  })

  function makeVerifier(): Verifier {
    const certificate = certificateOf(verifierKey, -DAY, DAY)
    const clientId = clientIdOf(certificate)
    return {
      key: verifierKey,
      linkClientId: clientId,
      linkParameters: {},
      contentType: 'application/oauth-authz-req+jwt',
      after: (text) => text,
      header: { typ: 'oauth-authz-req+jwt', alg: 'ES256', x5c: [certificate.toString('base64')] },
      payload: {
        response_type: 'vp_token',
        response_mode: 'direct_post',
        response_uri: 'https://verifier.example/response',
        client_id: clientId,
        nonce: 'nonce',
        state: 'state',
        aud: 'https://self-issued.me/v2',
        iat: seconds(),
        exp: seconds() + 600,
        dcql_query: dcqlQuery,
        client_metadata: { client_name: 'Example Shop' },
      },
    }
  }

  async function ask(change: Change = (verifier) => verifier) {
    const verifier = await change(makeVerifier())
    const { key, contentType, after } = verifier
    const text = after(await writeJws(verifier.header, verifier.payload, (data) => createSigner(key, []).sign(data)))
    const fetch = () => Promise.resolve(new Response(text, { headers: { 'content-type': contentType } }))
    const parameters = { client_id: verifier.linkClientId, request_uri: URL_OF_REQUEST, ...verifier.linkParameters }
    const given = Object.entries(parameters).filter(([, value]) => value !== '')
    const { wallet, sent, steps } = testWallet(fetch, clock)
    return { sent, steps, request: fetchRequest(wallet, `haip-vp://?${String(new URLSearchParams(given))}`) }
  }

  it('is believed when nothing is wrong with it', async () => {
    const { request, sent, steps } = await ask()
    expect(await request).toMatchObject({
      clientName: 'Example Shop',
      certificate: { subjectText: 'CN=Example Shop' },
      nonce: 'nonce',
      state: 'state',
      recipient: { responseUri: 'https://verifier.example/response' },
      query: dcqlQuery,
    })
    expect(sent.map(({ to }) => to)).toEqual([`GET ${URL_OF_REQUEST}`])
    expect(steps).toHaveLength(2)
  })

  it('may ask for formats that this wallet does not know, beside others', async () => {
    const [card] = dcqlQuery.credentials
    const query = {
      credentials: [card, { id: 'mdl', format: 'mso_mdoc', meta: { doctype_value: 'org.iso.18013.5.1.mDL' } }],
      credential_sets: [{ options: [['mdl'], ['card']] }],
    }
    expect((await (await ask(payload({ dcql_query: query }))).request).query).toEqual(query)
  })

  const untrusted: readonly Row[] = [
    [
      'signed by another key than that of its certificate',
      async (v) => ({ ...v, key: await makeKey() }),
      /signature is not by the key of CN=Example Shop/,
    ],
    [
      'with the certificate of somebody else',
      async (v) => {
        const key = await makeKey()
        return { ...v, key, header: { ...v.header, x5c: [certificateOf(key, -DAY, DAY).toString('base64')] } }
      },
      /client_id names another verifier \(x509_hash\)/,
    ],
    ['changed after it was signed', sent({ after: changedNonce }), /signature is not by the key/],
    ['of a certificate that has expired', (v) => certified(v, -2 * DAY, -DAY), /expired on/],
    ['of a certificate that is not valid yet', (v) => certified(v, DAY, 2 * DAY), /not valid before/],
    [
      'of a certificate that may not sign',
      (v) => useCertificate(v, encipherOnly(v.key)),
      /does not allow digitalSignature/,
    ],
    ['without a certificate', header({ x5c: undefined }), /without a certificate/],
    ['with an empty list of certificates', header({ x5c: [] }), /certificates of the verifier cannot be read: x5c is/],
    ['with a certificate that is none', header({ x5c: ['AAAA'] }), /verifier cannot be read: x5c\[0\]: the DER/],
    [
      'with a certificate in base64url',
      header({ x5c: ['-_-_'] }),
      /verifier cannot be read: x5c\[0\]: it is not base64/,
    ],
    ['of another type', header({ typ: 'JWT' }), /its typ is not oauth-authz-req\+jwt/],
    ['of another algorithm', header({ alg: 'HS256' }), /its alg must be one of ES256, ES384, ES512, EdDSA/],
    ['without a signature algorithm', header({ alg: 'none', typ: 'JWT' }), /nothing was sent: it is not signed/],
    [
      'without a signature',
      sent({ after: (text) => text.slice(0, text.lastIndexOf('.') + 1) }),
      /nothing was sent: it is not signed/,
    ],
    [
      'in JSON',
      sent({ after: () => ' {"client_id": "x509_hash:x"}' }),
      /it is not signed: it is JSON in place of a JWT/,
    ],
    ['with the algorithm of another key', header({ alg: 'ES384' }), /its signature is not by the key/],
    ['that is not a JWS', sent({ after: () => 'hello' }), /cannot be read/],
    ['with a critical extension', header({ crit: ['x'] }), /critical extensions/],
    ['with another client_id inside', payload({ client_id: 'x509_hash:x' }), /client_id is not the one of the link/],
    ['for another audience', payload({ aud: 'https://other.example' }), /its aud is not/],
    ['without an audience', payload({ aud: undefined }), /its aud is not/],
    ['with a redirect_uri', payload({ redirect_uri: 'https://verifier.example' }), /redirect_uri/],
    ['without a nonce', payload({ nonce: undefined }), /no nonce/],
    ['with an empty nonce', payload({ nonce: '' }), /no nonce/],
    ['with a state that is not a string', payload({ state: 1 }), /state is not a string/],
    ['without a response_uri', payload({ response_uri: undefined }), /response_uri is not an absolute URL/],
    ['without a query', payload({ dcql_query: undefined }), /no dcql_query/],
    ['with a query that is none', payload({ dcql_query: { credentials: [] } }), /dcql_query\.credentials/],
    ['from the future', payload({ iat: seconds() + 61 }), /from the future/],
    ['that is not to be used yet', payload({ nbf: seconds() + 61 }), /from the future/],
    ['that has expired', payload({ exp: seconds() - 61 }), /it expired on/],
    ['that expires at no time', payload({ exp: 'soon' }), /exp is not a time/],
    ['with no list of transactions', payload({ transaction_data: 'e30' }), /transaction_data is not an array/],
    ['with an empty list of transactions', payload({ transaction_data: [] }), /transaction_data is not an array/],
    ['with a transaction that is not text', payload({ transaction_data: [{}] }), /\[0\] is not a string/],
    ['with a transaction that cannot be read', payload({ transaction_data: ['+'] }), /\[0\]: it is not base64url/],
    ['with a transaction of no type', payload({ transaction_data: ['e30'] }), /\[0\]: type: must be/],
    [
      'with a transaction of more than anybody reads',
      transactions({ items: Array(1000).fill(0) }),
      /more than 1000 values/,
    ],
    ['with a transaction for nobody', transactions({ credential_ids: [] }), /credential_ids: must be/],
    ['with a transaction for what is not asked', transactions({ credential_ids: ['card', 'x'] }), /not asked for/],
    ['made for another wallet', posting('another'), /not made for this wallet \(wallet_nonce\)/],
    ['made for no wallet', posting(undefined), /not made for this wallet \(wallet_nonce\)/],
  ]

  it.each(untrusted)('is refused: one %s', async (_, change, message) => {
    const error = await errorOf((await ask(change)).request)
    expect([error.code, error.message]).toEqual(['invalid_request_object', expect.stringMatching(message)])
  })

  const others: readonly (readonly [string, Change, WalletErrorCode, RegExp])[] = [
    ['another response mode', payload({ response_mode: 'fragment' }), 'unsupported', /response_mode fragment/],
    ['an encrypted answer without a key', encrypted([]), 'unsupported', /client_metadata\.jwks has none/],
    ['an encrypted answer to no list of keys', encrypted('x'), 'unsupported', /client_metadata\.jwks has none/],
    ['an encrypted answer to a key for signing', encrypted([{ ...EXAMPLE_KEY, use: 'sig' }]), 'unsupported', /not enc/],
    [
      'an encrypted answer by another algorithm',
      encrypted([{ ...EXAMPLE_KEY, alg: 'RSA-OAEP' }]),
      'unsupported',
      /alg/,
    ],
    ['an encrypted answer to a private key', encrypted([{ ...EXAMPLE_KEY, d: 'AAAA' }]), 'unsupported', /private/],
    [
      'an answer encrypted otherwise',
      encrypted([EXAMPLE_KEY], { encrypted_response_enc_values_supported: ['A128CBC-HS256'] }),
      'unsupported',
      /takes none of A256GCM, A128GCM/,
    ],
    [
      'a link with another method',
      sent({ linkParameters: { request_uri_method: 'POST' } }),
      'invalid_link',
      /get nor post/,
    ],
    ['a hash it does not know', transactions({ transaction_data_hashes_alg: ['md5'] }), 'unsupported', /by a hash/],
    ['a transaction with a credential it does not know', transactions({}, { format: 'x' }), 'unsupported', /format/],
    [
      'a transaction that nobody signs',
      transactions({}, { require_cryptographic_holder_binding: false }),
      'unsupported',
      /does without the signature/,
    ],
    ['a transaction with any of many', transactions({}, { multiple: true }), 'unsupported', /several presentations/],
    ['no response mode', payload({ response_mode: undefined }), 'unsupported', /response_mode/],
    ['another response type', payload({ response_type: 'code' }), 'unsupported', /response_type code/],
    ['an answer without TLS', payload({ response_uri: 'http://verifier.example/' }), 'insecure_address', /https/],
    ['another media type', sent({ contentType: 'application/jwt' }), 'invalid_response', /application\/jwt/],
    ['a link without client_id', sent({ linkClientId: '' }), 'invalid_link', /no client_id/],
    [
      'a link with another kind of client_id',
      sent({ linkClientId: 'x509_san_dns:a' }),
      'unsupported',
      /x509_san_dns:a/,
    ],
    ['a link without request_uri', sent({ linkParameters: { request_uri: '' } }), 'invalid_link', /no request_uri/],
    [
      'a request_uri without TLS',
      sent({ linkParameters: { request_uri: 'http://a.example' } }),
      'insecure_address',
      /https/,
    ],
  ]

  it.each(others)('is refused: %s', async (_, change, code, message) => {
    const error = await errorOf((await ask(change)).request)
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)])
  })

  it('is asked for by POST when the link says so, and believed when it has the nonce', async () => {
    const verifier = makeVerifier()
    const answer = async (_: unknown, init?: RequestInit) => {
      const nonce = new URLSearchParams(init?.body as URLSearchParams).get('wallet_nonce') ?? ''
      const payload = { ...verifier.payload, wallet_nonce: nonce }
      const text = await writeJws(verifier.header, payload, (data) => createSigner(verifierKey, []).sign(data))
      return new Response(text, { headers: { 'content-type': verifier.contentType } })
    }
    const { wallet, sent } = testWallet(answer, clock)
    const link = { client_id: verifier.linkClientId, request_uri: URL_OF_REQUEST, request_uri_method: 'post' }
    const request = await fetchRequest(wallet, `haip-vp://?${String(new URLSearchParams(link))}`)
    expect(request.clientName).toBe('Example Shop')
    expect(sent.map(({ to }) => to)).toEqual([`POST ${URL_OF_REQUEST}`])
    const form = new URLSearchParams(sent[0]?.body)
    expect([...form.keys()]).toEqual(['wallet_nonce', 'wallet_metadata'])
    expect(form.get('wallet_nonce')).toMatch(/^[\w-]{32}$/)
    expect(JSON.parse(form.get('wallet_metadata') ?? '')).toMatchObject({
      client_id_prefixes_supported: ['x509_hash'],
      vp_formats_supported: { 'vc+sd-jwt': {} },
    })
  })

  it('may want its answer encrypted, and says how', async () => {
    for (const [more, enc] of [
      [{}, 'A128GCM'],
      [{ encrypted_response_enc_values_supported: ['A128GCM', 'A256GCM'] }, 'A256GCM'],
      [{ encrypted_response_enc_values_supported: ['A192GCM', 'A128GCM'] }, 'A128GCM'],
    ] as const) {
      const { encryption } = await (await ask(encrypted([{ kty: 'RSA' }, EXAMPLE_KEY], more))).request
      expect(encryption).toMatchObject({ enc, kid: 'k1', alg: 'ECDH-ES', jwk: { x: EXAMPLE_KEY.x } })
    }
    expect((await (await ask()).request).encryption).toBeUndefined()
  })

  it('may have transactions approved', async () => {
    const { transactions: read } = await (await ask(transactions({ amount: '1' }))).request
    expect(read).toMatchObject([{ type: 'payment', credentialIds: ['card'], content: { amount: '1' } }])
  })

  it('may be a minute ahead of us or behind, and need not say when it ends', async () => {
    const { request } = await ask(payload({ iat: seconds() + 59, exp: undefined }))
    expect((await request).expiresAt).toBeUndefined()
  })
})

function certificateOf(key: KeyObject, from: number, until: number): Buffer {
  return makeSelfSignedCertificate({
    privateKey: key,
    publicKey: createPublicKey(key),
    commonName: 'Example Shop',
    serial: randomBytes(8).fill(1, 0, 1),
    notBefore: new Date(clock.now.getTime() + from),
    notAfter: new Date(clock.now.getTime() + until),
  })
}

function encipherOnly(key: KeyObject): Buffer {
  const name = writeName([['CN', 'Example Shop']])
  return makeCertificate({
    subject: name,
    issuer: { name, privateKey: key },
    publicKey: createPublicKey(key),
    serial: Buffer.of(1),
    notBefore: new Date(clock.now.getTime() - DAY),
    notAfter: new Date(clock.now.getTime() + DAY),
    extensions: [keyUsage(['keyAgreement'])],
  })
}

function certified(verifier: Verifier, from: number, until: number): Verifier {
  return useCertificate(verifier, certificateOf(verifier.key, from, until))
}

/** Has everything agree with the certificate: its hash in the link and in the object, itself in the header. */
function useCertificate(verifier: Verifier, certificate: Buffer): Verifier {
  const clientId = clientIdOf(certificate)
  return {
    ...verifier,
    linkClientId: clientId,
    header: { ...verifier.header, x5c: [certificate.toString('base64')] },
    payload: { ...verifier.payload, client_id: clientId },
  }
}

function clientIdOf(certificate: Buffer): string {
  return `x509_hash:${parseCertificate(certificate).fingerprint}`
}

function changedNonce(text: string): string {
  const [header = '', payload = '', signature = ''] = text.split('.')
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as JsonObject
  const other = Buffer.from(JSON.stringify({ ...claims, nonce: 'another' })).toString('base64url')
  return [header, other, signature].join('.')
}
