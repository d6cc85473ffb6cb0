/**
 * Attacks on what a session may ask for besides: the way back to the application and its code, transactions, and
 * requests that a wallet fetches by POST.
 */
import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { compactDecrypt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readJws } from '../../src/codec/jws.ts'
import { makeForgery, putTogether, startWorld, type World } from '../support/forge.ts'
import { makeKey, VERIFIER_URL } from '../support/services.ts'
import { call, dcqlQuery, postForm, startVerification } from '../support/wire.ts'

const makeJwk = (namedCurve: string) => generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'jwk' })

const REDIRECT = 'https://shop.example/done?order=1'
const SESSIONS = `${VERIFIER_URL}/presentation/oid4vp`

describe('attacks on what a session may ask for besides', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world.services.close())

  async function started(more: object, query: unknown = dcqlQuery) {
    const { services } = world
    const { sessionId, request, link } = await startVerification(services, query, more)
    const presentation = await putTogether(await makeForgery(world, request))
    const form = { vp_token: JSON.stringify({ card: [presentation] }), state: request.state }
    const status = async (search = '') => {
      const response = await call(services, `${SESSIONS}/status/${sessionId}${search}`)
      return { code: response.status, body: (await response.json()) as Record<string, unknown> }
    }
    const post = (sent: Record<string, string> = form) => postForm(services, request.response_uri, sent)
    return { sessionId, request, link, form, post, status }
  }

  async function refused(more: object, query: unknown = dcqlQuery): Promise<string> {
    const created = await call(world.services, `${VERIFIER_URL}/dcql-query/create`, query)
    const body = { verification_query_id: await created.text(), ...more }
    const response = await call(world.services, `${SESSIONS}/new-session`, body)
    expect(response.status).toBe(400)
    const { error, error_description: why } = (await response.json()) as Record<string, string>
    expect(error).toBe('invalid_request')
    return why ?? ''
  }

  describe('the way back', () => {
    it('comes with a code that nobody else has, and the result is for whoever brings it', async () => {
      const session = await started({ redirect_uri: REDIRECT })
      const response = await session.post()
      const { redirect_uri: uri, ...rest } = (await response.json()) as { redirect_uri: string }
      expect([response.status, rest]).toEqual([200, {}])
      const { origin, pathname, searchParams } = new URL(uri)
      expect([origin, pathname, searchParams.get('order')]).toEqual(['https://shop.example', '/done', '1'])
      const code = searchParams.get('response_code') ?? ''
      expect(code).toMatch(/^[A-Za-z0-9_-]{32}$/)

      const { body } = await session.status(`?response_code=${code}`)
      expect(body).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', result: { verified: true } })
      expect(JSON.stringify(body)).toContain('Ada')
      const stored = await world.services.verifierStore.get('verification_session', session.sessionId)
      expect(JSON.stringify(stored)).not.toContain(code)
      expect(world.services.logLines.join('')).not.toContain(code)
    })

    it('and a code that is guessed shows what none shows', async () => {
      const session = await started({ redirect_uri: REDIRECT })
      const { redirect_uri: uri } = (await (await session.post()).json()) as { redirect_uri: string }
      const code = new URL(uri).searchParams.get('response_code') ?? ''
      const { responseCodeDigest } =
        (await world.services.verifierStore.get('verification_session', session.sessionId))?.value ?? {}
      const { body: without } = await session.status()
      expect(without).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
      expect(without).not.toHaveProperty('result')
      const other = await started({ redirect_uri: REDIRECT })
      const { redirect_uri: otherUri } = (await (await other.post()).json()) as { redirect_uri: string }
      const otherCode = new URL(otherUri).searchParams.get('response_code') ?? ''
      const guesses = ['', 'a', code.slice(0, -1), `${code}A`, code.toLowerCase(), otherCode, session.sessionId]
      for (const guess of [...guesses, responseCodeDigest ?? '', session.request.state, session.request.nonce]) {
        const { code: answered, body } = await session.status(`?response_code=${encodeURIComponent(guess)}`)
        expect([guess, answered, body]).toEqual([guess, 200, without])
      }
      expect((await session.status(`?response_code=${code}&response_code=${code}`)).code).toBe(400)
      expect(otherCode).not.toBe(code)
    })

    it('has no code before there was a response, nor where nobody is to come back', async () => {
      const waiting = await started({ redirect_uri: REDIRECT })
      expect((await waiting.status('?response_code=')).body).not.toHaveProperty('result')
      const plain = await started({})
      expect(await (await plain.post()).json()).toEqual({})
      expect((await plain.status()).body).toHaveProperty('result')
      expect((await plain.status('?response_code=x')).body).toHaveProperty('result')
    })

    it('is told when the holder declined', async () => {
      const session = await started({ redirect_uri: 'http://localhost:3000' })
      const response = await session.post({ error: 'access_denied', state: session.request.state })
      expect([response.status, await response.json()]).toEqual([
        200,
        { redirect_uri: expect.stringMatching(/^http:\/\/localhost:3000\?response_code=[\w-]{32}$/) as string },
      ])
      expect((await session.status()).body).toMatchObject({
        status: 'DECLINED',
        wallet_error: { error: 'access_denied' },
      })
    })

    it('is not told when the presentation was refused, and the report then says why and nothing of the credentials', async () => {
      const two = { credentials: ['card', 'other'].map((id) => ({ ...dcqlQuery.credentials[0], id })) }
      const session = await started({ redirect_uri: REDIRECT }, two)
      const response = await session.post()
      expect([response.status, await response.json()]).toEqual([
        400,
        { error: 'invalid_request', error_description: 'the presentation was not accepted' },
      ])
      const { body } = await session.status()
      expect(body).toMatchObject({ status: 'VERIFICATION_FAILED', result: { verified: false } })
      const { credentials } = body.result as { credentials: { card: object[] } }
      expect(credentials.card.map((each) => Object.keys(each))).toEqual([['format', 'checks']])
      expect(JSON.stringify(body)).not.toContain('"Ada')
    })

    it.each([
      ['javascript:alert(1)', /must be https/],
      ['data:text/html,x', /must be https/],
      ['file:///etc/passwd', /must be https/],
      ['intent://scan/#Intent;end', /fragment/],
      ['shop:done', /must be https/],
      ['http://shop.example/', /must be https/],
      ['//shop.example/', /not a URI/],
      ['/done', /not a URI/],
      ['', /not a URI/],
      [' https://shop.example', /not a URI/],
      ['https://shop.example/\r\nSet-Cookie: a=b', /not a URI/],
      ['https:\\\\shop.example', /backslash/],
      ['https:shop.example', /two slashes and a host/],
      ['HTTPS:/shop.example', /two slashes and a host/],
      ['https:///shop.example', /two slashes and a host/],
      ['https://shöp.example', /not a URI/],
      ['https://shop.example/#done', /fragment/],
      ['https://shop.example/#', /fragment/],
      ['https://shop.example@evil.example/', /user or password/],
      ['https://shop.example/?response_code=1', /response_code of its own/],
      ['https://shop.example/?response%5Fcode=1', /response_code of its own/],
      [`https://shop.example/${'a'.repeat(2048)}`, /2048/],
    ])('is refused: %s', async (uri, why) => {
      const said = await refused({ redirect_uri: uri })
      expect(said).toMatch(/^redirect_uri: /)
      expect(said).toMatch(why)
    })

    it.each([[1], [null], [['https://shop.example']], [{}]])('is refused: %j', async (uri) => {
      expect(await refused({ redirect_uri: uri })).toMatch(/redirect_uri/)
    })
  })

  describe('a transaction', () => {
    const payment = { type: 'payment', credential_ids: ['card'], amount: 'é 12.00' }

    it('stands in the request as it was posted, and the holder approves it by presenting', async () => {
      const session = await started({ transaction_data: [payment, { ...payment, amount: '1' }] })
      const contents = session.request.transaction_data?.map((text) => {
        expect(text).toMatch(/^[A-Za-z0-9_-]+$/)
        return JSON.parse(Buffer.from(text, 'base64url').toString()) as object
      })
      expect(contents).toEqual([payment, { ...payment, amount: '1' }])
      expect((await session.post()).status).toBe(200)
      const { checks } = ((await session.status()).body.result as { credentials: { card: [{ checks: object[] }] } })
        .credentials.card[0]
      expect(checks).toContainEqual(expect.objectContaining({ id: 'holder.transaction_data', outcome: 'passed' }))
    })

    const [card] = dcqlQuery.credentials
    const unbound = { credentials: [{ ...card, require_cryptographic_holder_binding: false }] }
    const rows: readonly (readonly [string, unknown, RegExp, object?])[] = [
      ['no list', payment, /transaction_data: must be an array/],
      ['an empty list', [], /transaction_data/],
      ['more than anybody reads', Array<object>(11).fill(payment), /transaction_data/],
      ['a text', ['e30'], /transaction_data\[0\]: must be an object/],
      ['nothing', [{}], /transaction_data\[0\]\.type/],
      ['no type', [{ ...payment, type: '' }], /transaction_data\[0\]\.type: must be a non-empty string/],
      ['no credential', [{ type: 'payment' }], /\[0\]\.credential_ids: must be a non-empty array/],
      ['an empty list of credentials', [{ ...payment, credential_ids: [] }], /credential_ids: must be a non-empty/],
      ['a credential that is not text', [payment, { ...payment, credential_ids: [1] }], /\[1\]\.credential_ids/],
      ['a credential not asked for', [{ ...payment, credential_ids: ['x'] }], /asks for no credential of that id/],
      ['a choice of credentials', [{ ...payment, credential_ids: ['card', 'card'] }], /exactly one/],
      ['no hash', [{ ...payment, transaction_data_hashes_alg: [] }], /transaction_data_hashes_alg/],
      ['an unknown hash', [{ ...payment, transaction_data_hashes_alg: ['md5'] }], /no hash is allowed/],
      [
        'hashes that exclude each other',
        [payment, { ...payment, transaction_data_hashes_alg: ['sha-512'] }],
        /no hash/,
      ],
      ['more text than anybody reads', [{ ...payment, text: 'x'.repeat(65_536) }], /too large/],
      ['a holder who need not sign', [payment], /does without the holder/, unbound],
      [
        'a mobile document',
        [payment],
        /mso_mdoc cannot approve a transaction: /,
        { credentials: [{ id: 'card', format: 'mso_mdoc', meta: { doctype_value: 'a' } }] },
      ],
      [
        'a plain JWT',
        [payment],
        /jwt_vc_json cannot approve a transaction: /,
        { credentials: [{ id: 'card', format: 'jwt_vc_json', meta: { type_values: [['Card']] } }] },
      ],
      ['several presentations', [payment], /multiple/, { credentials: [{ ...card, multiple: true }] }],
    ]
    it.each(rows.map(([wrong, transactions, why, query]) => ({ wrong, transactions, why, query })))(
      'is refused: with $wrong',
      async ({ transactions, why, query }) => {
        expect(await refused({ transaction_data: transactions }, query)).toMatch(why)
      },
    )
  })

  describe('a request by POST', () => {
    const url = (sessionId: string) => `${SESSIONS}/authorization-request/${sessionId}`

    it('is what everybody gets, and the nonce of the wallet', async () => {
      const session = await started({})
      const nonce = 'qPmxiNFCR3QTm19POc8u ~!"\\'
      const response = await postForm(world.services, url(session.sessionId), { wallet_nonce: nonce, other: 'x' })
      expect(response.status).toBe(200)
      expect(response.headers.get('content-type')).toBe('application/oauth-authz-req+jwt')
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      const { header, payload } = readJws(await response.text())
      expect(header.typ).toBe('oauth-authz-req+jwt')
      expect(payload).toEqual({ ...session.request, wallet_nonce: nonce })
      const without = await world.services.fetch(url(session.sessionId), { method: 'POST' })
      expect(readJws(await without.text()).payload).toEqual(session.request)
      const empty = await postForm(world.services, url(session.sessionId), 'wallet_nonce=&wallet_metadata=')
      expect(readJws(await empty.text()).payload).toEqual(session.request)
      expect((await session.post()).status).toBe(200)
      expect((await postForm(world.services, url(session.sessionId), { wallet_nonce: nonce })).status).toBe(410)
    })

    it('stands in the link when the application wants it to, and the link is as ever otherwise', async () => {
      expect((await started({})).link).not.toContain('request_uri_method')
      expect((await started({ request_uri_method: 'post' })).link).toMatch(/&client_id=[^&]+&request_uri_method=post$/)
      expect(await refused({ request_uri_method: 'put' })).toMatch(/request_uri_method/)
    })

    it('is encrypted to a key that the wallet brings', async () => {
      const session = await started({})
      const key = await makeKey()
      const { kty, crv, x, y } = createPublicKey(key).export({ format: 'jwk' })
      const keys = [{ kty: 'RSA' }, { kty, crv, x, y, alg: 'ECDH-ES', use: 'enc', kid: 'w1' }]
      const metadata = { jwks: { keys }, request_object_encryption_enc_values_supported: ['A256GCM'] }
      const response = await postForm(world.services, url(session.sessionId), {
        wallet_nonce: 'n',
        wallet_metadata: JSON.stringify(metadata),
      })
      const { plaintext, protectedHeader } = await compactDecrypt(await response.text(), key)
      expect(protectedHeader).toMatchObject({ alg: 'ECDH-ES', enc: 'A256GCM', kid: 'w1', cty: 'JWT' })
      expect(readJws(Buffer.from(plaintext).toString()).payload).toEqual({ ...session.request, wallet_nonce: 'n' })
    })

    it('is encrypted to a key without alg, where the metadata of the wallet names the algorithm', async () => {
      const session = await started({})
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
      const keys = [makeJwk('P-521'), { ...publicKey.export({ format: 'jwk' }), use: 'enc' }]
      const algs = { request_object_encryption_alg_values_supported: ['ECDH-ES+A128KW', 'ECDH-ES'] }
      const form = { wallet_metadata: JSON.stringify({ jwks: { keys }, ...algs }) }
      const response = await postForm(world.services, url(session.sessionId), form)
      const { plaintext } = await compactDecrypt(await response.text(), privateKey)
      expect(readJws(Buffer.from(plaintext).toString()).payload).toEqual(session.request)
    })

    it.each([
      ['no keys', {}],
      ['a key that nobody says the algorithm of', { jwks: { keys: [makeJwk('P-256')] } }],
      ['keys of other kinds', { jwks: { keys: [{ kty: 'RSA', n: 'AQAB', e: 'AQAB' }, null, 1] } }],
      // To encrypt to one of these would take up to eight times as long.
      [
        'keys on larger curves',
        { jwks: { keys: ['P-384', 'P-521'].map((crv) => ({ ...makeJwk(crv), alg: 'ECDH-ES' })) } },
      ],
      ['keys that are none', { jwks: 'x' }],
      ['formats that do not include ours', { vp_formats_supported: { ldp_vc: {} } }],
      [
        'an encryption that we do not know',
        { jwks: { keys: [] }, request_object_encryption_enc_values_supported: 'x' },
      ],
    ])('is signed and no more for a wallet with %s', async (_, metadata) => {
      const session = await started({})
      const form = { wallet_metadata: JSON.stringify(metadata) }
      const response = await postForm(world.services, url(session.sessionId), form)
      expect(readJws(await response.text()).payload).toEqual(session.request)
    })

    it.each([
      ['a nonce of a megabyte', { wallet_nonce: 'n'.repeat(2 ** 20) }, 413],
      ['a long nonce', { wallet_nonce: 'n'.repeat(513) }, 400],
      ['a nonce with a line feed', { wallet_nonce: 'n\n' }, 400],
      ['a nonce with a zero byte', { wallet_nonce: 'n\0' }, 400],
      ['a nonce that is not ASCII', { wallet_nonce: 'ñ' }, 400],
      ['two nonces', 'wallet_nonce=a&wallet_nonce=b', 400],
      ['metadata that is not JSON', { wallet_metadata: 'x' }, 400],
      ['metadata that is an array', { wallet_metadata: '[]' }, 400],
      ['metadata without end', { wallet_metadata: '['.repeat(20_000) }, 400],
    ])('is refused with %s', async (_, form, status) => {
      const session = await started({})
      const response = await postForm(world.services, url(session.sessionId), form)
      const body = (await response.json()) as object
      expect([response.status, Object.keys(body)]).toEqual([status, ['error', 'error_description']])
      expect((await session.status()).body).toMatchObject({ status: 'STARTED' })
    })

    it('is of a session that there is', async () => {
      expect((await postForm(world.services, url('unknown'), { wallet_nonce: 'n' })).status).toBe(404)
    })
  })
})
