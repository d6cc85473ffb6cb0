/**
 * The modules of the OpenID Foundation's conformance suite for issuers (plan oid4vci-1_0-issuer-test-plan,
 * pre-authorized code), played against our service: each test does what the module of its name does, in every format we
 * issue.
 */
import { createPublicKey } from 'node:crypto'
import { exportJWK, generateKeyPair } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import { readJws } from '../../src/codec/jws.ts'
import { parseCertificate } from '../../src/keys/certificate.ts'
import { isJwsSignedBy } from '../../src/keys/signature.ts'
import { type Attester, attestationOf, makeAttester, trusting } from '../support/attestation.ts'
import type { JwtChanges } from '../support/jwt.ts'
import { type DrivenFormat, drivenFormats, shannonBits } from '../support/oidf-formats.ts'
import {
  authorize,
  credentialIn,
  credentialResponse,
  type DrivenServices,
  decryptResponse,
  discover,
  documentAt,
  expectError,
  type Identifier,
  nonceFor,
  proofFor,
  sendNotification,
  startHttpsHaip,
  startHttpsServices,
  textOf,
  walletWithToken,
  wellKnown,
} from '../support/oidf-issuer.ts'
import { keyMistakes, metadataMistakes, serverMistakes } from '../support/oidf-metadata.ts'
import type { ServiceOptions } from '../support/services.ts'
import { readList, referenceOf } from '../support/status.ts'
import { GRANT, holderSigner } from '../support/wire.ts'

const formatsOf = (...names: readonly string[]) => drivenFormats.filter(({ format }) => names.includes(format))
type Start = (more?: ServiceOptions) => Promise<DrivenServices>
interface Plan {
  readonly identifier: Identifier
  readonly by: string
  readonly driven: DrivenFormat
  readonly start: Start
}

const preAuthorized = (identifier: Identifier, driven: DrivenFormat): Plan => {
  const start: Start = (more) => startHttpsServices(identifier, more)
  return { identifier, by: 'with the pre-authorized code', driven, start }
}

const byHaip = (identifier: Identifier, driven: DrivenFormat, isWalletInitiated = false): Plan => {
  const start: Start = (more) => startHttpsHaip(identifier, isWalletInitiated, more)
  return { identifier, by: `by HAIP, started by the ${isWalletInitiated ? 'wallet' : 'issuer'}`, driven, start }
}

// The way to a token and the name of the issuer depend on no format: each way and name has two formats or more.
const plans = [
  ...drivenFormats.map((driven) => preAuthorized('base', driven)),
  ...formatsOf('mso_mdoc', 'jwt_vc_json-ld').map((driven) => preAuthorized('session', driven)),
  ...formatsOf('mso_mdoc').map((driven) => byHaip('base', driven)),
  ...formatsOf('dc+sd-jwt').map((driven) => byHaip('session', driven)),
  ...formatsOf('dc+sd-jwt', 'mso_mdoc').map((driven) => byHaip('base', driven, true)),
].map((plan) => ({ ...plan, format: plan.driven.format }))

