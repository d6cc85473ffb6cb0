/**
 * The modules of the OpenID Foundation's conformance suite for verifiers (plan oid4vp-1final-verifier-test-plan),
 * played against our service: each test does what the module of its name does, in every format we verify.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readSdJwt } from '../../src/codec/sd-jwt.ts'
import { haipVerifier } from '../support/haip.ts'
import { drivenFormats } from '../support/oidf-formats.ts'
import { startHttpsServices } from '../support/oidf-issuer.ts'
import {
  ask,
  encryptionKeys,
  expectAccepted,
  expectRejected,
  fetchRequest,
  type HeldByWallet,
  heldCredential,
  requestMistakes,
  respond,
} from '../support/oidf-verifier.ts'
import type { Services } from '../support/services.ts'
import { call, holderSigner } from '../support/wire.ts'

const YEAR = 365 * 86_400

/** The mode is that of the format, unless the profile says otherwise. */
const plans = drivenFormats.flatMap((driven) => [
  ...(driven.format === 'mso_mdoc' ? [] : [{ driven, format: driven.format, mode: 'direct_post', options: {} }]),
  { driven, format: driven.format, mode: 'direct_post.jwt', options: haipVerifier },
])

describe.each(plans)('$format by $mode', ({ driven, mode, options }) => {
  let services: Services
  let held: HeldByWallet
  beforeAll(async () => {
    services = await startHttpsServices('session', options)
    held = await heldCredential(services, driven)
  })
  afterAll(() => services.close())

  it('oid4vp-1final-verifier-happy-flow', async () => {
    const asked = await ask(services, driven)
    expect(requestMistakes(asked)).toEqual([])
    expect(asked.request.response_mode).toBe(mode)
    await expectAccepted(await respond(asked, held))

    const again = await ask(services, driven)
    expect(again.request.nonce).not.toBe(asked.request.nonce)
    expect(again.request.state).not.toBe(asked.request.state)
    const [old, fresh] = [asked, again].map(({ request }) => encryptionKeys(request).map(({ x }) => x))
    expect(fresh?.filter((x) => old?.includes(x))).toEqual([])
  })

  it('oid4vp-1final-verifier-request-uri-fetched-twice', async () => {
    const asked = await ask(services, driven)
    expect((await fetchRequest(services, asked.link)).payload).toEqual(asked.request)
    await expectAccepted(await respond(asked, held))
  })

  it('oid4vp-1final-verifier-request-uri-method-post', async () => {
    const asked = await ask(services, driven, { request_uri_method: 'post' })
    expect(asked.link.searchParams.get('request_uri_method')).toBe('post')
    const walletNonce = 'nonce-of-the-wallet-0123456789'
    const jws = await fetchRequest(services, asked.link, { wallet_nonce: walletNonce, unknown: 'parameter' })
    expect(jws.payload).toEqual({ ...asked.request, wallet_nonce: walletNonce })
    expect(requestMistakes({ ...asked, jws, request: jws.payload })).toEqual([])
    await expectAccepted(await respond(asked, held))
  })

  it('oid4vp-1final-verifier-present-credential-without-status', async () => {
    const configuration = { ...driven.configuration, revocable: false }
    const heldWithout = await heldCredential(services, { ...driven, configuration })
    await expectAccepted(await respond(await ask(services, driven), heldWithout))
  })

  it('oid4vp-1final-verifier-present-revoked-credential', async () => {
    const heldAndRevoked = await heldCredential(services, driven)
    const { origin, pathname } = new URL(heldAndRevoked.issuer)
    const revoked = await call(services, `${origin}/credential-status/revoke/${pathname.split('/').at(-1) ?? ''}`, {})
    expect(revoked.status).toBe(200)
    // The list that an earlier test looked at is kept for its ttl.
    services.clock.now = new Date(services.clock.now.getTime() + 301_000)
    const asked = await ask(services, driven)
    await expectRejected(asked, await respond(asked, heldAndRevoked), ['status.valid', /revoked/])
    await expectAccepted(await respond(await ask(services, driven), held))
  })
})

