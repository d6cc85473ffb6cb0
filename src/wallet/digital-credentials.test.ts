import { createPublicKey, type KeyObject, randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { EXAMPLE_KEY } from '../../test/support/encryption.ts'
import { makeKey } from '../../test/support/services.ts'
import { errorOf, testWallet } from '../../test/support/wallet.ts'
import { dcqlQuery } from '../../test/support/wire.ts'
import type { Json, JsonObject } from '../codec/json.ts'
import { writeJws } from '../codec/jws.ts'
import { parseCertificate } from '../keys/certificate.ts'
import { createSigner } from '../keys/file-signer.ts'
import { makeSelfSignedCertificate } from '../keys/make-certificate.ts'
import { fetchDigitalRequest } from './digital-credentials.ts'
import type { WalletErrorCode } from './error.ts'

const ADDRESS = 'https://verifier.example/digital-credentials/1'
const ORIGIN = 'https://shop.example'
const DAY = 86_400_000
const clock = { now: new Date() }
const seconds = () => Math.floor(clock.now.getTime() / 1000)

const unsigned = {
  response_type: 'vp_token',
  response_mode: 'dc_api.jwt',
  nonce: 'nonce',
  dcql_query: dcqlQuery,
  client_metadata: { client_name: 'Example Shop', jwks: { keys: [EXAMPLE_KEY] } },
}

describe('a request through a browser', () => {
  let key: KeyObject
  let certificate: Buffer
  beforeAll(async () => {
    key = await makeKey()
    certificate = makeSelfSignedCertificate({
      privateKey: key,
      publicKey: createPublicKey(key),
      commonName: 'Example Shop',
      serial: randomBytes(8).fill(1, 0, 1),
      notBefore: new Date(clock.now.getTime() - DAY),
      notAfter: new Date(clock.now.getTime() + DAY),
    })
  })

  const clientId = () => `x509_hash:${parseCertificate(certificate).fingerprint}`

  /** Makes the signed request; a member that is undefined is gone. */
  async function signedRequest(members: object = {}, signingKey = key): Promise<JsonObject> {
    const payload = {
      ...unsigned,
      client_id: clientId(),
      expected_origins: ['https://www.shop.example', ORIGIN],
      aud: 'https://self-issued.me/v2',
      iat: seconds(),
      exp: seconds() + 600,
      ...members,
    } as JsonObject
    const header = { typ: 'oauth-authz-req+jwt', alg: 'ES256', x5c: [certificate.toString('base64')] }
    const request = await writeJws(header, payload, (data) => createSigner(signingKey, []).sign(data))
    return { protocol: 'openid4vp-v1-signed', data: { request } }
  }

  const unsignedRequest = (members: object = {}): JsonObject => ({
    protocol: 'openid4vp-v1-unsigned',
    data: JSON.parse(JSON.stringify({ ...unsigned, ...members })) as JsonObject,
  })

  function fetchOffered(requests: Json, address = ADDRESS) {
    const { wallet, sent } = testWallet(() => Promise.resolve(Response.json({ digital: { requests } })), clock)
    return { sent, request: fetchDigitalRequest(wallet, address, ORIGIN) }
  }

  it('is the signed one where there are both, in whatever order', async () => {
    const { request, sent } = fetchOffered([
      { protocol: 'org-iso-mdoc', data: {} },
      unsignedRequest(),
      await signedRequest(),
    ])
    expect(await request).toMatchObject({
      clientId: clientId(),
      clientName: 'Example Shop',
      certificate: { subjectText: 'CN=Example Shop' },
      audience: `origin:${ORIGIN}`,
      nonce: 'nonce',
      query: dcqlQuery,
      encryption: { kid: 'k1' },
      recipient: { origin: ORIGIN, protocol: 'openid4vp-v1-signed', uri: ADDRESS },
    })
    expect(sent.map(({ to }) => to)).toEqual([`GET ${ADDRESS}`])
  })

  it('may be unsigned, and then nobody stands behind the names in it', async () => {
    const members = { client_id: 'x509_san_dns:bank.example', expected_origins: ['https://bank.example'], state: 'x' }
    const request = await fetchOffered([unsignedRequest(members)]).request
    expect(request).toMatchObject({
      clientId: undefined,
      certificate: undefined,
      audience: `origin:${ORIGIN}`,
      state: undefined,
      recipient: { protocol: 'openid4vp-v1-unsigned' },
    })
  })

  const untrusted: readonly (readonly [wrong: string, members: object, message: RegExp])[] = [
    ['for the page of another', { expected_origins: ['https://bank.example'] }, /expected_origins/],
    ['for a page whose name begins so', { expected_origins: [`${ORIGIN}.bank.example`] }, /expected_origins/],
    ['for a page that is written otherwise', { expected_origins: [`${ORIGIN}/`] }, /expected_origins/],
    ['for no page at all', { expected_origins: undefined }, /expected_origins/],
    ['for an origin that is not in a list', { expected_origins: ORIGIN }, /expected_origins/],
    ['of another verifier', { client_id: 'x509_hash:x' }, /names another verifier \(x509_hash\)/],
    ['of nobody', { client_id: undefined }, /no client_id/],
    ['for another audience', { aud: 'https://other.example' }, /its aud is not/],
    ['that has expired', { exp: 1 }, /it expired on/],
    ['without a nonce', { nonce: undefined }, /no nonce/],
  ]

  it.each(untrusted)('is refused where it is signed: one %s', async (_, members, message) => {
    const error = await errorOf(fetchOffered([await signedRequest(members), unsignedRequest()]).request)
    expect([error.code, error.message]).toEqual(['invalid_request_object', expect.stringMatching(message)])
  })

  it('is refused with the signature of another, though there is an unsigned one too', async () => {
    const error = await errorOf(fetchOffered([await signedRequest({}, await makeKey()), unsignedRequest()]).request)
    expect([error.code, error.message]).toEqual([
      'invalid_request_object',
      expect.stringMatching(/signature is not by/),
    ])
  })

  const others: readonly (readonly [string, Json, WalletErrorCode, RegExp])[] = [
    ['no list', {}, 'unsupported', /openid4vp-v1-signed or openid4vp-v1-unsigned/],
    ['other protocols', [{ protocol: 'openid4vp-v2-signed', data: {} }], 'unsupported', /openid4vp-v1-signed or/],
    [
      'an empty signed one',
      [{ protocol: 'openid4vp-v1-signed', data: {} }],
      'invalid_request_object',
      /cannot be read/,
    ],
    ['no data', [{ protocol: 'openid4vp-v1-unsigned' }], 'unsupported', /openid4vp-v1-signed or/],
    ['an answer that everybody can read', [unsignedRequest({ response_mode: 'dc_api' })], 'unsupported', /dc_api\.jwt/],
    ['an answer by a link', [unsignedRequest({ response_mode: 'direct_post.jwt' })], 'unsupported', /dc_api\.jwt/],
    ['an answer without a key for it', [unsignedRequest({ client_metadata: {} })], 'unsupported', /jwks has none/],
  ]

  it.each(others)('is refused: %s', async (_, requests, code, message) => {
    const error = await errorOf(fetchOffered(requests).request)
    expect([error.code, error.message]).toEqual([code, expect.stringMatching(message)])
  })

  it('is refused of a verifier that cannot be authenticated', async () => {
    const error = await errorOf(fetchOffered([await signedRequest({ client_id: 'x509_san_dns:a.example' })]).request)
    expect([error.code, error.message]).toEqual(['unsupported', expect.stringMatching(/x509_san_dns:a\.example/)])
  })

  it.each([
    ['haip-vp://?request_uri=x', 'insecure_address'],
    ['http://verifier.example/1', 'insecure_address'],
    ['verifier.example', 'invalid_link'],
  ])('is fetched by TLS alone: not %s', async (address, code) => {
    const { request, sent } = fetchOffered([], address)
    expect((await errorOf(request)).code).toBe(code)
    expect(sent).toEqual([])
  })
})
