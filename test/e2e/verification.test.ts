/**
 * The verification service as an integrating application and a careful wallet see it; the attacks are in test/attacks.
 */
import { createHash, X509Certificate } from 'node:crypto'
import { compactVerify, decodeProtectedHeader, importX509 } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readJws } from '../../src/codec/jws.ts'
import { fetchRequest } from '../../src/wallet/request-object.ts'
import { type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { testWallet } from '../support/wallet.ts'
import {
  call,
  configuration,
  dataset,
  dcqlQuery,
  holderSigner,
  issueCredential,
  postForm,
  presentationOf,
  startVerification,
  statusOf,
} from '../support/wire.ts'

let services: Services
beforeAll(async () => {
  services = await startServices()
})
afterAll(() => services.close())

const certificate = () => new X509Certificate(services.files.get('verifier.pem') ?? '')
const clientId = () => `x509_hash:${createHash('sha256').update(certificate().raw).digest('base64url')}`

describe('a verification query', () => {
  it('is stored as it was posted, under an id in plain text, at both paths', async () => {
    for (const [path, body] of [
      ['/verification-query/create', { dcql_query: dcqlQuery }],
      ['/dcql-query/create', dcqlQuery],
    ] as const) {
      const created = await call(services, VERIFIER_URL + path, body)
      expect(created.status).toBe(201)
      expect(created.headers.get('content-type')).toMatch(/^text\/plain/)
      const id = await created.text()
      const stored = await call(services, `${VERIFIER_URL}/verification-query/${id}`)
      expect(await stored.json()).toEqual({ verification_query_id: id, dcql_query: dcqlQuery })
    }
  })

  it('serves any number of sessions', async () => {
    const created = await call(services, `${VERIFIER_URL}/dcql-query/create`, dcqlQuery)
    const body = { verification_query_id: await created.text() }
    const started = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const response = await call(services, `${VERIFIER_URL}/presentation/oid4vp/new-session`, body)
        return ((await response.json()) as { session_id: string }).session_id
      }),
    )
    expect(new Set(started).size).toBe(20)
  })
})

describe('a verification session', () => {
  it('is a deep link with the request and the hash of the certificate, and leads to the request', async () => {
    const { sessionId, link } = await startVerification(services)
    const requestUri = `${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`
    expect(link).toBe(
      `haip-vp://?request_uri=${encodeURIComponent(requestUri)}&client_id=${encodeURIComponent(clientId())}`,
    )
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'STARTED' })
  })

  it('records that the holder declined', async () => {
    const { sessionId, request } = await startVerification(services)
    const response = await postForm(services, request.response_uri, { error: 'access_denied', state: request.state })
    expect([response.status, await response.json()]).toEqual([200, {}])
    expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({
      status: 'DECLINED',
      wallet_error: { error: 'access_denied' },
    })
  })
})

