/**
 * Sessions whose page asks the browser (the Digital Credentials API): how they start, what the page gets, and the
 * responses that are good. What must not be accepted: test/attacks/verifier-digital-credentials.test.ts.
 */
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  asRequestObject,
  fetchPageRequest,
  ORIGIN,
  postCredential,
  requestPageSession,
  SIGNED,
  type StartedPage,
  startPageSession,
  UNSIGNED,
} from '../../test/support/digital-credentials.ts'
import { snippetWith } from '../../test/support/documents.ts'
import { encryptedResponse } from '../../test/support/encryption.ts'
import { makeForgery, putTogether, startWorld, type World } from '../../test/support/forge.ts'
import { haipVerifier } from '../../test/support/haip.ts'
import { mdocQuery } from '../../test/support/mdoc.ts'
import { type Services, startServices, VERIFIER_URL } from '../../test/support/services.ts'
import {
  call,
  dcqlQuery,
  fetchRequestObject,
  presentationOf,
  type RequestObject,
  statusOf,
} from '../../test/support/wire.ts'
import { fromBase64url } from '../codec/base64url.ts'
import { asArray, asMap, decodeCbor, embedCbor, encodeCbor } from '../codec/cbor.ts'
import { readSign1 } from '../codec/cose.ts'
import { isoMdocTranscript } from '../credential/mso-mdoc/device-auth.ts'
import { parseCertificate } from '../keys/certificate.ts'
import { isJwsSignedBy, isSign1SignedBy } from '../keys/signature.ts'
import type { VerificationReport } from './verification.ts'