describe.each(plans)('$format from an issuer known by its $identifier, $by', ({ identifier, driven, start }) => {
  let services: DrivenServices
  beforeAll(async () => {
    services = await start()
  })
  afterAll(() => services.close())

  it('oid4vci-1_0-issuer-metadata-test', async () => {
    // A configuration without a scope is asked for by authorization details, which the authorization server then has to
    // take.
    const { scope, ...unscoped } = driven.configuration
    // RFC 6749 section 3.3
    expect(scope).toMatch(/^[!#-[\]-~]+$/)
    // HAIP has scopes alone.
    for (const configuration of services.plan ? [driven.configuration] : [driven.configuration, unscoped]) {
      const { metadata, server, offer } = await discover(services, { ...driven, configuration })
      const issuer = textOf(offer, 'credential_issuer')
      expect(metadataMistakes(metadata, issuer)).toEqual([])
      const servers = (metadata.authorization_servers ?? [issuer]) as readonly string[]
      for (const each of servers) {
        const document = await documentAt(services, wellKnown(each, 'oauth-authorization-server'))
        const grant = services.plan ? 'authorization_code' : GRANT
        expect(serverMistakes(document, each, metadata, grant)).toEqual([])
        expect(keyMistakes(await documentAt(services, textOf(server, 'jwks_uri')))).toEqual([])
      }
    }
  })

  it('oid4vci-1_0-issuer-metadata-test-signed', async () => {
    const { metadata, offer } = await discover(services, driven)
    const issuer = textOf(offer, 'credential_issuer')
    const headers = { accept: 'application/jwt' }
    const response = await services.fetch(wellKnown(issuer, 'openid-credential-issuer'), { headers })
    expect(response.status).toBe(200)
    // The suite would skip the rest for JSON: signing is a choice of the issuer, and ours is made.
    expect(response.headers.get('content-type')).toMatch(/^application\/jwt\b/)
    const jws = readJws(await response.text())
    expect(jws.header).toMatchObject({ typ: 'openidvci-issuer-metadata+jwt', alg: 'ES256' })
    const [leaf = ''] = jws.header.x5c as readonly string[]
    const key = parseCertificate(Buffer.from(leaf, 'base64')).publicKey
    expect(isJwsSignedBy(jws, createPublicKey(key.export({ type: 'spki', format: 'pem' })))).toBe(true)
    expect(jws.payload).toMatchObject({ ...metadata, sub: issuer })
    expect(jws.payload.iat).toBeLessThanOrEqual(Math.floor(services.clock.now.getTime() / 1000))
  })

  it('oid4vci-1_0-issuer-happy-flow', async () => {
    const found = await discover(services, driven)
    const described = found.metadata.credential_configurations_supported as JsonObject
    const ids = found.offer.credential_configuration_ids as readonly string[]
    expect(ids.length).toBeGreaterThan(0)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => !Object.hasOwn(described, id))).toEqual([])
    const members = ['credential_issuer', 'credential_configuration_ids', 'grants']
    expect(Object.keys(found.offer).filter((name) => !members.includes(name))).toEqual([])

    const wallet = await authorize(found)
    const { token_type: type, expires_in: seconds } = wallet.token
    expect(type).toBe(services.plan ? 'DPoP' : 'Bearer')
    expect(seconds).toBeGreaterThan(0)
    // OpenID4VCI 1.0, Protecting the Access Token: a bearer token that lives for longer is not for use without a key.
    expect(seconds).toBeLessThanOrEqual(300)
    const known = ['access_token', 'token_type', 'expires_in', 'refresh_token', 'authorization_details', 'scope']
    expect(Object.keys(wallet.token).filter((name) => !known.includes(name))).toEqual([])
    expect(shannonBits(textOf(wallet.token, 'access_token'))).toBeGreaterThan(96)
    expect(shannonBits(await nonceFor(wallet))).toBeGreaterThan(96)

    const answer = await credentialResponse(wallet)
    const { notification_id: id } = (await answer.clone().json()) as JsonObject
    const credential = await credentialIn(answer)
    expect(driven.mistakesIn(credential, wallet.holder.jwk, services.clock.now)).toEqual([])
    const { uri, idx } = referenceOf(driven.format, String(credential)) ?? expect.fail('it has no status')
    expect(uri).toMatch(/^https:/)
    expect((await readList(services, uri))[idx]).toBe(0)
    expect((await sendNotification(wallet, { notification_id: id, event: 'credential_accepted' })).status).toBe(204)
    // The encrypted variant, compressed or not.
    const { privateKey, jwk } = await responseKey()
    for (const more of [{ enc: 'A128GCM' }, { enc: 'A256GCM' }, { enc: 'A128GCM', zip: 'DEF' }]) {
      const members = { credential_response_encryption: { jwk, ...more } }
      const response = await credentialResponse(wallet, { members, encrypted: more })
      const encrypted = await credentialIn(await decryptResponse(response, privateKey))
      expect(driven.mistakesIn(encrypted, wallet.holder.jwk, services.clock.now)).toEqual([])
    }
  })

  it('with a token that is bound to a key, the happy flow', async () => {
    const wallet = await authorize(await discover(services, driven), await holderSigner())
    expect(wallet.token.token_type).toBe('DPoP')
    const response = await credentialResponse(wallet)
    const { notification_id: id } = (await response.clone().json()) as JsonObject
    const credential = await credentialIn(response)
    expect(driven.mistakesIn(credential, wallet.holder.jwk, services.clock.now)).toEqual([])
    expect((await sendNotification(wallet, { notification_id: id, event: 'credential_accepted' })).status).toBe(204)
  })

  it('oid4vci-1_0-issuer-happy-flow-additional-requests', async () => {
    const wallet = await walletWithToken(services, driven)
    const seen = new Set<unknown>()
    for (const accept of ['*/*', 'application/json', 'application/json;q=0.9, text/html', 'text/html']) {
      const credential = await credentialIn(await credentialResponse(wallet, { headers: { accept } }))
      expect(driven.mistakesIn(credential, wallet.holder.jwk, services.clock.now)).toEqual([])
      seen.add(credential)
    }
    expect(seen.size).toBe(4)
  })

  it('oid4vci-1_0-issuer-happy-flow-multiple-clients', async () => {
    const { clock } = services
    const before = clock.now
    clock.now = new Date(Math.ceil(before.getTime() / 3_600_000) * 3_600_000 + 600_000)
    try {
      const [first, second] = [await discover(services, driven), await discover(services, driven)]
      const wallets = [await authorize(first), await authorize(second)]
      const times: JsonObject[] = []
      for (const wallet of wallets) {
        const credential = await credentialIn(await credentialResponse(wallet))
        expect(driven.mistakesIn(credential, wallet.holder.jwk, clock.now)).toEqual([])
        times.push(driven.timesOf(credential))
        clock.now = new Date(clock.now.getTime() + 97_000)
      }
      expect(Object.keys(times[0] ?? {}).length).toBeGreaterThan(1)
      expect(times[0]).toEqual(times[1])
      const issuers = wallets.map(({ offer }) => offer.credential_issuer)
      expect(new Set(issuers).size).toBe(identifier === 'base' ? 1 : 2)
    } finally {
      clock.now = before
    }
  })

  it('oid4vci-1_0-issuer-happy-flow-skip-notification', async () => {
    const wallet = await walletWithToken(services, driven)
    await credentialIn(await credentialResponse(wallet))
    // The wallet says nothing of what became of it, and may still ask for another.
    await credentialIn(await credentialResponse(wallet))
  })

  it('oid4vci-1_0-issuer-batch-issuance', async () => {
    const batched = { ...driven, configuration: { ...driven.configuration, batch_size: 3 } }
    const wallet = await walletWithToken(services, batched)
    expect(wallet.metadata.batch_credential_issuance).toEqual({ batch_size: 3 })
    const holders = [await holderSigner(), await holderSigner(), await holderSigner()]
    const nonce = await nonceFor(wallet)
    const proofs = holders.map((holder) => proofFor({ ...wallet, holder }, { payload: { nonce } }))
    const response = await credentialResponse(wallet, { members: { proofs: { jwt: await Promise.all(proofs) } } })
    const { credentials } = (await response.json()) as { readonly credentials: readonly { credential: string }[] }
    expect(credentials).toHaveLength(3)
    const times = holders.map(({ jwk }, index) => {
      const { credential = '' } = credentials[index] ?? {}
      expect(driven.mistakesIn(credential, jwk, services.clock.now)).toEqual([])
      return driven.timesOf(credential)
    })
    expect(times).toEqual([times[0], times[0], times[0]])
    const entries = credentials.map(({ credential }) => JSON.stringify(referenceOf(driven.format, credential)))
    expect(new Set(entries).size).toBe(3)
    const disclosures = credentials.flatMap(({ credential }) => credential.split('~').slice(1, -1))
    expect(new Set(disclosures).size).toBe(disclosures.length)
    // And a single one, as before.
    await credentialIn(await credentialResponse(wallet))
  })

  it('oid4vci-1_0-issuer-fail-invalid-nonce', async () => {
    const wallet = await walletWithToken(services, driven)
    const members = { proofs: { jwt: [await proofFor(wallet, { payload: { nonce: 'dGhlIG5vbmNlIG9mIG5vYm9keQ' } })] } }
    await expectError(await credentialResponse(wallet, { members }), 'invalid_nonce')
    await credentialIn(await credentialResponse(wallet))
  })

  it('oid4vci-1_0-issuer-fail-invalid-jwt-proof-signature', async () => {
    const wallet = await walletWithToken(services, driven)
    const [proof, other] = [await proofFor(wallet), await proofFor(wallet, { thief: await holderSigner() })]
    const flipped = `${proof.slice(0, -10)}${proof.at(-10) === 'A' ? 'B' : 'A'}${proof.slice(-9)}`
    for (const jwt of [flipped, other]) {
      await expectError(await credentialResponse(wallet, { members: { proofs: { jwt: [jwt] } } }), 'invalid_proof')
    }
    await credentialIn(await credentialResponse(wallet))
  })

  it('oid4vci-1_0-issuer-fail-missing-proof', async () => {
    const wallet = await walletWithToken(services, driven)
    await expectError(await credentialResponse(wallet, { members: { proofs: undefined } }), 'invalid_proof')
    await credentialIn(await credentialResponse(wallet))
  })

  it('oid4vci-1_0-issuer-fail-unknown-credential-configuration', async () => {
    const wallet = await walletWithToken(services, driven)
    const members = { credential_configuration_id: 'configuration-of-nobody' }
    await expectError(await credentialResponse(wallet, { members }), 'unknown_credential_configuration')
    await credentialIn(await credentialResponse(wallet))
  })

  it('oid4vci-1_0-issuer-fail-unknown-credential-identifier', async () => {
    const wallet = await walletWithToken(services, driven)
    const members = { credential_configuration_id: undefined, credential_identifier: 'identifier-of-nobody' }
    await expectError(await credentialResponse(wallet, { members }), 'unknown_credential_identifier')
    await credentialIn(await credentialResponse(wallet))
  })

  it('oid4vci-1_0-issuer-fail-unsupported-encryption-algorithm', async () => {
    const wallet = await walletWithToken(services, driven)
    const { jwk } = await responseKey()
    const encrypted = { enc: 'A128GCM' }
    for (const wanted of [
      { jwk: { ...jwk, alg: 'ECDH-ES+UNKNOWN' }, enc: 'A128GCM' },
      { jwk, enc: 'A000GCM' },
    ]) {
      const members = { credential_response_encryption: wanted }
      await expectError(await credentialResponse(wallet, { members, encrypted }), 'invalid_encryption_parameters')
      // In the clear it is refused for that alone.
      await expectError(await credentialResponse(wallet, { members }), 'invalid_encryption_parameters')
    }
    await credentialIn(await credentialResponse(wallet))
  })

  it('oid4vci-1_0-issuer-fail-on-access-token-in-query', async () => {
    const wallet = await walletWithToken(services, driven)
    const query = `?access_token=${encodeURIComponent(textOf(wallet.token, 'access_token'))}`
    const unproved = { ...wallet, dpopKey: undefined }
    const response = await credentialResponse(unproved, { query, headers: { authorization: '' } })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toMatch(services.plan ? /^DPoP algs="/ : /^Bearer\b/)
    await credentialIn(await credentialResponse(wallet))
  })
})

/** Makes the key of a wallet that wants its answers encrypted. */
async function responseKey() {
  const { privateKey, publicKey } = await generateKeyPair('ECDH-ES', { crv: 'P-256' })
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid: 'suite', use: 'enc', alg: 'ECDH-ES' } }
}

