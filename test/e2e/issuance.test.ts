/** The path from configuration to status over the HTTP interface, field by field (docs/divergences/interface.md). */
import { X509Certificate } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isObject, type Json, type JsonObject } from '../../src/codec/json.ts'
import { readJws } from '../../src/codec/jws.ts'
import { readSdJwt, revealClaims } from '../../src/codec/sd-jwt.ts'
import { toDidJwk } from '../../src/keys/did.ts'
import { importPublicKey, type PublicJwk, thumbprint } from '../../src/keys/jwk.ts'
import { isJwsSignedBy } from '../../src/keys/signature.ts'
import { expectIssued, proofOf, readySession, request, startedSession, TOKEN_ENDPOINT } from '../support/issuance.ts'
import { API_KEY, ISSUER_URL, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import {
  authorization,
  call,
  configuration,
  dataset,
  declare,
  fetchNonce,
  GRANT,
  holderSigner,
  issueCredential,
  postForm,
  startIssuance,
  statusOf,
} from '../support/wire.ts'

/** Every field that the interface names. */
const completeConfiguration = {
  format: 'jwt_vc_json-ld',
  credential_definition: {
    '@context': ['https://www.w3.org/ns/credentials/v2', 'https://schema.example/student'],
    type: ['VerifiableCredential', 'StudentCard'],
  },
  credential_metadata: {
    display: [
      {
        name: 'Student card',
        locale: 'en-GB',
        description: 'Shows that its holder studies here',
        background_color: '#102030',
        text_color: '#ffffff',
        logo: { uri: 'data:image/png;base64,AA==', alt_text: 'A book' },
        background_image: { uri: 'https://university.example/card.png' },
      },
      { name: 'Studentenausweis', locale: 'de-DE' },
    ],
    claims: [
      {
        path: ['credentialSubject', 'given_name'],
        mandatory: true,
        display: [{ name: 'Given name', locale: 'en-GB' }],
      },
      { path: ['credentialSubject', 'family_name'], mandatory: false },
      { path: ['credentialSubject', 'degrees', null], display: [{ name: 'Degree' }] },
      { path: ['credentialSubject', 'degrees', 0] },
    ],
  },
}

const read = (credential: string) => {
  const sdJwt = readSdJwt(credential)
  return {
    sdJwt,
    header: sdJwt.jws.header,
    payload: sdJwt.jws.payload,
    ...revealClaims(sdJwt.jws.payload, sdJwt.disclosures),
  }
}

describe('issuance', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())
  const get = async (path: string) => {
    const response = await services.fetch(`${ISSUER_URL}${path}`, { headers: { accept: 'application/json' } })
    expect([path, response.status]).toEqual([path, 200])
    expect(response.headers.get('content-type')).toMatch(/^application\/json\b/)
    return (await response.json()) as Record<string, unknown>
  }

  it('gives the id of a configuration as plain text, and the configuration back as it was posted', async () => {
    for (const posted of [
      completeConfiguration,
      {
        ...configuration,
        scope: 'student',
        selective_disclosure: [['credentialSubject', 'a', null]],
        validity_seconds: 60,
        batch_size: 1,
        revocable: false,
      },
    ]) {
      const response = await call(services, `${ISSUER_URL}/credential-configuration/create`, posted)
      expect([response.status, response.headers.get('content-type')]).toEqual([201, 'text/plain'])
      const id = await response.text()
      expect(id).toMatch(/^[\w-]{22}$/)
      const stored = await call(services, `${ISSUER_URL}/credential-configuration/${id}`)
      expect(await stored.json()).toEqual(posted)
    }
  })

  it('gives the session and a deep link to its offer', async () => {
    const id = await declare(services)
    const response = await call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, {
      credential_dataset: dataset,
      credential_configurations: [id],
    })
    expect(response.status).toBe(200)
    const body = (await response.json()) as { session_id: string; credential_offer_uri: string }
    expect(Object.keys(body)).toEqual(['session_id', 'credential_offer_uri'])
    const offerUrl = `${ISSUER_URL}/issuance/oid4vci/credential-offer/${body.session_id}`
    expect(body.credential_offer_uri).toBe(`haip-vci://?credential_offer_uri=${encodeURIComponent(offerUrl)}`)
    expect(new URL(body.credential_offer_uri).searchParams.get('credential_offer_uri')).toBe(offerUrl)
  })

  it('offers the configurations of the session, by the identifier of the session', async () => {
    const ids = [await declare(services), await declare(services, completeConfiguration)]
    const { sessionId } = await startIssuance(services, { credential_configurations: ids })
    const offer = await get(`/issuance/oid4vci/credential-offer/${sessionId}`)
    expect(offer).toEqual({
      credential_issuer: `${ISSUER_URL}/${sessionId}`,
      credential_configuration_ids: ids,
      grants: { [GRANT]: { 'pre-authorized_code': expect.stringMatching(/^[\w.-]{43,}$/) as string } },
    })
    expect(await get(`/issuance/oid4vci/credential-offer/${sessionId}`)).toEqual(offer)
  })

  it('describes itself to the wallet of a session at all three addresses', async () => {
    const id = await declare(services, completeConfiguration)
    const { sessionId } = await startIssuance(services, { credential_configurations: [id] })
    const identifier = `${ISSUER_URL}/${sessionId}`
    const { credential_metadata: metadata, ...rest } = completeConfiguration
    const claims = metadata.claims.map((claim) => ({ ...claim, mandatory: 'mandatory' in claim && claim.mandatory }))
    const document = {
      credential_issuer: identifier,
      authorization_servers: [identifier],
      credential_endpoint: `${ISSUER_URL}/issuance/oid4vci/credential-request`,
      nonce_endpoint: `${ISSUER_URL}/issuance/oid4vci/nonce/${sessionId}`,
      deferred_credential_endpoint: `${ISSUER_URL}/issuance/oid4vci/deferred-credential`,
      notification_endpoint: `${ISSUER_URL}/issuance/oid4vci/notification/${sessionId}`,
      display: [{ name: 'Example University' }],
      credential_configurations_supported: {
        [id]: {
          ...rest,
          credential_metadata: { ...metadata, claims },
          cryptographic_binding_methods_supported: ['jwk', 'did:jwk', 'did:key'],
          credential_signing_alg_values_supported: ['ES256'],
          proof_types_supported: {
            jwt: { proof_signing_alg_values_supported: ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] },
          },
        },
      },
    }
    expect(await get(`/.well-known/openid-credential-issuer/${sessionId}`)).toEqual({
      ...document,
      // The members are tested in issuer-metadata.test.ts.
      credential_request_encryption: expect.any(Object) as object,
      credential_response_encryption: expect.any(Object) as object,
    })
    // Read by wallets of the drafts alone: drafts.test.ts and draft15-deferred.test.ts have what they make of it.
    expect(await get(`/${sessionId}/.well-known/openid-credential-issuer`)).toEqual({
      ...document,
      deferred_credential_endpoint: `${ISSUER_URL}/issuance/oid4vci/draft15/deferred-credential`,
      credential_response_encryption: expect.any(Object) as object,
      credential_configurations_supported: {
        [id]: {
          ...document.credential_configurations_supported[id],
          credential_metadata: undefined,
          display: metadata.display,
          claims,
        },
      },
    })
    const base = await get('/.well-known/openid-credential-issuer')
    expect(base).toMatchObject({
      credential_issuer: ISSUER_URL,
      authorization_servers: [ISSUER_URL],
      nonce_endpoint: `${ISSUER_URL}/issuance/oid4vci/nonce`,
      credential_configurations_supported: document.credential_configurations_supported,
    })
  })

  it('shows wallets nothing of how it issues', async () => {
    const own = { selective_disclosure: 'none', validity_seconds: 60, batch_size: 1, revocable: false }
    const id = await declare(services, { ...configuration, scope: 'student', ...own })
    const { sessionId } = await startIssuance(services, { credential_configurations: [id] })
    const { credential_configurations_supported: shown } = await get(
      `/.well-known/openid-credential-issuer/${sessionId}`,
    )
    const members = Object.keys((shown as Record<string, object>)[id] ?? {})
    expect(members).toContain('scope')
    expect(members.filter((name) => Object.hasOwn(own, name))).toEqual([])
  })

  it('describes its authorization server at all three addresses', async () => {
    const { sessionId } = await startIssuance(services)
    const document = {
      issuer: `${ISSUER_URL}/${sessionId}`,
      token_endpoint: `${TOKEN_ENDPOINT}/${sessionId}`,
      jwks_uri: `${ISSUER_URL}/auth/.well-known/jwks`,
      grant_types_supported: [GRANT, 'refresh_token'],
      'pre-authorized_grant_anonymous_access_supported': true,
      token_endpoint_auth_methods_supported: ['none'],
      authorization_details_types_supported: ['openid_credential'],
      dpop_signing_alg_values_supported: ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
    }
    expect(await get(`/.well-known/oauth-authorization-server/${sessionId}`)).toMatchObject(document)
    expect(await get(`/${sessionId}/.well-known/oauth-authorization-server`)).toMatchObject(document)
    expect(await get('/.well-known/oauth-authorization-server')).toMatchObject({
      ...document,
      issuer: ISSUER_URL,
      token_endpoint: TOKEN_ENDPOINT,
    })
  })

  it('gives a token that its published key verifies', async () => {
    const session = await startedSession(services)
    const response = await postForm(services, `${TOKEN_ENDPOINT}/${session.sessionId}`, session.form)
    const body = (await response.json()) as { access_token: string }
    expect(body).toEqual({ access_token: expect.any(String) as string, token_type: 'Bearer', expires_in: 300 })
    const { keys } = (await get('/auth/.well-known/jwks')) as unknown as {
      keys: (PublicJwk & Record<string, string>)[]
    }
    const [key] = keys
    expect(keys).toHaveLength(1)
    expect(Object.keys(key ?? {}).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    const jws = readJws(body.access_token)
    expect(jws.header).toEqual({ typ: 'at+jwt', alg: 'ES256', kid: thumbprint(key as PublicJwk) })
    expect(key).toMatchObject({ kid: jws.header.kid, use: 'sig', alg: 'ES256' })
    expect(isJwsSignedBy(jws, importPublicKey(key as PublicJwk))).toBe(true)
    const { iat, exp, iss, aud, sub, jti } = jws.payload as Record<string, number>
    expect((exp ?? 0) - (iat ?? 0)).toBe(300)
    expect([iss, aud, sub]).toEqual([ISSUER_URL, ISSUER_URL, session.sessionId])
    expect(jti).toEqual(expect.any(String))
  })

  it('gives nonces that differ', async () => {
    const { sessionId } = await startIssuance(services)
    const nonces = await Promise.all(Array.from({ length: 20 }, () => fetchNonce(services, sessionId)))
    expect(new Set(nonces).size).toBe(20)
    for (const nonce of nonces) expect(nonce).toMatch(/^[\w-]{51}$/)
  })

  it('issues an SD-JWT with the members that the interface names, and no others', async () => {
    const ready = await readySession(services)
    const { header, payload, claims, appliedDisclosures: disclosed, sdJwt } = read(await expectIssued(ready))
    expect(header).toEqual({ typ: 'vc+sd-jwt', alg: 'ES256', x5c: [expect.any(String) as string] })
    const certificate = new X509Certificate(Buffer.from((header.x5c as string[])[0] ?? '', 'base64'))
    expect(certificate.toString()).toBe(new X509Certificate(services.files.get('issuer.pem') ?? '').toString())
    expect(isJwsSignedBy(sdJwt.jws, certificate.publicKey)).toBe(true)
    const { iat, exp, validFrom, validUntil } = payload as {
      iat: number
      exp: number
      validFrom: string
      validUntil: string
    }
    expect(payload).toEqual({
      '@context': configuration.credential_definition['@context'],
      type: configuration.credential_definition.type,
      issuer: ISSUER_URL,
      iss: ISSUER_URL,
      validFrom: new Date(iat * 1000).toISOString().replace('.000', ''),
      validUntil: new Date(exp * 1000).toISOString().replace('.000', ''),
      iat: expect.any(Number) as number,
      exp: expect.any(Number) as number,
      cnf: { jwk: ready.holder.jwk },
      credentialSubject: { _sd: expect.any(Array) as string[] },
      _sd_alg: 'sha-256',
      status: {
        status_list: { idx: expect.any(Number) as number, uri: expect.stringContaining('/status-list/') as string },
      },
    })
    expect([validFrom, validUntil]).not.toContain(undefined)
    const now = services.clock.now.getTime() / 1000
    const year = 365 * 86_400
    expect(iat % 3600).toBe(0)
    expect(now - iat).toBeGreaterThanOrEqual(0)
    expect(now - iat).toBeLessThan(3600)
    expect(exp % 3600).toBe(0)
    expect(exp - now).toBeGreaterThanOrEqual(year)
    expect(exp - now).toBeLessThan(year + 3600)
    expect(claims.credentialSubject).toEqual(dataset.credentialSubject)
    expect(disclosed.map(({ position }) => position.slice(1).join('.')).sort()).toEqual([
      'address',
      'address.city',
      'degrees',
      'degrees.0',
      'degrees.1',
      'family_name',
      'given_name',
    ])
    expect(JSON.stringify(payload)).not.toContain('"Ada')
  })

  it('answers every copy with its own salts', async () => {
    const ready = await readySession(services)
    const first = read(await expectIssued(ready))
    const again = { ...ready, nonce: await fetchNonce(services, ready.sessionId) }
    const second = read(await expectIssued(again))
    expect(second.payload.iat).toBe(first.payload.iat)
    expect(second.sdJwt.disclosures.filter((text) => first.sdJwt.disclosures.includes(text))).toEqual([])
  })

  it('issues the twin vc+sd-jwt alike', async () => {
    const { header, payload } = read(
      await issueCredential(services, await holderSigner(), { ...configuration, format: 'vc+sd-jwt' }),
    )
    expect([header.typ, payload.vct]).toEqual(['vc+sd-jwt', undefined])
  })

  it.each([
    ['none', 'none', []],
    ['paths', [['credentialSubject', 'given_name']], ['given_name']],
    ['an object as a whole', [['credentialSubject', 'address']], ['address']],
    ['every element', [['credentialSubject', 'degrees', null]], ['degrees.0', 'degrees.1']],
    ['one element', [['credentialSubject', 'degrees', 1]], ['degrees.1']],
    ['a path that nothing has', [['credentialSubject', 'x']], []],
    ['an empty list', [], []],
  ] as const)('conceals what selective_disclosure names: %s', async (_, disclosure, places) => {
    const credential = await issueCredential(services, await holderSigner(), {
      ...configuration,
      selective_disclosure: disclosure,
    })
    const { appliedDisclosures: disclosed, payload, claims } = read(credential)
    expect(disclosed.map(({ position }) => position.slice(1).join('.')).sort()).toEqual(places)
    expect(claims.credentialSubject).toEqual(dataset.credentialSubject)
    expect(Object.hasOwn(payload, '_sd_alg')).toBe(places.length > 0)
    if (places.length === 0) expect(credential).toMatch(/^[^~]+~$/)
  })

  it.each([
    [1, 1],
    [599, 1],
    [600, 60],
    [86_399, 60],
    [86_400, 3600],
    [86_401, 3600],
  ])('lasts %i seconds at least, to a grain of %i', async (validity, grain) => {
    // Late in the hour, the minute and the second, so that no time is rounded the other way by chance.
    const hour = 3_600_000
    services.clock.now = new Date(Math.ceil(services.clock.now.getTime() / hour) * hour + 45 * 60_000 + 45_700)
    const { payload } = read(
      await issueCredential(services, await holderSigner(), { ...configuration, validity_seconds: validity }),
    )
    const { iat, exp } = payload as { iat: number; exp: number }
    const now = services.clock.now.getTime() / 1000
    expect([iat % grain, exp % grain]).toEqual([0, 0])
    expect(iat).toBe(Math.floor(now / grain) * grain)
    expect(exp).toBe(Math.ceil((now + validity) / grain) * grain)
  })

  it('writes the dates of VCDM 1.1 for its context', async () => {
    const definition = { '@context': ['https://www.w3.org/2018/credentials/v1'], type: ['VerifiableCredential'] }
    const { payload } = read(
      await issueCredential(services, await holderSigner(), { ...configuration, credential_definition: definition }),
    )
    expect(payload).toMatchObject({
      issuanceDate: payload.validFrom as string,
      expirationDate: payload.validUntil as string,
    })
    expect(payload['@context']).toEqual(definition['@context'])
  })

  it.each(['did:jwk', 'jwk', 'proofs'])('binds the credential to the key of a proof by %s', async (form) => {
    const ready = await readySession(services)
    const header = form === 'jwk' ? { kid: undefined, jwk: ready.holder.jwk } : { kid: toDidJwk(ready.holder.jwk) }
    const jwt = await proofOf(ready, { header })
    const changes =
      form === 'proofs' ? { proof: undefined, proofs: { jwt: [jwt] } } : { proof: { proof_type: 'jwt', jwt } }
    const response = await request(ready, changes)
    const { credentials } = (await response.json()) as { credentials: { credential: string }[] }
    expect(read(credentials[0]?.credential ?? '').payload.cnf).toEqual({ jwk: ready.holder.jwk })
    expect(response.headers.get('cache-control')).toBe('no-store')
  })

  it('tells the application where the session stands', async () => {
    const ids = [await declare(services), await declare(services)]
    const ready = await readySession(services, { credential_configurations: ids, expires_in: 3600 })
    const created = Math.floor(services.clock.now.getTime() / 1000)
    const before = await statusOf(services, ISSUER_URL, ready.sessionId)
    expect(before).toEqual({
      session_id: ready.sessionId,
      status: 'STARTED',
      created_at: created,
      // The offer was used, and its access token is good for five minutes.
      expires_at: created + 300,
      offer_fetched_at: created,
      credential_configurations: ids,
      credentials: [],
    })
    expect((await request(ready)).status).toBe(200)
    expect(await statusOf(services, ISSUER_URL, ready.sessionId)).toEqual({
      ...before,
      status: 'SUCCEEDED',
      credentials: [{ credential_configuration_id: ids[0], issued_at: created, credential_status: 'VALID' }],
    })
    const other = { ...ready, configurationId: ids[1] ?? '', nonce: await fetchNonce(services, ready.sessionId) }
    expect((await request(other)).status).toBe(200)
    const after = (await statusOf(services, ISSUER_URL, ready.sessionId)) as { credentials: JsonObject[] }
    expect(after.credentials.map(({ credential_configuration_id: id }) => id)).toEqual(ids)
  })

  it('lasts ten minutes unless told otherwise', async () => {
    const { sessionId } = await startIssuance(services)
    const { created_at: created, expires_at: expires } = await statusOf(services, ISSUER_URL, sessionId)
    expect(Number(expires) - Number(created)).toBe(600)
  })
})

