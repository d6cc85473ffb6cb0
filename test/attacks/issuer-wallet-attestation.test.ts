/**
 * Client authentication by wallet attestation: each attack changes one thing of a right request, is refused by the
 * check that is about it, has no effect, and the right request with the same code still gets its token.
 * Attestation-Based Client Authentication, Verification and Processing; HAIP 1.0, Wallet Attestation.
 */
import { createPublicKey } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toBase64url } from '../../src/codec/base64url.ts'
import { clientChecks, clientReadingChecks } from '../../src/issuer/access/client-checks.ts'
import { parseCertificate } from '../../src/keys/certificate.ts'
import { EXTENDED_KEY_USAGE } from '../../src/keys/certificate-purpose.ts'
import { createSigner } from '../../src/keys/file-signer.ts'
import { makeSelfSignedCertificate } from '../../src/keys/make-certificate.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { type Attester, attesterCertificate } from '../support/attestation.ts'
import { dpopNonce, dpopProof } from '../support/dpop.ts'
import { entries, makeNetwork, signList } from '../support/foreign-status.ts'
import { type CertificateOptions, certify } from '../support/forge.ts'
import {
  dump,
  expectRefusal,
  expectWithoutEffect,
  type Session,
  startedSession,
  TOKEN_ENDPOINT,
} from '../support/issuance.ts'
import { header, type JwtChanges, payload } from '../support/jwt.ts'
import { ISSUER_URL, makeKey, type Services, startServices } from '../support/services.ts'
import {
  type AttestedHeaders,
  attestedHeaders,
  fetchChallenge,
  makeInstance,
  makeProvider,
  popOf,
  postAttested,
  trustingProvider,
  WALLET,
  type WalletInstance,
  walletAttestation,
} from '../support/wallet-attestation.ts'
import { holderSigner, postForm, statusOf } from '../support/wire.ts'

const network = makeNetwork()
const LIST = 'https://status.wallet.example/1'
const DAY = 86_400

let services: Services
let provider: Attester
let stranger: Attester
let instance: WalletInstance
let other: WalletInstance
let thief: Signer

beforeAll(async () => {
  ;[provider, stranger, thief] = await Promise.all([makeProvider(), makeProvider(), holderSigner()])
  services = await startServices({ ...trustingProvider(provider), outbound: network.outbound })
  ;[instance, other] = [await makeInstance(provider), await makeInstance(provider)]
})
afterAll(() => services.close())

interface Attack {
  readonly attack: string
  /** The check that fails first. */
  readonly fails: string
  readonly why: RegExp
  readonly attestation?: () => JwtChanges
  readonly pop?: () => JwtChanges
  /** The headers, when one changed JWT is not all. */
  readonly headers?: (
    right: AttestedHeaders,
    session: Session,
  ) => Promise<Record<string, string>> | Record<string, string>
  readonly form?: Readonly<Record<string, string>>
}

const seconds = (more: number): number => Math.floor(services.clock.now.getTime() / 1000) + more
const at = (name: string, more: number) => (): JwtChanges => ({ payload: { [name]: seconds(more) } })
const certificate = (options: Parameters<typeof attesterCertificate>[1]) => (): JwtChanges => ({
  header: { x5c: [attesterCertificate(provider, options)] },
})
const deep = `${'['.repeat(2000)}${']'.repeat(2000)}`