describe('a session with an origin', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
  })
  afterAll(() => world.services.close())

  async function refusal(more: object): Promise<readonly unknown[]> {
    const response = await requestPageSession(world.services, dcqlQuery, more)
    const { error_description } = (await response.json()) as { error_description?: string }
    return [response.status, error_description]
  }

  describe('starts', () => {
    it.each([
      ORIGIN,
      'https://shop.example:8443',
      'https://xn--bcher-kva.example',
      'http://localhost',
      'http://localhost:3000',
      'http://app.localhost:3000',
      'http://127.0.0.1:8080',
      'http://[::1]:8080',
      'https://[2001:db8::1]',
      'https://my_shop.example.:8443',
    ])('with the origin %s', async (origin) => {
      const { session_id: id, ...uris } = await startPageSession(world.services, dcqlQuery, { origin })
      expect(uris).toEqual({
        request_uri: expect.stringContaining(encodeURIComponent(`/authorization-request/${id}`)) as string,
        digital_credentials_uri: `${VERIFIER_URL}/presentation/oid4vp/digital-credentials/${id}`,
      })
    })

    const asBrowsers = (origin: string) => `origin: must be as browsers write it: ${origin}`
    const ofAPage = 'origin: must be the origin of a page, such as https://shop.example'
    const withTls = 'origin: must be https; plain http is for addresses of this machine'
    it.each([
      [`${ORIGIN}/`, asBrowsers(ORIGIN)],
      [`${ORIGIN}/checkout`, asBrowsers(ORIGIN)],
      [`${ORIGIN}?a=b`, asBrowsers(ORIGIN)],
      [`${ORIGIN}:443`, asBrowsers(ORIGIN)],
      ['https://Shop.example', asBrowsers(ORIGIN)],
      ['https://user@shop.example', asBrowsers(ORIGIN)],
      [`${ORIGIN}\\@evil.example`, asBrowsers(ORIGIN)],
      ['HTTPS://shop.example', asBrowsers(ORIGIN)],
      ['http://127.1', asBrowsers('http://127.0.0.1')],
      ['http://localhost:80', asBrowsers('http://localhost')],
      ['http://shop.example', withTls],
      ['http://192.168.0.7', withTls],
      ['http://shop.local', withTls],
      ['https://bücher.example', ofAPage],
      ['shop.example', ofAPage],
      ['null', ofAPage],
      ['', ofAPage],
      ['*', ofAPage],
      ['https://*', ofAPage],
      ['https://*.shop.example', ofAPage],
      [`${ORIGIN},https://evil.example`, ofAPage],
      ['file:///', ofAPage],
      ['javascript:0', ofAPage],
      ['data:,x', ofAPage],
      ['blob:https://shop.example', ofAPage],
      ['wss://shop.example', ofAPage],
      ['android:apk-key-hash:abc', ofAPage],
      [`https://${'a'.repeat(2048)}`, 'origin: must have at most 2048 characters'],
    ])('not with the origin %s', async (origin, sentence) => {
      expect(await refusal({ origin })).toEqual([400, sentence])
    })

    it('without a link, if it has an origin', async () => {
      const started = await startPageSession(world.services, dcqlQuery, { link: false })
      expect(Object.keys(started).sort()).toEqual(['digital_credentials_uri', 'session_id'])
      const sentence = 'link: false is for a session with an origin, which has another way'
      expect(await refusal({ origin: undefined, link: false })).toEqual([400, sentence])
    })

    it('without a link, and then without a method that only a link has', async () => {
      const sentence = 'request_uri_method stands in the link, which link: false leaves out'
      for (const method of ['post', 'get']) {
        expect(await refusal({ link: false, request_uri_method: method })).toEqual([400, sentence])
      }
      const { request_uri: link } = await startPageSession(world.services, dcqlQuery, { request_uri_method: 'post' })
      expect(link).toMatch(/&request_uri_method=post$/)
    })

    it('with the same answer for the same idempotency key', async () => {
      const query = await call(world.services, `${VERIFIER_URL}/verification-query/create`, { dcql_query: dcqlQuery })
      const body = JSON.stringify({ verification_query_id: await query.text(), origin: ORIGIN })
      const headers = { authorization: `Bearer ${'k'.repeat(64)}`, 'content-type': 'application/json' }
      const start = async () => {
        const init = { method: 'POST', headers: { ...headers, 'idempotency-key': 'page-1' }, body }
        return (await world.services.fetch(`${VERIFIER_URL}/presentation/oid4vp/new-session`, init)).json()
      }
      expect(await start()).toEqual(await start())
    })
  })

  describe('has a request for its page', () => {
    it('signed and unsigned, with what such requests have and nothing else', async () => {
      const started = await startPageSession(world.services, dcqlQuery, {
        transaction_data: [{ type: 'urn:example:payment', credential_ids: ['card'] }],
      })
      const { body, signed, unsigned } = await fetchPageRequest(world.services, started)
      expect(body.digital.requests.map(({ protocol }) => protocol)).toEqual([SIGNED, UNSIGNED])
      expect(body).toMatchObject({ mediation: 'required' })
      expect(unsigned).toEqual({
        response_type: 'vp_token',
        response_mode: 'dc_api.jwt',
        nonce: expect.stringMatching(/^[\w-]{32}$/) as string,
        dcql_query: dcqlQuery,
        transaction_data: [expect.any(String)],
        client_metadata: {
          client_name: 'Example Shop',
          jwks: { keys: [expect.objectContaining({ kty: 'EC', crv: 'P-256', use: 'enc', alg: 'ECDH-ES' })] },
          encrypted_response_enc_values_supported: ['A128GCM', 'A256GCM'],
          vp_formats_supported: expect.any(Object) as object,
        },
      })
      const { client_id } = await fetchRequestObject(world.services, started.session_id)
      expect(signed.payload).toEqual({
        ...unsigned,
        client_id,
        expected_origins: [ORIGIN],
        aud: 'https://self-issued.me/v2',
        iat: expect.any(Number) as number,
        exp: expect.any(Number) as number,
      })
      expect(Number(signed.payload.exp) - Number(signed.payload.iat)).toBe(600)
      const [leaf = ''] = signed.header.x5c as string[]
      expect(isJwsSignedBy(signed, parseCertificate(Buffer.from(leaf, 'base64')).publicKey)).toBe(true)
      expect(signed.header).toMatchObject({ typ: 'oauth-authz-req+jwt', alg: 'ES256' })
    })

    it('with the same key and nonce each time, and a link whose response stays unencrypted', async () => {
      const started = await startPageSession(world.services)
      const [one, other] = [
        await fetchPageRequest(world.services, started),
        await fetchPageRequest(world.services, started),
      ]
      expect(other.unsigned).toEqual(one.unsigned)
      const request = await fetchRequestObject(world.services, started.session_id)
      expect(request).toMatchObject({ response_mode: 'direct_post', nonce: one.unsigned.nonce })
      expect(request.client_metadata).not.toHaveProperty('jwks')
      expect(request).not.toHaveProperty('expected_origins')
    })

    it('that pages of its origin alone may read, and no cache keeps', async () => {
      const { digital_credentials_uri: uri } = await startPageSession(world.services)
      for (const origin of [ORIGIN, 'https://evil.example']) {
        const { headers } = await world.services.fetch(uri, { headers: { origin } })
        expect(headers.get('access-control-allow-origin')).toBe(ORIGIN)
        expect(headers.get('vary')).toBe('Origin')
        expect(headers.get('cache-control')).toBe('no-store')
      }
      const preflight = await world.services.fetch(uri, {
        method: 'OPTIONS',
        headers: { origin: ORIGIN, 'access-control-request-method': 'POST' },
      })
      expect(preflight.status).toBe(204)
      expect(preflight.headers.get('access-control-allow-methods')).toContain('POST')
      expect(preflight.headers.get('access-control-allow-headers')).toContain('Content-Type')
    })

    it('by org-iso-mdoc too, signed by the verifier, if it asks for mdocs alone', async () => {
      const started = await startPageSession(world.services, mdocQuery)
      const { body } = await fetchPageRequest(world.services, started)
      const data = body.digital.requests.find(({ protocol }) => protocol === 'org-iso-mdoc')?.data ?? {}
      expect(Object.keys(data).sort()).toEqual(['deviceRequest', 'encryptionInfo'])
      const [deviceRequest = '', encryptionInfo = ''] = Object.values(data).map(String)
      const request = asMap(decodeCbor(fromBase64url(deviceRequest)), 'it')
      const [docRequest] = asArray(request.get('docRequests'), 'it').map((each) => asMap(each, 'it'))
      const readerAuth = readSign1(docRequest?.get('readerAuth'), 'it')
      const transcript = isoMdocTranscript({ origin: ORIGIN, encryptionInfo })
      const structure = ['ReaderAuthentication', transcript, docRequest?.get('itemsRequest') ?? null]
      const [leaf = Buffer.alloc(0)] = readerAuth.x5chain
      const payload = encodeCbor(embedCbor(structure))
      expect(isSign1SignedBy(readerAuth, payload, parseCertificate(leaf).publicKey)).toBe(true)
    })

    it('which says no more about the wallet than that the session waits', async () => {
      const started = await startPageSession(world.services)
      await fetchPageRequest(world.services, started)
      const status = await statusOf(world.services, VERIFIER_URL, started.session_id)
      expect(status).toMatchObject({ status: 'STARTED' })
      for (const member of ['request_fetched_at', 'response_mode']) expect(status).not.toHaveProperty(member)
    })

    it('until its certificate has changed', async () => {
      const started = await startPageSession(world.services)
      const row = await world.services.verifierStore.get('verification_session', started.session_id)
      if (row === undefined) throw new Error('no session')
      const changed = { ...row.value, clientId: 'x509_hash:another' }
      await world.services.verifierStore.commit([
        { update: 'verification_session', id: started.session_id, version: row.version, value: changed },
      ])
      const response = await world.services.fetch(started.digital_credentials_uri)
      expect([response.status, await response.json()]).toMatchObject([410, { error: 'gone' }])
      expect(await statusOf(world.services, VERIFIER_URL, started.session_id)).toMatchObject({
        problem: { endpoint: 'digital-credentials', error: 'gone' },
      })
    })
  })

  describe('takes', () => {
    const encrypt = async (started: StartedPage, members: (request: RequestObject) => Promise<object>) => {
      const request = asRequestObject((await fetchPageRequest(world.services, started)).unsigned)
      return { protocol: SIGNED, data: { response: await encryptedResponse(request, await members(request)) } }
    }
    const present = async (request: RequestObject) => ({
      vp_token: { card: [await presentationOf(world.credential, world.holder, request, world.services.clock)] },
    })
    const status = ({ session_id: id }: StartedPage) => statusOf(world.services, VERIFIER_URL, id)

    it('a response whose state nobody asked for', async () => {
      const started = await startPageSession(world.services)
      const credential = await encrypt(started, async (request) => ({ ...(await present(request)), state: 'any' }))
      const response = await postCredential(world.services, started, credential)
      expect([response.status, await response.json()]).toEqual([200, {}])
      expect(await status(started)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', response_mode: 'dc_api.jwt' })
      expect(response.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    })

    it('a response that approves the transactions of the request', async () => {
      const transaction_data = [{ type: 'urn:example:payment', credential_ids: ['card'], amount: '12.00' }]
      const started = await startPageSession(world.services, dcqlQuery, { transaction_data })
      const response = await postCredential(world.services, started, await encrypt(started, present))
      expect(response.status).toBe(200)
      const { result } = await status(started)
      const checks = (result as VerificationReport).credentials.card?.[0]?.checks
      expect(checks?.find(({ id }) => id === 'holder.transaction_data')).toMatchObject({ outcome: 'passed' })
    })

    it('a credential without holder binding, which the key of the session ties to it', async () => {
      const [card] = dcqlQuery.credentials
      const started = await startPageSession(world.services, {
        credentials: [{ ...card, require_cryptographic_holder_binding: false }],
      })
      const credential = await encrypt(started, async (request) => {
        const forgery = await makeForgery(world, request)
        return { vp_token: { card: [await putTogether({ ...forgery, binding: undefined })] } }
      })
      expect((await postCredential(world.services, started, credential)).status).toBe(200)
      const { result } = await status(started)
      expect((result as VerificationReport).checks[0]).toMatchObject({
        id: 'presentation.session',
        outcome: 'passed',
        detail: expect.stringContaining('which alone ties a credential without holder binding to it') as string,
      })
    })

    it.each([
      ['a refusal', 'access_denied', 'DECLINED', 'access_denied'],
      ['an error', 'vp_formats_not_supported', 'VERIFICATION_FAILED', 'vp_formats_not_supported'],
      ['an error of no registry', 'oops', 'VERIFICATION_FAILED', 'unregistered_error'],
    ])('%s, as it is or encrypted', async (_, error, state, shown) => {
      const inClear = await startPageSession(world.services)
      const encrypted = await startPageSession(world.services)
      const posts = [
        [inClear, { protocol: UNSIGNED, data: { error } }],
        [encrypted, await encrypt(encrypted, () => Promise.resolve({ error }))],
      ] as const
      for (const [started, credential] of posts) {
        const response = await postCredential(world.services, started, credential)
        expect([response.status, await response.json()]).toEqual([200, {}])
        expect(await status(started)).toMatchObject({ status: state, wallet_error: { error: shown } })
        expect(await status(started)).toMatchObject({ response_mode: 'dc_api.jwt' })
      }
    })

    it('a response by the script of docs/verifying.md, and sends the page on where the application said', async () => {
      const redirect_uri = 'https://shop.example/paid'
      const { origin } = JSON.parse(snippetWith('docs/verifying.md', '"origin"')) as { origin: string }
      const started = await startPageSession(world.services, dcqlQuery, { origin, redirect_uri })
      const uri = await runPage(world.services, started, () => encrypt(started, present))
      expect(uri).toMatch(/^https:\/\/shop\.example\/paid\?response_code=/)
      expect(await status(started)).not.toHaveProperty('result')
      const code = new URL(uri).searchParams.get('response_code') ?? ''
      const url = `${VERIFIER_URL}/presentation/oid4vp/status/${started.session_id}?response_code=${code}`
      expect(await (await call(world.services, url)).json()).toMatchObject({ result: { verified: true } })
    })
  })
})