/** An SD-JWT alone has a JWT by the holder. */
const sdJwts = plans.filter(({ format }) => format !== 'mso_mdoc')

describe.each(sdJwts)('$format with a key binding, by $mode', ({ driven, options }) => {
  let services: Services
  let held: HeldByWallet
  beforeAll(async () => {
    services = await startHttpsServices('session', options)
    held = await heldCredential(services, driven)
  })
  afterAll(() => services.close())
  const seconds = () => Math.floor(services.clock.now.getTime() / 1000)

  it('oid4vp-1final-verifier-minimal-cnf-jwk', async () => {
    const { cnf } = readSdJwt(String(held.credential)).jws.payload
    expect(cnf).toEqual({ jwk: { kty: 'EC', crv: 'P-256', x: held.holder.jwk.x, y: expect.any(String) as unknown } })
    await expectAccepted(await respond(await ask(services, driven), held))
  })

  it('oid4vp-1final-verifier-invalid-kb-jwt-signature', async () => {
    const asked = await ask(services, driven)
    await expectRejected(asked, await respond(asked, held, { thief: await holderSigner() }), [
      'holder.signature',
      /^the signature of the holder is not by the bound key: another key made it, or what it signed was changed$/,
    ])
  })

  it('oid4vp-1final-verifier-invalid-credential-signature', async () => {
    const asked = await ask(services, driven)
    await expectRejected(asked, await respond(asked, held, { forgedCredential: true }), [
      'issuer.signature',
      /^the signature is not by the key of CN=.+: another key made it, or what it signed was changed$/,
    ])
  })

  it('oid4vp-1final-verifier-invalid-sd-hash', async () => {
    const asked = await ask(services, driven)
    const binding = { sd_hash: 'X5ZzdHJhbmdlIGhhc2ggb2Ygc29tZXRoaW5nIGVsc2U' }
    await expectRejected(asked, await respond(asked, held, { binding }), [
      'holder.sd_hash',
      /sd_hash .* is not the hash/,
    ])
  })

  it('oid4vp-1final-verifier-invalid-kb-jwt-nonce', async () => {
    const asked = await ask(services, driven)
    await expectRejected(asked, await respond(asked, held, { binding: { nonce: 'another-nonce' } }), [
      'holder.nonce',
      /nonce .* is not the one of the request/,
    ])
  })

  it('oid4vp-1final-verifier-invalid-kb-jwt-aud', async () => {
    const asked = await ask(services, driven)
    await expectRejected(asked, await respond(asked, held, { binding: { aud: 'https://another.example' } }), [
      'holder.audience',
      /^the audience of the holder's proof is https:\/\/another\.example, and not x509_hash:[\w-]{43}$/,
    ])
  })

  it('oid4vp-1final-verifier-kb-jwt-iat-in-past', async () => {
    const asked = await ask(services, driven)
    await expectRejected(asked, await respond(asked, held, { binding: { iat: seconds() - YEAR } }), [
      'holder.fresh',
      /older than the session/,
    ])
  })

  it('oid4vp-1final-verifier-kb-jwt-iat-in-future', async () => {
    const asked = await ask(services, driven)
    await expectRejected(asked, await respond(asked, held, { binding: { iat: seconds() + YEAR } }), [
      'holder.fresh',
      /from the future/,
    ])
  })
})

describe('mso_mdoc by direct_post.jwt, signed by a device', () => {
  it('oid4vp-1final-verifier-invalid-session-transcript', async () => {
    const services = await startHttpsServices('session')
    const [driven] = drivenFormats.filter(({ format }) => format === 'mso_mdoc')
    if (driven === undefined) throw new Error('there is no mso_mdoc')
    const held = await heldCredential(services, driven)
    for (const binding of [
      { nonce: 'another-nonce' },
      { client_id: 'x509_hash:another' },
      { response_uri: 'https://another.example' },
    ]) {
      const asked = await ask(services, driven)
      await expectRejected(asked, await respond(asked, held, { binding }), [
        'holder.signature',
        /another key made it, or it is for another request, verifier or encryption key$/,
      ])
    }
    await expectAccepted(await respond(await ask(services, driven), held))
    await services.close()
  })
})