const attestedPlans = plans.filter(({ identifier }) => identifier === 'base')

describe.each(attestedPlans)('$format for keys that are attested, $by', ({ driven, start }) => {
  const attested = { ...driven, configuration: { ...driven.configuration, key_attestations_required: {} } }
  let services: DrivenServices
  let attester: Attester
  beforeAll(async () => {
    attester = await makeAttester()
    services = await start(trusting(attester))
  })
  afterAll(() => services.close())

  it('oid4vci-1_0-issuer-fail-invalid-key-attestation-signature', async () => {
    const wallet = await walletWithToken(services, attested)
    const by = async (changes: JwtChanges) => {
      const nonce = await nonceFor(wallet)
      const attestation = await attestationOf(attester, [wallet.holder.jwk], services.clock.now, {
        ...changes,
        payload: { nonce },
      })
      const jwt = await proofFor(wallet, { header: { key_attestation: attestation }, payload: { nonce } })
      return credentialResponse(wallet, { members: { proofs: { jwt: [jwt] } } })
    }
    const thief = await holderSigner()
    await expectError(await by({ sign: (data) => thief.sign(data) }), 'invalid_proof')
    const credential = await credentialIn(await by({}))
    expect(driven.mistakesIn(credential, wallet.holder.jwk, services.clock.now)).toEqual([])
  })
})