describe('a request object', () => {
  it('carries the fields of the interface, signed by the key of its certificate', async () => {
    const { sessionId } = await startVerification(services)
    const response = await services.fetch(`${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`)
    expect(response.headers.get('content-type')).toBe('application/oauth-authz-req+jwt')
    const jwt = await response.text()
    const { typ, alg, x5c } = decodeProtectedHeader(jwt)
    expect({ typ, alg, x5c }).toEqual({
      typ: 'oauth-authz-req+jwt',
      alg: 'ES256',
      x5c: [certificate().raw.toString('base64')],
    })
    const key = await importX509(services.files.get('verifier.pem') ?? '', 'ES256')
    const { payload } = await compactVerify(jwt, key)
    const created = Math.floor(services.clock.now.getTime() / 1000)
    const algs = ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
    const coseAlgs = [-7, -9, -35, -51, -36, -52, -8, -19]
    const sdJwtAlgs = { 'sd-jwt_alg_values': algs, 'kb-jwt_alg_values': algs }
    expect(JSON.parse(new TextDecoder().decode(payload))).toEqual({
      response_type: 'vp_token',
      response_mode: 'direct_post',
      response_uri: `${VERIFIER_URL}/presentation/oid4vp/authorization-response/${sessionId}`,
      client_id: clientId(),
      nonce: expect.stringMatching(/^[A-Za-z0-9_-]{32}$/) as string,
      state: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/) as string,
      aud: 'https://self-issued.me/v2',
      iat: created,
      exp: created + 600,
      dcql_query: dcqlQuery,
      client_metadata: {
        client_name: 'Example Shop',
        vp_formats_supported: {
          'jwt_vc_json-ld': { alg_values: algs, ...sdJwtAlgs },
          'vc+sd-jwt': { alg_values: algs, ...sdJwtAlgs },
          'dc+sd-jwt': sdJwtAlgs,
          jwt_vc_json: { alg_values: algs },
          mso_mdoc: { issuerauth_alg_values: coseAlgs, deviceauth_alg_values: coseAlgs },
        },
      },
    })
  })

  it('has the registration certificate of the operator, by GET and POST, which the reference wallet passes over', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const jwt = `${part({ typ: 'rc-wrp+jwt', alg: 'ES256' })}.${part({ exp: 4_000_000_000 })}.AA`
    const registered = await startServices({
      verifier: { registrationCertificateFile: 'registration.jwt' },
      files: { 'registration.jwt': `${jwt}\n` },
    })
    const { sessionId, link } = await startVerification(registered)
    const url = `${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`
    const form = new URLSearchParams({ wallet_nonce: 'a-nonce' })
    for (const response of [await registered.fetch(url), await registered.fetch(url, { method: 'POST', body: form })]) {
      const { payload } = readJws(await response.text())
      expect(payload.verifier_info).toEqual([{ format: 'registration_cert', data: jwt }])
    }
    const { wallet } = testWallet(registered.fetch, registered.clock)
    expect(await fetchRequest(wallet, link)).toMatchObject({ clientName: 'Example Shop', transactions: [] })
    await registered.close()
  })
})

describe('an index in a query', () => {
  // Yivi (irmago 1.3.0) and the Python package sd-jwt (0.10.4) disclose the element at the index, and no other.
  it.each([
    ['jwt_vc_json-ld', configuration, dataset, ['credentialSubject', 'degrees']],
    ['dc+sd-jwt', { format: 'dc+sd-jwt', vct: 'urn:x' }, dataset.credentialSubject, ['degrees']],
  ])(
    'is the place in which the issuer signed the element, also where others are hidden (%s)',
    async (format, declared, data, degrees) => {
      const holder = await holderSigner()
      const credential = await issueCredential(services, holder, declared, data)
      const outcomeOf = async (shown: number, asked: object) => {
        const claims = [{ path: [...degrees, 1], ...asked }]
        const { sessionId, request } = await startVerification(services, {
          credentials: [{ id: 'card', format, meta: {}, claims }],
        })
        const at = { now: services.clock.now, format, places: [[...degrees, shown]] }
        const presentation = await presentationOf(credential, holder, request, at)
        const form = { vp_token: JSON.stringify({ card: [presentation] }), state: request.state }
        await postForm(services, request.response_uri, form)
        const { status, result } = await statusOf(services, VERIFIER_URL, sessionId)
        return [status, JSON.stringify(result)]
      }
      const succeeded = ['VERIFICATION_SUCCEEDED', expect.stringContaining('"degrees":["MSc"]')]
      expect(await outcomeOf(1, {})).toEqual(succeeded)
      expect(await outcomeOf(1, { values: ['MSc'] })).toEqual(succeeded)
      const failed = ['VERIFICATION_FAILED', expect.stringMatching(/there is no [\w.]*degrees\[1\]/)]
      expect(await outcomeOf(0, {})).toEqual(failed)
      const mismatch = ['VERIFICATION_FAILED', expect.stringMatching(/degrees\[1\]: expected /)]
      expect(await outcomeOf(1, { values: ['BSc'] })).toEqual(mismatch)
    },
  )
})