const attacks: readonly Attack[] = [
  {
    attack: 'only the attestation',
    fails: 'attestation.well_formed',
    why: /PoP: it is missing/,
    headers: ({ 'oauth-client-attestation': attestation }) => ({ 'oauth-client-attestation': attestation }),
  },
  {
    attack: 'only the proof of possession',
    fails: 'attestation.well_formed',
    why: /Attestation: it is missing/,
    headers: ({ 'oauth-client-attestation-pop': pop }) => ({ 'oauth-client-attestation-pop': pop }),
  },
  {
    attack: 'two attestations',
    fails: 'attestation.well_formed',
    why: /send exactly one/,
    headers: (right) => ({
      ...right,
      'oauth-client-attestation': `${right['oauth-client-attestation']}, ${right['oauth-client-attestation']}`,
    }),
  },
  {
    attack: 'an attestation that is huge',
    fails: 'attestation.well_formed',
    why: /longer than 8192/,
    attestation: payload({ filler: 'x'.repeat(7000) }),
  },
  {
    attack: 'an attestation that is deep',
    fails: 'attestation.well_formed',
    why: /payload/,
    headers: (right) => ({
      ...right,
      'oauth-client-attestation': right['oauth-client-attestation'].replace(/\.[^.]*\./, `.${toBase64url(deep)}.`),
    }),
  },
  {
    attack: 'an attestation that is not a JWT',
    fails: 'attestation.well_formed',
    why: /three parts/,
    headers: (right) => ({ ...right, 'oauth-client-attestation': 'wallet' }),
  },
  { attack: 'no typ', fails: 'attestation.type', why: /typ must be/, attestation: header({ typ: undefined }) },
  {
    attack: 'the typ of a key attestation',
    fails: 'attestation.type',
    why: /typ/,
    attestation: header({ typ: 'key-attestation+jwt' }),
  },
  {
    attack: 'the typ of the proof',
    fails: 'attestation.type',
    why: /typ/,
    attestation: header({ typ: 'oauth-client-attestation-pop+jwt' }),
  },
  {
    attack: 'alg none and no signature',
    fails: 'attestation.algorithm',
    why: /alg must be one of/,
    attestation: () => ({ header: { alg: 'none' }, sign: () => Promise.resolve(new Uint8Array()) }),
  },
  { attack: 'a symmetric alg', fails: 'attestation.algorithm', why: /alg/, attestation: header({ alg: 'HS256' }) },
  {
    attack: 'the alg of another key',
    fails: 'attestation.signature',
    why: /signature/,
    attestation: header({ alg: 'ES384' }),
  },
  { attack: 'no exp', fails: 'attestation.validity', why: /exp must be/, attestation: payload({ exp: undefined }) },
  {
    attack: 'an attestation that has expired',
    fails: 'attestation.validity',
    why: /expired/,
    attestation: at('exp', -3600),
  },
  {
    attack: 'an attestation that begins later',
    fails: 'attestation.validity',
    why: /not valid yet/,
    attestation: at('nbf', 3600),
  },
  {
    attack: 'an attestation from the future',
    fails: 'attestation.validity',
    why: /from the future/,
    attestation: at('iat', 3600),
  },
  { attack: 'no sub', fails: 'attestation.client', why: /sub must be/, attestation: payload({ sub: undefined }) },
  { attack: 'an empty sub', fails: 'attestation.client', why: /sub must be/, attestation: payload({ sub: '' }) },
  {
    attack: 'a sub of 513 characters',
    fails: 'attestation.client',
    why: /sub must be/,
    attestation: payload({ sub: 'a'.repeat(513) }),
  },
  {
    attack: 'a client_id that differs',
    fails: 'attestation.client',
    why: /client_id/,
    form: { client_id: 'https://other.example' },
  },
  { attack: 'no certificate', fails: 'attestation.signer', why: /x5c/, attestation: header({ x5c: undefined }) },
  { attack: 'an empty x5c', fails: 'attestation.signer', why: /x5c/, attestation: header({ x5c: [] }) },
  {
    attack: 'an attestation by another provider',
    fails: 'attestation.signer',
    why: /not trusted/,
    headers: async (right) => ({
      ...right,
      'oauth-client-attestation': await walletAttestation({ ...instance, provider: stranger }, services.clock.now),
    }),
  },
  {
    attack: 'an attestation that the wallet made for itself',
    fails: 'attestation.signer',
    why: /not trusted/,
    headers: async (right) => {
      const privateKey = await makeKey()
      const certificate = makeSelfSignedCertificate({
        privateKey,
        publicKey: createPublicKey(privateKey),
        commonName: 'Wallet Provider',
        notBefore: new Date(Date.now() - DAY * 1000),
        notAfter: new Date(Date.now() + DAY * 1000),
        serial: Buffer.of(1, 2, 3),
      })
      const self = { ...provider, signer: createSigner(privateKey, []), x5c: [certificate.toString('base64')] }
      return {
        ...right,
        'oauth-client-attestation': await walletAttestation({ ...instance, provider: self }, services.clock.now),
      }
    },
  },
  {
    attack: 'a certificate below one that is not a CA',
    fails: 'attestation.signer',
    why: /is not a CA/,
    headers: async (right) => {
      const key = await makeKey()
      const leaf = leafOf(provider)
      const below = certify(leaf, key)
      const self = {
        ...provider,
        signer: createSigner(key, []),
        x5c: [below.toString('base64'), leaf.certificate],
      }
      return {
        ...right,
        'oauth-client-attestation': await walletAttestation({ ...instance, provider: self }, services.clock.now),
      }
    },
  },
  {
    attack: 'a certificate that has expired',
    fails: 'attestation.signer',
    why: /expired/,
    attestation: certificate({ until: -1 }),
  },
  {
    attack: 'a certificate that may not sign',
    fails: 'attestation.signer',
    why: /does not allow digitalSignature/,
    attestation: certificate({ usages: ['keyCertSign'] }),
  },
  {
    attack: 'a certificate for another purpose',
    fails: 'attestation.signer',
    why: /does not allow signing attestations/,
    attestation: certificate({ purposes: [EXTENDED_KEY_USAGE.ocspSigning] }),
  },
  {
    attack: 'a certificate of a TLS server',
    fails: 'attestation.signer',
    why: /is that of a TLS server; sign attestations with another one/,
    attestation: certificate({ purposes: [EXTENDED_KEY_USAGE.tlsServer], isCritical: false }),
  },
  {
    attack: 'a signature by another key',
    fails: 'attestation.signature',
    why: /signature/,
    attestation: () => ({ sign: (data) => stranger.signer.sign(data) }),
  },
  {
    attack: 'a signature by the key of the wallet',
    fails: 'attestation.signature',
    why: /signature/,
    attestation: () => ({ sign: (data) => instance.key.sign(data) }),
  },
  { attack: 'no cnf', fails: 'attestation.key', why: /cnf/, attestation: payload({ cnf: undefined }) },
  {
    attack: 'a private key in cnf',
    fails: 'attestation.key',
    why: /cnf\.jwk/,
    attestation: () => ({ payload: { cnf: { jwk: { ...instance.key.jwk, d: 'AA' } } } }),
  },
  {
    attack: 'the attestation of another instance, and a proof by the own key',
    fails: 'pop.signature',
    why: /signature/,
    headers: async (right) => ({
      ...right,
      'oauth-client-attestation': await walletAttestation(other, services.clock.now),
    }),
  },
  {
    attack: 'a proof by another key that brings that key along',
    fails: 'pop.signature',
    why: /signature/,
    pop: () => ({ header: { jwk: { ...thief.jwk } }, sign: (data) => thief.sign(data) }),
  },
  { attack: 'a proof of another typ', fails: 'pop.type', why: /typ must be/, pop: header({ typ: 'dpop+jwt' }) },
  {
    attack: 'a proof with alg none',
    fails: 'pop.algorithm',
    why: /alg/,
    pop: () => ({ header: { alg: 'none' }, sign: () => Promise.resolve(new Uint8Array()) }),
  },
  {
    attack: 'a proof for another issuer',
    fails: 'pop.audience',
    why: /aud/,
    pop: payload({ aud: 'https://issuer.example' }),
  },
  {
    attack: 'a proof for the session of somebody else',
    fails: 'pop.audience',
    why: /aud/,
    pop: payload({ aud: `${ISSUER_URL}/another` }),
  },
  {
    attack: 'a proof for this issuer and another',
    fails: 'pop.audience',
    why: /aud/,
    pop: payload({ aud: [ISSUER_URL, 'https://issuer.example'] }),
  },
  { attack: 'a proof without aud', fails: 'pop.audience', why: /aud/, pop: payload({ aud: undefined }) },
  { attack: 'a stale proof', fails: 'pop.fresh', why: /too old/, pop: at('iat', -301) },
  { attack: 'a proof from the future', fails: 'pop.fresh', why: /future/, pop: at('iat', 3600) },
  { attack: 'a proof that has expired', fails: 'pop.fresh', why: /expired/, pop: at('exp', -60) },
  { attack: 'a proof that begins later', fails: 'pop.fresh', why: /not valid yet/, pop: at('nbf', 61) },
  { attack: 'a proof without iat', fails: 'pop.fresh', why: /iat/, pop: payload({ iat: undefined }) },
  { attack: 'a proof without jti', fails: 'pop.id', why: /jti/, pop: payload({ jti: undefined }) },
  { attack: 'a proof with an empty jti', fails: 'pop.id', why: /jti/, pop: payload({ jti: '' }) },
]

