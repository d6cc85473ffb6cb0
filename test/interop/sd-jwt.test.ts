/**
 * Our SD-JWT against the npm package `@sd-jwt/core`, in each of its roles: as the verifier of what we present, as the
 * holder of what we issue, and as an issuer. And our JWS against `jose`.
 */
import { generateKeyPair, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { compactVerify, importX509 } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readJws } from '../../src/codec/jws.ts'
import { readSdJwt, revealClaims } from '../../src/codec/sd-jwt.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { createSigner } from '../../src/keys/file-signer.ts'
import { toPem } from '../../src/keys/make-certificate.ts'
import type { Signer } from '../../src/keys/signer.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import { startWorld, type World } from '../support/forge.ts'
import { makeKey, VERIFIER_URL } from '../support/services.ts'
import {
  configuration,
  dataset,
  dcqlQuery,
  issueCredential,
  postForm,
  presentationOf,
  startVerification,
  statusOf,
} from '../support/wire.ts'
import { sdJwt } from './sd-jwt.ts'

describe('the package @sd-jwt/core', () => {
  let world: World
  let holderKey: KeyObject
  let holder: Signer
  let credential: string
  beforeAll(async () => {
    world = await startWorld()
    holderKey = await makeKey()
    holder = createSigner(holderKey, [])
    credential = await issueCredential(world.services, holder)
  })
  afterAll(() => world.services.close())

  const request = { client_id: 'x509_hash:us', nonce: 'the-nonce', state: 's', response_uri: '' }

  describe('as the verifier', () => {
    it('accepts a presentation of ours with its key binding, and sees the claims we show', async () => {
      const places = [
        ['credentialSubject', 'given_name'],
        ['credentialSubject', 'degrees', 1],
        ['credentialSubject', 'address'],
      ]
      const text = await presentationOf(credential, holder, request, { now: world.services.clock.now, places })
      const { payload, header, kb } = await sdJwt({ issuer: world.issuerKey }).verify(text, {
        keyBindingNonce: 'the-nonce',
      })
      expect(header).toMatchObject({ typ: 'vc+sd-jwt', alg: 'ES256' })
      expect(payload.credentialSubject).toEqual({ given_name: 'Ada', degrees: ['MSc'], address: { city: 'London' } })
      expect(kb?.header).toEqual({ typ: 'kb+jwt', alg: 'ES256' })
      expect(kb?.payload).toMatchObject({ nonce: 'the-nonce', aud: 'x509_hash:us' })
    })

    it('sees in the whole credential what was put into it', async () => {
      const { payload } = await sdJwt({ issuer: world.issuerKey }).verify(credential, {})
      expect(payload.credentialSubject).toEqual(dataset.credentialSubject)
    })

    it('refuses ours for another nonce, by another issuer, and by another holder', async () => {
      const present = (by: Signer) => presentationOf(credential, by, request, world.services.clock)
      const text = await present(holder)
      await expect(sdJwt({ issuer: world.issuerKey }).verify(text, { keyBindingNonce: 'other' })).rejects.toThrow(
        /nonce/i,
      )
      await expect(sdJwt({ issuer: await makeKey() }).verify(text, { keyBindingNonce: 'the-nonce' })).rejects.toThrow(
        /signature/i,
      )
      const stolen = await present(createSigner(await makeKey(), []))
      await expect(
        sdJwt({ issuer: world.issuerKey }).verify(stolen, { keyBindingNonce: 'the-nonce' }),
      ).rejects.toThrow()
    })
  })

  describe('as the holder', () => {
    it('finds in a credential of ours all that can be shown', async () => {
      const keys = await sdJwt({}).keys(credential)
      for (const key of ['given_name', 'family_name', 'address.city', 'degrees.0', 'degrees.1']) {
        expect(keys).toContain(`credentialSubject.${key}`)
      }
    })

    it('makes a presentation that our verification service accepts', async () => {
      const { services } = world
      const { sessionId, request: asked } = await startVerification(services)
      const text = await sdJwt({ holder: holderKey }).present(
        credential,
        { credentialSubject: { given_name: true, degrees: { 1: true } } },
        {
          kb: {
            payload: { nonce: asked.nonce, aud: asked.client_id, iat: Math.floor(services.clock.now.getTime() / 1000) },
          },
        },
      )
      const response = await postForm(services, asked.response_uri, {
        vp_token: JSON.stringify({ card: [text] }),
        state: asked.state,
      })
      const status = await statusOf(services, VERIFIER_URL, sessionId)
      const report = status.result as VerificationReport
      expect(
        [...report.checks, ...(report.credentials.card?.[0]?.checks ?? [])].filter(
          ({ outcome }) => !['passed', 'not_applicable'].includes(outcome),
        ),
      ).toEqual([])
      expect(response.status).toBe(200)
      expect(report.credentials.card?.[0]?.claims?.credentialSubject).toEqual({ given_name: 'Ada', degrees: ['MSc'] })
    })

    it('is refused by our verification service when it shows too little, or for somebody else', async () => {
      const { services } = world
      const iat = Math.floor(services.clock.now.getTime() / 1000)
      const rows: readonly [object, object, string][] = [
        [{ credentialSubject: { family_name: true } }, {}, 'query.claims'],
        [{ credentialSubject: { given_name: true } }, { nonce: 'other' }, 'holder.nonce'],
        [{ credentialSubject: { given_name: true } }, { aud: 'other' }, 'holder.audience'],
      ]
      for (const [frame, change, check] of rows) {
        const { sessionId, request: asked } = await startVerification(services)
        const payload = { nonce: asked.nonce, aud: asked.client_id, iat, ...change }
        const text = await sdJwt({ holder: holderKey }).present(credential, frame, { kb: { payload } })
        expect(
          (await postForm(services, asked.response_uri, { vp_token: JSON.stringify({ card: [text] }) })).status,
        ).toBe(400)
        const { credentials } = (await statusOf(services, VERIFIER_URL, sessionId)).result as VerificationReport
        expect(credentials.card?.[0]?.checks.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id)).toEqual(
          [check],
        )
      }
    })
  })

  describe('as the issuer', () => {
    it('makes a credential, with decoys, that our wallet holds and our verification service accepts', async () => {
      const { services, issuerKey } = world
      const x5c = readSdJwt(credential).jws.header.x5c
      const now = Math.floor(services.clock.now.getTime() / 1000)
      const payload = {
        '@context': configuration.credential_definition['@context'],
        type: configuration.credential_definition.type,
        issuer: 'http://issuer.localhost',
        iss: 'http://issuer.localhost',
        iat: now,
        exp: now + 3600,
        cnf: { jwk: holder.jwk },
        credentialSubject: { ...dataset.credentialSubject },
      }
      const frame = {
        credentialSubject: {
          _sd: ['given_name', 'family_name', 'address', 'degrees'],
          _sd_decoy: 3,
          address: { _sd: ['city'] },
          degrees: { _sd: [0, 1], _sd_decoy: 2 },
        },
      }
      const theirs = await sdJwt({ issuer: issuerKey }).issue(payload, frame, { header: { typ: 'vc+sd-jwt', x5c } })
      expect(formatOf('jwt_vc_json-ld')?.readHeld(theirs).claims.credentialSubject).toEqual(dataset.credentialSubject)

      const query = {
        credentials: [{ ...dcqlQuery.credentials[0], claims: [{ path: ['credentialSubject', 'address', 'city'] }] }],
      }
      const { sessionId, request: asked } = await startVerification(services, query)
      const places = [['credentialSubject', 'address', 'city']]
      const text = await presentationOf(theirs, holder, asked, { now: services.clock.now, places })
      const response = await postForm(services, asked.response_uri, { vp_token: JSON.stringify({ card: [text] }) })
      const { credentials } = (await statusOf(services, VERIFIER_URL, sessionId)).result as VerificationReport
      expect(
        credentials.card?.[0]?.checks.filter(({ outcome }) => !['passed', 'not_applicable'].includes(outcome)),
      ).toEqual([])
      expect(response.status).toBe(200)
      expect(credentials.card?.[0]?.claims?.credentialSubject).toEqual({ address: { city: 'London' } })
    })
  })
})

describe('the package jose', () => {
  it('verifies what our services sign, with the certificate that comes with it', async () => {
    const world = await startWorld()
    try {
      const { sessionId } = await startVerification(world.services)
      const url = `${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`
      const requestObject = await (await world.services.fetch(url)).text()
      for (const jws of [requestObject, world.credential.split('~')[0] ?? '']) {
        const ours = readJws(jws)
        const [leaf = ''] = ours.header.x5c as string[]
        const key = await importX509(toPem(Buffer.from(leaf, 'base64')), 'ES256')
        const { protectedHeader, payload } = await compactVerify(jws, key, { algorithms: ['ES256'] })
        expect(ours.header).toEqual(protectedHeader)
        const plain = Object.keys(ours.payload).filter((claim) => !claim.startsWith('_sd'))
        expect(Object.keys(revealClaims(ours.payload, []).claims)).toEqual(plain)
        expect(JSON.parse(Buffer.from(payload).toString())).toEqual(ours.payload)
        const { publicKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
        await expect(compactVerify(jws, publicKey)).rejects.toThrow()
      }
    } finally {
      await world.services.close()
    }
  })
})