describe('an issuer that is known by its base URL', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices({
      issuer: { issuer: { id: 'https://university.example', display: { name: 'Uni' }, identifier: 'base' } },
    })
  })
  afterAll(() => services.close())

  it('offers by that name, and everything a wallet derives from it works', async () => {
    const { sessionId, configurationId, code, form } = await startedSession(services)
    const offer = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`)
    const { credential_issuer: identifier } = (await offer.json()) as { credential_issuer: string }
    expect(identifier).toBe(ISSUER_URL)
    const metadata = await services.fetch(`${identifier}/.well-known/openid-credential-issuer`)
    const {
      credential_issuer: same,
      nonce_endpoint: nonceUrl,
      credential_configurations_supported: all,
    } = (await metadata.json()) as {
      credential_issuer: string
      nonce_endpoint: string
      credential_configurations_supported: Json
    }
    expect(same).toBe(identifier)
    expect(isObject(all) && Object.hasOwn(all, configurationId)).toBe(true)
    const server = await services.fetch(`${identifier}/.well-known/oauth-authorization-server`)
    const { token_endpoint: tokenUrl } = (await server.json()) as { token_endpoint: string }
    const token = await postForm(services, tokenUrl, form)
    const { access_token: accessToken } = (await token.json()) as { access_token: string }
    const { c_nonce: nonce } = (await (await services.fetch(nonceUrl, { method: 'POST' })).json()) as {
      c_nonce: string
    }
    const ready = { services, sessionId, configurationId, code, form, token: accessToken, nonce }
    const credential = await expectIssued({ ...ready, holder: await holderSigner(), audience: identifier })
    expect(read(credential).payload).toMatchObject({
      iss: 'https://university.example',
      issuer: 'https://university.example',
    })
  })
})

describe('the dates of a credential', () => {
  it.each([
    [86_400, '10:00:00', '11:00:00'],
    [86_399, '10:07:00', '10:08:00'],
    [600, '10:07:00', '10:18:00'],
    [599, '10:07:11', '10:17:11'],
  ])('that lasts for %i seconds are no finer than that needs', async (validity_seconds, from, until) => {
    const services = await startServices()
    services.clock.now = new Date('2026-03-01T10:07:11.123Z')
    const id = await declare(services, { ...configuration, validity_seconds })
    const { payload } = read(await expectIssued(await readySession(services, { credential_configurations: [id] })))
    expect([payload.validFrom, payload.validUntil]).toEqual([
      expect.stringContaining(`T${from}Z`) as string,
      expect.stringContaining(`T${until}Z`) as string,
    ])
    await services.close()
  })
})

describe('the API key', () => {
  it('is the JSON key and not its label, and changes with a restart only', async () => {
    const [one, other] = ['1'.repeat(64), '2'.repeat(64)]
    const withKeys = (authentication: object) => {
      const settings = { integrations: { authentication } }
      return startServices({ issuer: settings, verifier: settings })
    }
    const statuses = (services: Services, url: string, keys: readonly string[]) =>
      Promise.all(
        keys.map(async (key) => (await services.fetch(url, { headers: { authorization: `Bearer ${key}` } })).status),
      )
    const urls = [`${ISSUER_URL}/issuance/oid4vci/status/a`, `${VERIFIER_URL}/presentation/oid4vp/status/a`]
    const before = await withKeys({ [one]: 'shop', [other]: 'desk' })
    for (const url of urls)
      expect(await statuses(before, url, [one, other, 'shop', 'desk', API_KEY])).toEqual([404, 404, 401, 401, 401])
    await before.close()
    const after = await withKeys({ [other]: 'desk' })
    for (const url of urls) expect(await statuses(after, url, [one, other])).toEqual([401, 404])
    await after.close()
    expect(authorization.authorization).toContain(API_KEY)
  })
})