/** Returns the certificate of the provider's key, with what another certificate below it is made of. */
function leafOf({ key, x5c }: Attester) {
  const [certificate = ''] = x5c
  return { key, certificate, name: parseCertificate(Buffer.from(certificate, 'base64')).subject }
}

const tokenBody = { access_token: expect.any(String) as string, token_type: 'Bearer', expires_in: 300 }

async function expectToken(
  session: Session,
  headers: Readonly<Record<string, string>>,
  form = session.form,
  more = {},
) {
  const response = await postAttested(session, headers, form)
  const body = (await response.json()) as Record<string, unknown>
  expect([response.status, body]).toEqual([200, { ...tokenBody, ...more }])
  return body
}

describe('a wallet that has to authenticate itself', () => {
  it('gets a token for its attestation and a proof by the attested key', async () => {
    const session = await startedSession(services)
    const form = { ...session.form, client_id: WALLET }
    const headers = await attestedHeaders(instance, session)
    const response = await postAttested(session, headers, form)
    expect([response.status, await response.json()]).toEqual([200, tokenBody])
    expect(response.headers.get('oauth-client-attestation-challenge')).toMatch(/^[\w-]{30}$/)
    const stored = await services.issuerStore.get('issuance_session', session.sessionId)
    expect(stored?.value.client).toEqual({ id: WALLET, instance: expect.stringMatching(/^[\w-]{43}$/) as string })
  })

  it('gets it with an empty client_id, which is an absent one', async () => {
    const session = await startedSession(services)
    const form = { ...session.form, client_id: '' }
    const response = await postAttested(session, await attestedHeaders(instance, session), form)
    expect([response.status, await response.json()]).toEqual([200, tokenBody])
  })

  it('finds in the metadata what it needs for that', async () => {
    const session = await startedSession(services)
    for (const path of ['', `/${session.sessionId}`]) {
      const response = await services.fetch(`${ISSUER_URL}/.well-known/oauth-authorization-server${path}`)
      expect(await response.json()).toMatchObject({
        'pre-authorized_grant_anonymous_access_supported': false,
        token_endpoint_auth_methods_supported: ['attest_jwt_client_auth'],
        challenge_endpoint: `${ISSUER_URL}/auth/challenge`,
        client_attestation_signing_alg_values_supported: ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
        client_attestation_pop_signing_alg_values_supported: ['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
      })
    }
  })

  it('gets a challenge by POST and by GET, with a nonce for its DPoP proof, and nothing is stored', async () => {
    const before = await dump(services)
    for (const method of ['POST', 'GET']) {
      const response = await services.fetch(`${ISSUER_URL}/auth/challenge`, { method })
      expect([response.status, await response.json()]).toEqual([
        200,
        { attestation_challenge: expect.stringMatching(/^[\w-]{30}$/) as string },
      ])
      expect(response.headers.get('dpop-nonce')).toBe(await dpopNonce(services))
      expect(response.headers.get('cache-control')).toBe('no-store')
    }
    expect(await dump(services)).toBe(before)
  })

  it('is told to, without an attestation', async () => {
    const session = await startedSession(services)
    await expectWithoutEffect(
      services,
      () => postForm(services, `${TOKEN_ENDPOINT}/${session.sessionId}`, session.form),
      {
        status: 400,
        error: 'invalid_client',
        why: /wallet attestation/,
      },
    )
    await expectToken(session, await attestedHeaders(instance, session))
  })

  it('may prove itself to the issuer of the base URL', async () => {
    const session = await startedSession(services)
    const headers = await attestedHeaders(instance, session, { pop: { payload: { aud: ISSUER_URL } } })
    const response = await services.fetch(TOKEN_ENDPOINT, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      body: new URLSearchParams(session.form).toString(),
    })
    expect(response.status).toBe(200)
  })

  it.each(attacks)('is refused with $attack', async ({ fails, why, attestation, pop, headers, form }) => {
    const session = await startedSession(services)
    const right = await attestedHeaders(instance, session)
    const changed = await attestedHeaders(instance, session, {
      ...(attestation && { attestation: attestation() }),
      ...(pop && { pop: pop() }),
    })
    const sent = headers ? await headers(right, session) : changed
    const lines = services.logLines.length
    await expectWithoutEffect(services, () => postAttested(session, { ...sent }, { ...session.form, ...form }), {
      status: 400,
      error: 'invalid_client_attestation',
      why,
    })
    const logged = services.logLines.slice(lines).map((line) => JSON.parse(line) as Record<string, unknown>)
    const report = logged.find(({ event }) => event === 'client_not_authenticated')
    const failed = ((report?.checks ?? []) as { id: string; outcome: string }[]).filter(
      ({ outcome }) => outcome === 'failed',
    )
    expect(failed.map(({ id }) => id)).toEqual([fails])
    expect(report?.request).toMatch(/^[\w-]{16}$/)
    expect(JSON.stringify(report)).not.toContain('presentation')
    await expectToken(session, right)
  })

  it('has an attack for each check', () => {
    const named = new Set([...attacks.map(({ fails }) => fails), 'pop.challenge', 'attestation.status'])
    expect([...clientReadingChecks, ...clientChecks].map(({ id }) => id).filter((id) => !named.has(id))).toEqual([])
  })

  it.each([
    ['no challenge', undefined],
    ['a challenge of its own', 'AAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
    ['a challenge that is a number', 5],
  ])('is given the right challenge, with %s', async (_, challenge) => {
    const session = await startedSession(services)
    const headers = await attestedHeaders(instance, session, { pop: { payload: { challenge } } })
    const response = await postAttested(session, { ...headers })
    const next = response.headers.get('oauth-client-attestation-challenge') ?? ''
    await expectRefusal(response, { status: 400, error: 'use_attestation_challenge', why: /challenge/ })
    const { now } = services.clock
    const pop = await popOf(instance, { now, challenge: next, audience: `${ISSUER_URL}/${session.sessionId}` })
    await expectToken(session, { ...headers, 'oauth-client-attestation-pop': pop })
    expect(await statusOf(services, ISSUER_URL, session.sessionId)).not.toHaveProperty('problem')
  })

  it('is given no challenge where another check fails as well', async () => {
    const session = await startedSession(services)
    const changed = payload({ challenge: 'old', aud: 'https://issuer.example' })
    const headers = await attestedHeaders(instance, session, { pop: changed() })
    await expectRefusal(await postAttested(session, { ...headers }), {
      status: 400,
      error: 'invalid_client_attestation',
      why: /pop\.audience/,
    })
  })

  it('is refused with a challenge that is older than some minutes', async () => {
    const session = await startedSession(services)
    const old = await fetchChallenge(services)
    services.clock.now = new Date(services.clock.now.getTime() + 6 * 60_000)
    const headers = await attestedHeaders(instance, session, { pop: { payload: { challenge: old } } })
    await expectRefusal(await postAttested(session, { ...headers }), {
      status: 400,
      error: 'use_attestation_challenge',
      why: /challenge/,
    })
  })

  it('is refused with a proof that was used before, also when both come at once', async () => {
    const [session, second] = [await startedSession(services), await startedSession(services)]
    const headers = await attestedHeaders(instance, session, { pop: { payload: { aud: ISSUER_URL } } })
    await expectToken(session, { ...headers })
    await expectWithoutEffect(services, () => postAttested(second, { ...headers }), {
      status: 400,
      error: 'invalid_client_attestation',
      why: /used before/,
    })
    const [third, fourth] = [await startedSession(services), await startedSession(services)]
    const shared = await attestedHeaders(instance, third, { pop: { payload: { aud: ISSUER_URL } } })
    const both = await Promise.all([third, fourth].map((each) => postAttested(each, { ...shared })))
    expect(both.map(({ status }) => status).sort()).toEqual([200, 400])
  })
})

describe('the status of a wallet attestation', () => {
  const stated = { status: { status_list: { idx: 7, uri: LIST } } }
  const publish = async (value: number, by = provider) => {
    const now = seconds(0)
    network.at.set(
      LIST,
      await signList({
        header: { typ: 'statuslist+jwt', alg: 'ES256', x5c: [...by.x5c] },
        payload: {
          sub: LIST,
          iat: now,
          exp: now + DAY,
          ttl: 1,
          status_list: { bits: 2, lst: toBase64url(deflateSync(entries(7, value))) },
        },
        key: by.key,
        afterwards: (text) => text,
        contentType: 'application/statuslist+jwt',
      }),
    )
    // Kept for five seconds at least.
    services.clock.now = new Date(services.clock.now.getTime() + 10_000)
  }

  it('lets a valid one through, and refuses one that is revoked, suspended or cannot be looked at', async () => {
    const session = await startedSession(services)
    const send = async () =>
      postAttested(session, { ...(await attestedHeaders(instance, session, { attestation: { payload: stated } })) })
    const refusal = { status: 400, error: 'invalid_client_attestation' } as const
    network.at.delete(LIST)
    await expectRefusal(await send(), { ...refusal, why: /attestation\.status: .*could not be looked at/ })
    // The issuer of these tests is in a private network itself.
    expect(network.requests.at(-1)).toMatchObject({ url: LIST, allowPrivateAddresses: true })
    await publish(1)
    await expectRefusal(await send(), { ...refusal, why: /attestation\.status: revoked/ })
    await publish(2)
    await expectRefusal(await send(), { ...refusal, why: /attestation\.status: suspended/ })
    await publish(0, stranger)
    await expectRefusal(await send(), { ...refusal, why: /attestation\.status: .*not trusted/ })
    await publish(0)
    expect((await send()).status).toBe(200)
  })

  it('is that of the provider with a new key, and not with a certificate of its TLS server', async () => {
    const session = await startedSession(services)
    const send = async () =>
      postAttested(session, { ...(await attestedHeaders(instance, session, { attestation: { payload: stated } })) })
    const key = await makeKey()
    const withCertificate = (options: CertificateOptions): Attester => {
      const renewed = { ...provider, key, signer: createSigner(key, []) }
      return { ...renewed, x5c: [attesterCertificate(renewed, { name: leafOf(provider).name, ...options })] }
    }
    await publish(0, withCertificate({ purposes: [EXTENDED_KEY_USAGE.tlsServer], isCritical: false }))
    await expectRefusal(await send(), {
      status: 400,
      error: 'invalid_client_attestation',
      why: /attestation\.status: .*is that of a TLS server/,
    })
    await publish(0, withCertificate({}))
    expect((await send()).status).toBe(200)
  })

  it('is not looked at where anything else is wrong', async () => {
    const session = await startedSession(services)
    const asked = network.requests.length
    const headers = await attestedHeaders(instance, session, {
      attestation: { payload: stated },
      pop: { payload: { challenge: 'old' } },
    })
    expect((await postAttested(session, { ...headers })).status).toBe(400)
    expect(network.requests.length).toBe(asked)
  })

  it('is refused where it is of no form that is known', async () => {
    const session = await startedSession(services)
    for (const status of [5, {}, { status_list: { idx: -1, uri: LIST } }]) {
      const headers = await attestedHeaders(instance, session, { attestation: { payload: { status } } })
      await expectRefusal(await postAttested(session, { ...headers }), {
        status: 400,
        error: 'invalid_client_attestation',
        why: /attestation\.status/,
      })
    }
  })
})

describe('what a wallet instance got', () => {
  const refreshable = { refresh_seconds: DAY }
  const refreshForm = (token: unknown) => ({ grant_type: 'refresh_token', refresh_token: String(token) })
  async function redeemed() {
    const session = await startedSession(services, refreshable)
    const headers = await attestedHeaders(instance, session)
    const body = await expectToken(session, { ...headers }, session.form, {
      refresh_token: expect.any(String) as string,
    })
    return { session, refresh: body.refresh_token }
  }

  it('is refreshed by that instance alone', async () => {
    const { session, refresh } = await redeemed()
    const form = refreshForm(refresh)
    await expectWithoutEffect(
      services,
      async () => postAttested(session, { ...(await attestedHeaders(other, session)) }, form),
      { status: 400, error: 'invalid_grant', why: /another wallet instance/ },
    )
    await expectWithoutEffect(services, () => postAttested(session, {}, form), { status: 400, error: 'invalid_client' })
    await expectToken(session, { ...(await attestedHeaders(instance, session)) }, form, {
      refresh_token: expect.any(String) as string,
    })
  })

  it('is not lost to that instance when it sends a refresh token that is used up', async () => {
    const { session, refresh } = await redeemed()
    const first = String(refresh)
    const refreshed = async (token: string): Promise<Response> =>
      postAttested(session, { ...(await attestedHeaders(instance, session)) }, refreshForm(token))
    const next = async (token: string): Promise<string> =>
      ((await (await refreshed(token)).json()) as { readonly refresh_token: string }).refresh_token
    const third = await next(await next(first))
    await expectRefusal(await refreshed(first), { status: 400, error: 'invalid_grant', why: /has been used/ })
    expect((await refreshed(third)).status).toBe(200)
  })

  it('is not refreshed by the same key under the name of another wallet', async () => {
    const { session, refresh } = await redeemed()
    const headers = await attestedHeaders(instance, session, {
      attestation: { payload: { sub: 'https://other.example' } },
    })
    await expectRefusal(await postAttested(session, { ...headers }, refreshForm(refresh)), {
      status: 400,
      error: 'invalid_grant',
      why: /another wallet instance/,
    })
  })

  it('is worth nothing to another instance where it is bound to a DPoP key as well', async () => {
    const session = await startedSession(services, refreshable)
    const [key, nonce] = [await holderSigner(), await dpopNonce(services)]
    const url = `${TOKEN_ENDPOINT}/${session.sessionId}`
    const dpop = await dpopProof({ services, key, url, nonce })
    const response = await postAttested(session, { ...(await attestedHeaders(instance, session)), dpop })
    const { access_token: token, token_type: type } = (await response.json()) as Record<string, string>
    expect(type).toBe('DPoP')
    const stolen = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-request`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `DPoP ${token}`,
        dpop: await dpopProof({
          services,
          key: other.key,
          url: `${ISSUER_URL}/issuance/oid4vci/credential-request`,
          nonce,
          token: token ?? '',
        }),
      },
      body: '{}',
    })
    expect(stolen.status).toBe(401)
  })
})

describe('a wallet that may authenticate itself', () => {
  let lenient: Services
  beforeAll(async () => {
    lenient = await startServices(trustingProvider(provider, 'optional'))
  })
  afterAll(() => lenient.close())

  it('gets its token without, and is held to what it sends', async () => {
    const metadata = await lenient.fetch(`${ISSUER_URL}/.well-known/oauth-authorization-server`)
    expect(await metadata.json()).toMatchObject({
      'pre-authorized_grant_anonymous_access_supported': true,
      token_endpoint_auth_methods_supported: ['none', 'attest_jwt_client_auth'],
    })
    const session = await startedSession(lenient, { refresh_seconds: DAY })
    const foreign = await attestedHeaders({ ...instance, provider: stranger }, session)
    await expectRefusal(await postAttested(session, { ...foreign }), {
      status: 400,
      error: 'invalid_client_attestation',
    })
    const given = await postAttested(session, {})
    expect(given.status).toBe(200)
    const { refresh_token: refresh } = (await given.json()) as { readonly refresh_token: string }
    const form = { grant_type: 'refresh_token', refresh_token: refresh }
    // From here on the refresh token is the instance's.
    const bound = await postAttested(session, { ...(await attestedHeaders(instance, session)) }, form)
    expect(bound.status).toBe(200)
    const next = (await bound.json()) as { readonly refresh_token: string }
    await expectRefusal(await postAttested(session, {}, { ...form, refresh_token: next.refresh_token }), {
      status: 400,
      error: 'invalid_grant',
      why: /send its attestation/,
    })
  })
})

describe('an issuer with attestationChallenge: "optional"', () => {
  let lenient: Services
  beforeAll(async () => {
    const trusting = trustingProvider(provider)
    lenient = await startServices({ ...trusting, issuer: { ...trusting.issuer, attestationChallenge: 'optional' } })
  })
  afterAll(() => lenient.close())
  const without = { aud: ISSUER_URL, challenge: undefined }

  it('takes proofs without a challenge, each once, and tells the challenge nevertheless', async () => {
    const [session, second] = [await startedSession(lenient), await startedSession(lenient)]
    const headers = await attestedHeaders(instance, session, { pop: { payload: without } })
    const response = await postAttested(session, { ...headers })
    expect([response.status, response.headers.get('oauth-client-attestation-challenge')]).toEqual([
      200,
      expect.stringMatching(/^[\w-]{30}$/),
    ])
    await expectWithoutEffect(lenient, () => postAttested(second, { ...headers }), {
      status: 400,
      error: 'invalid_client_attestation',
      why: /used before/,
    })
    await expectToken(second, { ...(await attestedHeaders(instance, second, { pop: { payload: without } })) })
  })

  it.each<[string, object, string]>([
    ['that is too old', { iat: -301 }, 'invalid_client_attestation'],
    ['that is from the future', { iat: 62 }, 'invalid_client_attestation'],
    ['without a jti', { jti: undefined }, 'invalid_client_attestation'],
    ['with an empty challenge', { challenge: '' }, 'use_attestation_challenge'],
    ['with a challenge that is null', { challenge: null }, 'use_attestation_challenge'],
    ['with a challenge of its own making', { challenge: 'A'.repeat(30) }, 'use_attestation_challenge'],
  ])('refuses a proof %s', async (_, members, error) => {
    const session = await startedSession(lenient)
    const seconds = Math.floor(lenient.clock.now.getTime() / 1000)
    const iat = 'iat' in members ? seconds + Number(members.iat) : seconds
    const headers = await attestedHeaders(instance, session, { pop: { payload: { ...without, ...members, iat } } })
    await expectRefusal(await postAttested(session, { ...headers }), { status: 400, error })
  })
})

describe('an issuer without the setting', () => {
  it('has no challenges, and looks at no attestation', async () => {
    const plain = await startServices()
    const response = await plain.fetch(`${ISSUER_URL}/auth/challenge`, { method: 'POST' })
    await expectRefusal(response, { status: 404, error: 'not_found' })
    const session = await startedSession(plain)
    const sent = await postAttested(session, {
      'oauth-client-attestation': 'nonsense',
      'oauth-client-attestation-pop': 'nonsense',
    })
    expect(sent.status).toBe(200)
    expect(sent.headers.has('oauth-client-attestation-challenge')).toBe(false)
    const metadata = await plain.fetch(`${ISSUER_URL}/.well-known/oauth-authorization-server`)
    const names = Object.keys((await metadata.json()) as object)
    expect(names.filter((name) => /challenge_endpoint|attestation/.test(name))).toEqual([])
    await plain.close()
  })
})