/** Runs the script of the page, with a button that is clicked and a browser that gives `credential`; where it leads. */
async function runPage(services: Services, started: StartedPage, credential: () => Promise<object>): Promise<string> {
  const clicks: (() => Promise<void>)[] = []
  let place = ''
  const { body } = await fetchPageRequest(services, started)
  const get = (request: { digital: { requests: { protocol: string }[] } }) => {
    expect(request.digital.requests.map(({ protocol }) => protocol)).toEqual(
      body.digital.requests.map(({ protocol }) => protocol),
    )
    return credential()
  }
  const page = {
    uri: started.digital_credentials_uri,
    fetch: services.fetch,
    navigator: { credentials: { get } },
    button: { addEventListener: (_: string, click: () => Promise<void>) => clicks.push(click) },
    location: { assign: (address: string) => (place = address) },
  }
  await runInNewContext(`(async () => {${snippetWith('docs/verifying.md', 'navigator.credentials')}})()`, page)
  await clicks[0]?.()
  return place
}

describe('under HAIP', () => {
  it('a session with an origin needs intent_to_retain for every element of an mdoc, and a link does not', async () => {
    const services = await startServices(haipVerifier)
    try {
      const [{ claims, ...licence }] = mdocQuery.credentials as [(typeof mdocQuery.credentials)[0]]
      const undeclared = { credentials: [{ ...licence, claims: claims.map(({ path }) => ({ path })) }] }
      const response = await requestPageSession(services, undeclared)
      expect([response.status, await response.json()]).toEqual([
        400,
        {
          error: 'invalid_request',
          error_description:
            'origin: with the profile haip, every claim of an mdoc must have intent_to_retain; store a query that has it',
        },
      ])
      expect((await requestPageSession(services, undeclared, { origin: undefined })).status).toBe(200)
      const started = await startPageSession(services, mdocQuery)
      const request = await fetchRequestObject(services, started.session_id)
      expect(request).toMatchObject({ response_mode: 'direct_post.jwt' })
      expect((await requestPageSession(services, dcqlQuery)).status).toBe(200)
    } finally {
      await services.close()
    }
  })
})
