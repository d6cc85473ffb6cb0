/** The metadata of the issuer: the final shape, that of older wallets, signed, and as current as it is true. */
import { X509Certificate } from 'node:crypto'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import { readJws } from '../../src/codec/jws.ts'
import { importPublicKey, type PublicJwk, publicJwkOf, readPublicJwk, thumbprint } from '../../src/keys/jwk.ts'
import { toPem } from '../../src/keys/make-certificate.ts'
import { isJwsSignedBy } from '../../src/keys/signature.ts'
import { certify, makeAuthority } from '../support/forge.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { call, configuration, declare, startIssuance } from '../support/wire.ts'

const PATH = '/.well-known/openid-credential-issuer'

interface Metadata extends JsonObject {
  credential_issuer: string
  credential_configurations_supported: Record<string, JsonObject>
}

describe('issuer metadata', () => {
  let services: Services
  let id: string
  let sessionId: string
  beforeAll(async () => {
    services = await startServices()
    id = await declare(services, { ...configuration, scope: 'student' })
    ;({ sessionId } = await startIssuance(services, { credential_configurations: [id] }))
  })
  afterAll(() => services.close())
  const fetchFrom = (path: string, accept?: string) =>
    services.fetch(`${ISSUER_URL}${path}`, { headers: accept === undefined ? {} : { accept } })
  const get = async (path: string) => (await (await fetchFrom(path)).json()) as Metadata
  const places = () => [
    [PATH, ISSUER_URL],
    [`${PATH}/${sessionId}`, `${ISSUER_URL}/${sessionId}`],
    [`/${sessionId}${PATH}`, `${ISSUER_URL}/${sessionId}`],
  ]

  it('has no members but those of the final specification where a final wallet looks', async () => {
    const metadata = await get(`${PATH}/${sessionId}`)
    expect(Object.keys(metadata).sort()).toEqual([
      'authorization_servers',
      'credential_configurations_supported',
      'credential_endpoint',
      'credential_issuer',
      'credential_request_encryption',
      'credential_response_encryption',
      'deferred_credential_endpoint',
      'display',
      'nonce_endpoint',
      'notification_endpoint',
    ])
    expect(Object.keys(metadata.credential_configurations_supported[id] ?? {}).sort()).toEqual([
      'credential_definition',
      'credential_metadata',
      'credential_signing_alg_values_supported',
      'cryptographic_binding_methods_supported',
      'format',
      'proof_types_supported',
      'scope',
    ])
  })

  it('costs no line of the log, at whichever place a wallet asks for it', async () => {
    const linesBefore = services.logLines.length
    for (const [path = ''] of places()) await get(path)
    expect(services.logLines.slice(linesBefore)).toEqual([])
  })

  it('has a scope only where one was posted', async () => {
    const other = await declare(services)
    const { credential_configurations_supported: shown } = await get(PATH)
    expect([shown[id]?.scope, Object.hasOwn(shown[other] ?? {}, 'scope')]).toEqual(['student', false])
  })

  it('publishes one key to encrypt to, on P-256, named by its thumbprint, and the same after a restart', async () => {
    const { credential_request_encryption: request, credential_response_encryption: response } = await get(PATH)
    const { jwks, ...rest } = request as unknown as { jwks: { keys: (PublicJwk & JsonObject)[] } }
    const [key, ...more] = jwks.keys
    const jwk = readPublicJwk(key)
    expect([more, key]).toEqual([[], { ...jwk, crv: 'P-256', kid: thumbprint(jwk), use: 'enc', alg: 'ECDH-ES' }])
    expect(publicJwkOf(importPublicKey(jwk))).toEqual(jwk)
    const supported = {
      enc_values_supported: ['A128GCM', 'A256GCM'],
      zip_values_supported: ['DEF'],
      encryption_required: false,
    }
    expect(rest).toEqual(supported)
    expect(response).toEqual({ alg_values_supported: ['ECDH-ES'], ...supported })
    const again = await services.fetch(`${ISSUER_URL}${PATH}/${sessionId}`)
    expect(((await again.json()) as Metadata).credential_request_encryption).toEqual(request)
    const signing = await fetchFrom('/auth/.well-known/jwks')
    expect(await signing.text()).not.toContain(jwk.x)
  })

  it('has what drafts up to 15 look for where their wallets look', async () => {
    const { credential_configurations_supported: shown, ...metadata } = await get(`/${sessionId}${PATH}`)
    expect(shown[id]).toMatchObject({
      display: configuration.credential_metadata.display,
      claims: [{ mandatory: false, ...configuration.credential_metadata.claims[0] }],
    })
    expect(shown[id]).not.toHaveProperty('credential_metadata')
    // The wallets of older drafts encrypt no requests.
    expect(Object.keys(metadata).filter((name) => name.includes('encryption'))).toEqual([
      'credential_response_encryption',
    ])
  })

  it('names the algorithms of an mdoc by number, and by name where drafts look', async () => {
    const mdoc = await declare(services, { format: 'mso_mdoc', doctype: 'org.iso.18013.5.1.mDL' })
    const { sessionId } = await startIssuance(services, {
      credential_configurations: [mdoc],
      credential_dataset: { 'org.iso.18013.5.1': { given_name: 'Ada' } },
    })
    const final = await get(`${PATH}/${sessionId}`)
    expect(final.credential_configurations_supported[mdoc]).toMatchObject({
      doctype: 'org.iso.18013.5.1.mDL',
      credential_signing_alg_values_supported: [-7],
      cryptographic_binding_methods_supported: ['cose_key', 'jwk', 'did:jwk', 'did:key'],
    })
    const older = await get(`/${sessionId}${PATH}`)
    expect(older.credential_configurations_supported[mdoc]).toMatchObject({
      credential_signing_alg_values_supported: ['ES256'],
    })
  })

  it('comes signed, with every parameter, to who asks for a JWT at any of its addresses', async () => {
    for (const [path = '', identifier] of places()) {
      const response = await fetchFrom(path, 'application/jwt')
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/jwt'])
      expect(response.headers.get('vary')).toMatch(/\bAccept\b/)
      const jws = readJws(await response.text())
      expect(jws.header).toEqual({
        typ: 'openidvci-issuer-metadata+jwt',
        alg: 'ES256',
        x5c: [expect.any(String) as string],
      })
      const certificate = new X509Certificate(Buffer.from((jws.header.x5c as string[])[0] ?? '', 'base64'))
      expect(isJwsSignedBy(jws, certificate.publicKey)).toBe(true)
      const { iss, sub, iat, exp, ...parameters } = jws.payload as unknown as Record<string, number>
      expect([iss, sub, (exp ?? 0) - (iat ?? 0)]).toEqual([ISSUER_URL, identifier, 3600])
      expect(iat).toBe(Math.floor(services.clock.now.getTime() / 1000))
      expect(parameters).toEqual(await get(path))
    }
  })

  it('comes signed with a configuration that is as deep as one may be posted', async () => {
    const deep = Array.from({ length: 27 }).reduce<JsonObject>((inner) => ({ inner }), {})
    const display = [{ name: 'Student card', deep }]
    await declare(services, { ...configuration, credential_metadata: { display } })
    const response = await fetchFrom(PATH, 'application/jwt')
    expect(response.status).toBe(200)
    const refused = await call(services, `${ISSUER_URL}/credential-configuration/create`, {
      ...configuration,
      credential_metadata: { display: [{ name: 'Student card', deep: { deep } }] },
    })
    expect(refused.status).toBe(400)
  })

  it('has the registration certificate of the operator, signed and unsigned, and not for older wallets', async () => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const jwt = `${part({ typ: 'rc-wrp+jwt', alg: 'ES256' })}.${part({ exp: 4_000_000_000 })}.AA`
    const registered = await startServices({
      issuer: { registrationCertificateFile: 'registration.jwt' },
      files: { 'registration.jwt': `${jwt}\n` },
    })
    const information = [{ format: 'registration_cert', data: jwt }]
    const unsigned = await registered.fetch(`${ISSUER_URL}${PATH}`)
    expect(await unsigned.json()).toMatchObject({ issuer_info: information })
    const signed = await registered.fetch(`${ISSUER_URL}${PATH}`, { headers: { accept: 'application/jwt' } })
    expect(readJws(await signed.text()).payload.issuer_info).toEqual(information)
    const { sessionId } = await startIssuance(registered)
    const older = await registered.fetch(`${ISSUER_URL}/${sessionId}${PATH}`)
    expect(await older.json()).not.toHaveProperty('issuer_info')
    await registered.close()
  })

  it('stands beside the revocation list that certificates name, where the operator has one', async () => {
    const list = Buffer.from('3003020101', 'hex')
    const files = { 'ca.crl': `-----BEGIN X509 CRL-----\n${list.toString('base64')}\n-----END X509 CRL-----\n` }
    const withList = await startServices({ issuer: { revocationListFile: 'ca.crl' }, files })
    const response = await withList.fetch(`${ISSUER_URL}/issuer-ca.crl`)
    expect(response.headers.get('content-type')).toBe('application/pkix-crl')
    expect(Buffer.from(await response.arrayBuffer())).toEqual(list)
    const etag = response.headers.get('etag') ?? ''
    const again = await withList.fetch(`${ISSUER_URL}/issuer-ca.crl`, { headers: { 'if-none-match': etag } })
    expect(again.status).toBe(304)
    await withList.close()
    const without = await services.fetch(`${ISSUER_URL}/issuer-ca.crl`)
    expect([without.status, await without.json()]).toMatchObject([404, { error: 'not_found' }])
  })

  it('has images that some wallets cannot read, of which the log tells once', async () => {
    const display = [{ name: 'Card', logo: { uri: 'data:image/svg+xml,%3Csvg%3E' } }]
    const id = await declare(services, { ...configuration, credential_metadata: { display } })
    await get(PATH)
    await get(PATH)
    const lines = services.logLines.filter((line) => line.includes(id) && line.includes('configuration_warning'))
    expect(lines).toEqual([expect.stringMatching(/credential_metadata\.display\[0]\.logo\.uri: .*Credo/)])
  })

  it('comes signed without the trust anchor among its certificates', async () => {
    const ca = await makeAuthority('Example CA')
    const chained = await startServices({
      issuerCertificates: (key) => Promise.resolve(toPem(certify(ca, key)) + toPem(ca.der)),
    })
    try {
      const response = await chained.fetch(`${ISSUER_URL}${PATH}`, { headers: { accept: 'application/jwt' } })
      const [leaf, ...others] = readJws(await response.text()).header.x5c as string[]
      expect(others).toEqual([])
      const { subject, issuer } = new X509Certificate(Buffer.from(leaf ?? '', 'base64'))
      expect(subject).not.toBe(issuer)
    } finally {
      await chained.close()
    }
  })

  it('is JSON for everybody else, and says that it depends on Accept', async () => {
    for (const accept of [
      undefined,
      '*/*',
      'application/json',
      'application/jwt;q=0.1, application/json',
      'text/html',
    ]) {
      for (const [path = '', identifier] of places()) {
        const response = await fetchFrom(path, accept)
        expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
        expect(response.headers.get('vary')).toMatch(/\bAccept\b/)
        expect(await response.json()).toMatchObject({ credential_issuer: identifier })
      }
    }
  })

  it('of the base is current as soon as a configuration is declared or removed', async () => {
    const ids = async () => Object.keys((await get(PATH)).credential_configurations_supported)
    const before = await ids()
    const added = await declare(services)
    expect((await ids()).filter((each) => !before.includes(each))).toEqual([added])
    await call(services, `${ISSUER_URL}/credential-configuration/remove/${added}`, {})
    expect(await ids()).toEqual(before)
  })

  it('of the base is a second old at most when another process changed a configuration', async () => {
    await get(PATH)
    const value = { configuration, removed: false }
    await services.issuerStore.commit([{ insert: 'credential_configuration', id: 'other', value }])
    services.clock.now = new Date(services.clock.now.getTime() + 1000)
    expect(Object.keys((await get(PATH)).credential_configurations_supported)).toContain('other')
  })

  describe.each(['session', 'base'])('with the identifier of the %s', (identifier) => {
    const uri = `data:image/png;base64,${'A'.repeat(65_000)}`
    const large = {
      ...configuration,
      credential_metadata: {
        display: Array.from({ length: 9 }, (_, i) => ({ name: 'a', locale: `en-x-${i}`, logo: { uri } })),
      },
    }
    const refusal = {
      error: 'invalid_request',
      error_description: expect.stringMatching(
        /would have \d{7} bytes, and wallets read 983040.*https: URLs.*remove/,
      ) as string,
    }
    let based: Services
    beforeEach(async () => {
      based = await startServices({ issuer: { issuer: { id: ISSUER_URL, display: { name: 'Uni' }, identifier } } })
    })
    afterEach(() => based.close())
    const create = (posted: object) => call(based, `${ISSUER_URL}/credential-configuration/create`, posted)
    const baseText = async () => (await based.fetch(`${ISSUER_URL}${PATH}`)).text()

    it('is never larger than a wallet reads', async () => {
      // A configuration of an earlier release is served as before.
      const stored = { configuration: large, removed: false }
      await based.issuerStore.commit([{ insert: 'credential_configuration', id: 'stored', value: stored }])
      const refused = await create(large)
      expect([refused.status, await refused.json()]).toEqual([400, refusal])
      expect((await create(configuration)).status).toBe(201)
      const text = await baseText()
      expect([text.length < 1024 * 1024, text.includes('"stored":')]).toEqual([true, true])
    })

    it('is never larger by configurations that are made at the same time', async () => {
      const answers = await Promise.all(Array.from({ length: 5 }, () => create(large)))
      const refused = answers.filter(({ status }) => status !== 201)
      expect(refused.length).toBeGreaterThanOrEqual(4)
      for (const answer of refused) expect([answer.status, await answer.json()]).toEqual([400, refusal])
      expect((await baseText()).length).toBeLessThan(1024 * 1024)
      expect((await create(configuration)).status).toBe(201)
    })
  })

  it('is the same text each time', async () => {
    for (const [path = ''] of places()) {
      const [first, second] = await Promise.all([fetchFrom(path), fetchFrom(path)])
      expect(await first.text()).toBe(await second.text())
    }
  })
})
