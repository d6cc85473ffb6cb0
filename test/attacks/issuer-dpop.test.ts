/**
 * Attacks on DPoP: proofs that are wrong, at the token endpoint and at the credential endpoint, proofs that are used
 * again, and tokens that come without their key. Each is refused and leaves everything as it was. RFC 9449 sections
 * 4.3, 7 and 11.
 */
import { createHmac, createSecretKey } from 'node:crypto'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toBase64url } from '../../src/codec/base64url.ts'
import { readJws } from '../../src/codec/jws.ts'
import { ACCESS_TOKEN_SECONDS } from '../../src/issuer/access/access-token.ts'
import { createReusableNonces } from '../../src/issuer/access/reusable-nonce.ts'
import { thumbprint } from '../../src/keys/jwk.ts'
import type { Signer } from '../../src/keys/signer.ts'
import { attestationOf, makeAttester, trusting } from '../support/attestation.ts'
import {
  type BoundReady,
  boundSession,
  dpopNonce,
  dpopProof,
  expectIssuedBound,
  postToken,
  requestProof,
  requestWith,
} from '../support/dpop.ts'
import {
  CREDENTIAL_ENDPOINT,
  dump,
  expectIssued,
  expectRefusal,
  proofOf,
  readySession,
  type Session,
  startedSession,
  TOKEN_ENDPOINT,
} from '../support/issuance.ts'
import type { JwtChanges } from '../support/jwt.ts'
import { API_KEY, ISSUER_URL, makeKey, type Services, startServices } from '../support/services.ts'
import { configuration, declare, fetchNonce, holderSigner } from '../support/wire.ts'

interface Attack {
  readonly attack: string
  readonly change: (made: {
    readonly key: Signer
    readonly url: string
    readonly at: number
    readonly other: Signer
    readonly privateJwk: object
  }) => JwtChanges | string
  readonly error?: 'use_dpop_nonce'
  readonly why?: RegExp
}

const payload = (members: Record<string, unknown>) => () => ({ payload: members })
const header = (members: Record<string, unknown>) => () => ({ header: members })

const attacks: readonly Attack[] = [
  { attack: 'an empty proof', change: () => '' },
  { attack: 'a word', change: () => 'proof', why: /three parts/ },
  {
    attack: 'ten thousand characters',
    change: () => `${'a'.repeat(5000)}.${'a'.repeat(5000)}.a`,
    why: /longer than 8192/,
  },
  { attack: 'no typ', change: header({ typ: undefined }), why: /typ/ },
  { attack: 'the typ of a key proof', change: header({ typ: 'openid4vci-proof+jwt' }), why: /typ/ },
  { attack: 'the typ of any JWT', change: header({ typ: 'JWT' }), why: /typ/ },
  { attack: 'no alg', change: header({ alg: undefined }), why: /alg/ },
  { attack: 'alg none', change: header({ alg: 'none' }), why: /alg/ },
  {
    attack: 'alg none without a signature',
    change: () => ({ header: { alg: 'none' }, sign: () => Promise.resolve(new Uint8Array()) }),
    why: /alg/,
  },
  {
    attack: 'a MAC under the public key',
    change: ({ key }) => ({
      header: { alg: 'HS256' },
      sign: (data) => Promise.resolve(createHmac('sha256', JSON.stringify(key.jwk)).update(data).digest()),
    }),
    why: /alg/,
  },
  { attack: 'the alg of another curve', change: header({ alg: 'ES384' }), why: /signature/ },
  { attack: 'critical extensions', change: header({ crit: ['b64'], b64: false }), why: /critical/ },
  { attack: 'no key', change: header({ jwk: undefined }), why: /key/ },
  { attack: 'a key by kid', change: ({ key }) => ({ header: { jwk: undefined, kid: key.kid } }), why: /key/ },
  { attack: 'a key that is a text', change: header({ jwk: 'key' }), why: /key/ },
  { attack: 'a symmetric key', change: header({ jwk: { kty: 'oct', k: 'AAAA' } }), why: /private/ },
  {
    attack: 'its private key in the header',
    change: ({ privateJwk }) => ({ header: { jwk: privateJwk } }),
    why: /private/,
  },
  {
    attack: 'a key that is not on its curve',
    change: ({ key }) => ({ header: { jwk: { ...key.jwk, y: toBase64url(new Uint8Array(32).fill(1)) } } }),
    why: /curve/,
  },
  { attack: "somebody else's public key", change: ({ other }) => ({ header: { jwk: other.jwk } }), why: /signature/ },
  {
    attack: "somebody else's signature",
    change: ({ other }) => ({ sign: (data) => other.sign(data) }),
    why: /signature/,
  },
  {
    attack: 'a signature of zeros',
    change: () => ({ sign: () => Promise.resolve(new Uint8Array(64)) }),
    why: /signature/,
  },
  { attack: 'no htm', change: payload({ htm: undefined }), why: /htm/ },
  { attack: 'another method', change: payload({ htm: 'GET' }), why: /htm/ },
  { attack: 'the method in lower case', change: payload({ htm: 'post' }), why: /htm/ },
  { attack: 'no htu', change: payload({ htu: undefined }), why: /htu/ },
  { attack: 'an htu that is not an address', change: payload({ htu: '/auth/token-endpoint' }), why: /htu/ },
  {
    attack: 'the address of another server',
    change: ({ url }) => ({ payload: { htu: url.replace('issuer', 'other') } }),
    why: /htu/,
  },
  { attack: 'another scheme', change: ({ url }) => ({ payload: { htu: url.replace('http:', 'https:') } }), why: /htu/ },
  {
    attack: 'another port',
    change: ({ url }) => ({ payload: { htu: url.replace('localhost', 'localhost:81') } }),
    why: /htu/,
  },
  { attack: 'another path', change: ({ url }) => ({ payload: { htu: `${url}/a` } }), why: /htu/ },
  {
    attack: 'a user name in the address',
    change: ({ url }) => ({ payload: { htu: url.replace('//', '//a@') } }),
    why: /htu/,
  },
  {
    attack: 'the nonce endpoint as the address',
    change: payload({ htu: `${ISSUER_URL}/issuance/oid4vci/nonce` }),
    why: /htu/,
  },
  { attack: 'addresses in an array', change: ({ url }) => ({ payload: { htu: [url] } }), why: /htu/ },
  { attack: 'no iat', change: payload({ iat: undefined }), why: /iat/ },
  { attack: 'an iat in a text', change: ({ at }) => ({ payload: { iat: String(at) } }), why: /iat/ },
  { attack: 'an iat of 301 seconds ago', change: ({ at }) => ({ payload: { iat: at - 301 } }), why: /old/ },
  { attack: 'an iat of 61 seconds ahead', change: ({ at }) => ({ payload: { iat: at + 61 } }), why: /future/ },
  { attack: 'an exp of 60 seconds ago', change: ({ at }) => ({ payload: { exp: at - 60 } }), why: /expired/ },
  { attack: 'an exp in a text', change: ({ at }) => ({ payload: { exp: String(at + 60) } }), why: /exp must be/ },
  { attack: 'an nbf of 61 seconds ahead', change: ({ at }) => ({ payload: { nbf: at + 61 } }), why: /not valid yet/ },
  { attack: 'no jti', change: payload({ jti: undefined }), why: /jti/ },
  { attack: 'an empty jti', change: payload({ jti: '' }), why: /jti/ },
  { attack: 'a jti that is a number', change: payload({ jti: 1 }), why: /jti/ },
  { attack: 'no nonce', change: payload({ nonce: undefined }), error: 'use_dpop_nonce' },
  { attack: 'an empty nonce', change: payload({ nonce: '' }), error: 'use_dpop_nonce' },
  { attack: 'a nonce of its own making', change: payload({ nonce: 'A'.repeat(30) }), error: 'use_dpop_nonce' },
  { attack: 'a nonce that is not base64url', change: payload({ nonce: 'é' }), error: 'use_dpop_nonce' },
  {
    attack: 'a nonce of another issuer',
    change: () => ({
      payload: { nonce: createReusableNonces([createSecretKey(Buffer.alloc(32))]).getCurrent(new Date()) },
    }),
    error: 'use_dpop_nonce',
  },
]

const ALGS = 'ES256 ES384 ES512 EdDSA Ed25519'

describe('DPoP', () => {
  let services: Services
  let configurationId: string
  beforeAll(async () => {
    services = await startServices()
    configurationId = await declare(services)
  })
  afterAll(() => services.close())
  const body = () => ({ credential_configurations: [configurationId] })
  const started = () => startedSession(services, body())
  const bound = () => boundSession(services, body())
  const endpoint = ({ sessionId }: Session) => `${TOKEN_ENDPOINT}/${sessionId}`
  const at = async <T>(seconds: number, run: () => Promise<T>): Promise<T> => {
    const real = services.clock.now
    services.clock.now = new Date(real.getTime() + seconds * 1000)
    return run().finally(() => {
      services.clock.now = real
    })
  }

  /** Expects what every refusal of a wallet that uses DPoP has. */
  async function expectRefused(
    response: Response,
    refusal: { readonly status: number; readonly error: string; readonly why?: RegExp | undefined },
  ): Promise<void> {
    const { error, error_description: said } = (await response.json()) as Record<string, string>
    expect([response.status, error]).toEqual([refusal.status, refusal.error])
    if (refusal.why !== undefined) expect(said).toMatch(refusal.why)
    expect(said).toMatch(/^[ !#-[\]-~]+$/)
    const challenge = refusal.status === 401 ? `DPoP error="${refusal.error}", algs="${ALGS}"` : null
    expect(response.headers.get('www-authenticate')).toBe(challenge)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('dpop-nonce')).toMatch(/^[\w-]{30}$/)
  }

  async function proofBy(
    key: Signer,
    { change }: Attack,
    make: (changes: JwtChanges) => Promise<string>,
    url: string,
  ): Promise<string> {
    const at = Math.floor(services.clock.now.getTime() / 1000)
    const privateJwk = (await makeKey()).export({ format: 'jwk' })
    const changes = change({ key, url, at, other: await holderSigner(), privateJwk })
    return typeof changes === 'string' ? changes : make(changes)
  }

  describe('at the token endpoint', () => {
    it.each(attacks)('refuses $attack, and the code stays good', async (attack) => {
      const session = await started()
      const url = endpoint(session)
      const [key, nonce] = [await holderSigner(), await dpopNonce(services)]
      const proof = await proofBy(key, attack, (changes) => dpopProof({ services, key, url, nonce }, changes), url)
      const before = await dump(services)
      await expectRefused(await postToken(session, proof), {
        status: 400,
        error: attack.error ?? 'invalid_dpop_proof',
        why: attack.why,
      })
      expect(await dump(services)).toBe(before)
      expect((await postToken(session, await dpopProof({ services, key, url, nonce }))).status).toBe(200)
    })

    it('refuses two proofs, also when both are right', async () => {
      const session = await started()
      const url = endpoint(session)
      const [key, nonce] = [await holderSigner(), await dpopNonce(services)]
      const proofs = [await dpopProof({ services, key, url, nonce }), await dpopProof({ services, key, url, nonce })]
      const response = await services.issuer.inject({
        method: 'POST',
        url: new URL(url).pathname,
        headers: { 'content-type': 'application/x-www-form-urlencoded', dpop: proofs.join(', ') },
        payload: new URLSearchParams(session.form).toString(),
      })
      expect([response.statusCode, response.json()]).toEqual([
        400,
        { error: 'invalid_dpop_proof', error_description: 'the DPoP proof: send exactly one' },
      ])
    })

    it('gives a token that names the thumbprint of the key, and says that it is bound', async () => {
      const ready = await bound()
      const { payload: claims } = readJws(ready.token)
      expect(claims.cnf).toEqual({ jkt: thumbprint(ready.key.jwk) })
      expect(ready.response).toEqual({ access_token: ready.token, token_type: 'DPoP', expires_in: 300 })
      await expectIssuedBound(ready)
    })

    it.each(['ES256', 'ES384', 'ES512', 'EdDSA'] as const)('takes a proof by %s', async (algorithm) => {
      const session = await started()
      const key = await holderSigner(algorithm)
      const proof = await dpopProof({ services, key, url: endpoint(session), nonce: await dpopNonce(services) })
      expect((await postToken(session, proof)).status).toBe(200)
    })

    it.each([
      ['in upper case', (url: string) => url.replace('http://issuer.localhost', 'HTTP://ISSUER.localhost')],
      ['with the port of the scheme', (url: string) => url.replace('localhost', 'localhost:80')],
      ['with a query', (url: string) => `${url}?a=b`],
      ['with a fragment', (url: string) => `${url}#a`],
    ])('takes the address %s', async (_, written) => {
      const session = await started()
      const [key, nonce] = [await holderSigner(), await dpopNonce(services)]
      const url = written(endpoint(session))
      expect((await postToken(session, await dpopProof({ services, key, url, nonce }))).status).toBe(200)
    })

    it('takes the address without the session for the endpoint without it, and no other', async () => {
      const session = await started()
      const [key, nonce] = [await holderSigner(), await dpopNonce(services)]
      const wrong = await dpopProof({ services, key, url: endpoint(session), nonce })
      await expectRefused(await postToken(session, wrong, {}, TOKEN_ENDPOINT), {
        status: 400,
        error: 'invalid_dpop_proof',
        why: /htu/,
      })
      const right = await dpopProof({ services, key, url: TOKEN_ENDPOINT, nonce })
      expect((await postToken(session, right, {}, TOKEN_ENDPOINT)).status).toBe(200)
    })

    it('takes an iat from 300 seconds ago to 60 seconds ahead', async () => {
      for (const offset of [-299, 60]) {
        const session = await started()
        const key = await holderSigner()
        const iat = Math.floor(services.clock.now.getTime() / 1000) + offset
        const nonce = await dpopNonce(services)
        const proof = await dpopProof({ services, key, url: endpoint(session), nonce }, { payload: { iat } })
        expect((await postToken(session, proof)).status).toBe(200)
      }
    })

    it('tells the nonce that it wants, and takes it at once, and for five minutes', async () => {
      const session = await started()
      const [key, url] = [await holderSigner(), endpoint(session)]
      const refused = await postToken(session, await dpopProof({ services, key, url, nonce: '' }))
      const nonce = refused.headers.get('dpop-nonce') ?? ''
      await at(331, async () => {
        const late = await postToken(session, await dpopProof({ services, key, url, nonce }))
        await expectRefused(late, { status: 400, error: 'use_dpop_nonce' })
      })
      await at(300, async () => {
        expect((await postToken(session, await dpopProof({ services, key, url, nonce }))).status).toBe(200)
      })
    })

    it('takes a request that names the whole address, where it has a port as well', async () => {
      const baseUrl = 'http://issuer.localhost:8080'
      const ported = await startServices({ issuer: { baseUrl } })
      try {
        await ported.issuer.listen({ host: '127.0.0.1', port: 0 })
        const { form } = await startedSession(ported)
        const url = `${baseUrl}/auth/token-endpoint`
        const nonce = await dpopNonce(ported)
        const dpop = await dpopProof({ services: ported, key: await holderSigner(), url, nonce })
        const headers = { dpop, 'content-type': 'application/x-www-form-urlencoded' }
        const { port } = ported.issuer.server.address() as AddressInfo
        const answer = await new Promise<IncomingMessage>((resolve, reject) => {
          const asked = httpRequest(
            { host: '127.0.0.1', port, method: 'POST', path: url, headers, agent: false },
            resolve,
          )
          asked.once('error', reject).end(new URLSearchParams(form).toString())
        })
        const body = (await json(answer)) as Record<string, unknown>
        expect([answer.statusCode, body.token_type]).toEqual([200, 'DPoP'])
      } finally {
        await ported.close()
      }
    })

    it('refuses a proof that was used, in another session too', async () => {
      const [one, other] = [await started(), await started()]
      const [key, nonce] = [await holderSigner(), await dpopNonce(services)]
      const proof = await dpopProof({ services, key, url: TOKEN_ENDPOINT, nonce })
      expect((await postToken(one, proof, {}, TOKEN_ENDPOINT)).status).toBe(200)
      const before = await dump(services)
      const replayed = await postToken(other, proof, {}, TOKEN_ENDPOINT)
      await expectRefused(replayed, { status: 400, error: 'invalid_dpop_proof', why: /used/ })
      expect(await dump(services)).toBe(before)
    })

    it('lets one of 50 sessions have a token when all come with the same proof', async () => {
      const sessions = await Promise.all(Array.from({ length: 50 }, started))
      const [key, nonce] = [await holderSigner(), await dpopNonce(services)]
      const proof = await dpopProof({ services, key, url: TOKEN_ENDPOINT, nonce })
      const responses = await Promise.all(sessions.map((session) => postToken(session, proof, {}, TOKEN_ENDPOINT)))
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    })

    it('takes the same jti of another key', async () => {
      const nonce = await dpopNonce(services)
      for (const key of [await holderSigner(), await holderSigner()]) {
        const session = await started()
        const changes = { payload: { jti: 'the same' } }
        const proof = await dpopProof({ services, key, url: endpoint(session), nonce }, changes)
        expect((await postToken(session, proof)).status).toBe(200)
      }
    })

    it('counts no attempt at the transaction code when the proof is refused', async () => {
      const session = await startedSession(services, { ...body(), tx_code: { value: '4935' } })
      const [key, url] = [await holderSigner(), endpoint(session)]
      for (let times = 0; times < 6; times++) {
        const proof = await dpopProof({ services, key, url, nonce: '' })
        await expectRefused(await postToken(session, proof, { tx_code: '0000' }), {
          status: 400,
          error: 'use_dpop_nonce',
        })
      }
      const proof = await dpopProof({ services, key, url, nonce: await dpopNonce(services) })
      expect((await postToken(session, proof, { tx_code: '4935' })).status).toBe(200)
    })

    it('says which algorithms it takes, and nothing of nonces to who uses none', async () => {
      const session = await started()
      const metadata = await services.fetch(`${ISSUER_URL}/.well-known/oauth-authorization-server/${session.sessionId}`)
      expect(await metadata.json()).toMatchObject({ dpop_signing_alg_values_supported: ALGS.split(' ') })
      expect((await postToken(session, undefined)).headers.get('dpop-nonce')).toBeNull()
    })
  })

  describe('at the credential endpoint', () => {
    const tokenAttacks: readonly Attack[] = [
      { attack: 'no ath', change: payload({ ath: undefined }), why: /ath/ },
      { attack: 'the ath of another token', change: payload({ ath: toBase64url(new Uint8Array(32)) }), why: /ath/ },
      { attack: 'the token itself as ath', change: () => ({ payload: { ath: 'token' } }), why: /ath/ },
    ]

    it.each([...attacks, ...tokenAttacks])('refuses $attack, and the token stays good', async (attack) => {
      const ready = await bound()
      const make = (changes: JwtChanges) => requestProof(ready, changes)
      const dpop = await proofBy(ready.key, attack, make, CREDENTIAL_ENDPOINT)
      const before = await dump(services)
      const response = await requestWith(ready, { authorization: `DPoP ${ready.token}`, dpop })
      await expectRefused(response, { status: 401, error: attack.error ?? 'invalid_dpop_proof', why: attack.why })
      expect(await dump(services)).toBe(before)
      await expectIssuedBound(ready)
    })

    const byHeaders: readonly (readonly [string, (ready: BoundReady) => Promise<Record<string, string>>, string])[] = [
      ['the token as Bearer', ({ token }) => Promise.resolve({ authorization: `Bearer ${token}` }), 'invalid_token'],
      [
        'the token as Bearer, with a proof',
        async (ready) => ({ authorization: `Bearer ${ready.token}`, dpop: await requestProof(ready) }),
        'invalid_token',
      ],
      ['no proof', ({ token }) => Promise.resolve({ authorization: `DPoP ${token}` }), 'invalid_dpop_proof'],
      [
        'a proof by another key',
        async (ready) => {
          const dpop = await requestProof({ ...ready, key: await holderSigner() })
          return { authorization: `DPoP ${ready.token}`, dpop }
        },
        'invalid_token',
      ],
      [
        'the proof of the token request',
        async (ready) => {
          const { key, dpop: nonce } = ready
          const dpop = await dpopProof({ services, key, url: endpoint(ready), nonce })
          return { authorization: `DPoP ${ready.token}`, dpop }
        },
        'invalid_dpop_proof',
      ],
    ]
    it.each(byHeaders)('refuses %s, and the token stays good', async (_, headers, error) => {
      const ready = await bound()
      const before = await dump(services)
      const response = await requestWith(ready, await headers(ready))
      const { error: code } = (await response.json()) as Record<string, string>
      expect([response.status, code]).toEqual([401, error])
      expect(response.headers.get('www-authenticate')).toBe(`DPoP error="${error}", algs="${ALGS}"`)
      expect(await dump(services)).toBe(before)
      await expectIssuedBound(ready)
    })

    it('refuses a token that is bound to no key when it comes as DPoP, proof or not', async () => {
      const ready = await readySession(services, body())
      const [key, nonce] = [await holderSigner(), await dpopNonce(services)]
      const proof = await dpopProof({ services, key, url: CREDENTIAL_ENDPOINT, nonce, token: ready.token })
      for (const more of [{}, { dpop: proof }]) {
        const response = await requestWith(ready, { authorization: `DPoP ${ready.token}`, ...more })
        await expectRefused(response, { status: 401, error: 'invalid_token', why: /Bearer/ })
      }
      await expectIssued(ready)
    })

    it('does not look at the proof beside a Bearer token', async () => {
      const ready = await readySession(services, body())
      const response = await requestWith(ready, { authorization: `Bearer ${ready.token}`, dpop: 'x' })
      expect(response.status).toBe(200)
    })

    it('does not verify a proof beside a token that is none of ours', async () => {
      const ready = await bound()
      const response = await requestWith(ready, { authorization: `DPoP ${ready.token}x`, dpop: 'x' })
      await expectRefused(response, { status: 401, error: 'invalid_token', why: /is unknown or was replaced/ })
    })

    it('says of a token that has expired that it was missed as DPoP', async () => {
      const ready = await bound()
      await at(ACCESS_TOKEN_SECONDS, async () => {
        const headers = { authorization: `DPoP ${ready.token}`, dpop: await requestProof(ready) }
        await expectRefused(await requestWith(ready, headers), { status: 401, error: 'invalid_token', why: /expired/ })
      })
    })

    it('takes the scheme in any case', async () => {
      const ready = await bound()
      const response = await requestWith(ready, {
        authorization: `dpop ${ready.token}`,
        dpop: await requestProof(ready),
      })
      expect(response.status).toBe(200)
    })

    it('refuses a proof that was used, with a nonce for the key proof that was not', async () => {
      const ready = await bound()
      const dpop = await requestProof(ready)
      expect((await requestWith(ready, { authorization: `DPoP ${ready.token}`, dpop })).status).toBe(200)
      const again = { ...ready, nonce: await fetchNonce(services, ready.sessionId) }
      const before = await dump(services)
      const leased = async () => (await services.issuerStore.get('status_space', 'current'))?.value.next
      const entries = await leased()
      // More often than a lease of entries is long: none of them may take one.
      for (let times = 0; times < 70; times += 1) {
        const response = await requestWith(again, { authorization: `DPoP ${ready.token}`, dpop })
        await expectRefused(response, { status: 401, error: 'invalid_dpop_proof', why: /used/ })
      }
      expect([await dump(services), await leased()]).toEqual([before, entries])
      await expectIssuedBound(again)
    })

    it('issues once to 20 requests at the same time with the same proof', async () => {
      const ready = await bound()
      const dpop = await requestProof(ready)
      const responses = await Promise.all(
        Array.from({ length: 20 }, async () => {
          const nonce = await fetchNonce(services, ready.sessionId)
          return requestWith({ ...ready, nonce }, { authorization: `DPoP ${ready.token}`, dpop })
        }),
      )
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
      expect(responses.filter(({ status }) => status === 401)).toHaveLength(19)
    })

    it('does not use up a proof with a request that is refused', async () => {
      const ready = await bound()
      const [authorization, dpop] = [`DPoP ${ready.token}`, await requestProof(ready)]
      expect((await requestWith({ ...ready, nonce: 'x' }, { authorization, dpop })).status).toBe(400)
      expect((await requestWith(ready, { authorization, dpop })).status).toBe(200)
    })

    it('forgets a used proof when it has become too old, and not before', async () => {
      const ready = await bound()
      await expectIssuedBound(ready)
      const kept = async () =>
        (await services.issuerStore.list('spent_nonce')).filter(({ id }) => id.startsWith('dpop.')).length
      // Others in this file were made with an older iat.
      await at(610, async () => services.runTasks())
      const before = await kept()
      // A request that came while the proof was fresh may be about to spend it for ten minutes more.
      await at(840, async () => services.runTasks())
      expect(await kept()).toBe(before)
      await at(1300, async () => services.runTasks())
      expect(await kept()).toBe(0)
    })
  })

  it('stores and logs no proof', async () => {
    const ready = await bound()
    const dpop = await requestProof(ready, { payload: { jti: 'a-jti-of-its-own' } })
    await requestWith(ready, { authorization: `DPoP ${ready.token}`, dpop })
    const all = (await dump(services)) + services.logLines.join('')
    for (const text of [dpop, ready.token, 'a-jti-of-its-own']) expect(all).not.toContain(text)
  })

  it('does not open administrative endpoints with an API key that comes as DPoP', async () => {
    const response = await services.fetch(`${ISSUER_URL}/credential-configuration/create`, {
      method: 'POST',
      headers: { authorization: `DPoP ${API_KEY}`, 'content-type': 'application/json' },
      body: '{}',
    })
    expect(response.status).toBe(401)
  })

  it('lets browsers send the proof and read the nonce', async () => {
    const preflight = await services.fetch(CREDENTIAL_ENDPOINT, { method: 'OPTIONS' })
    expect(preflight.headers.get('access-control-allow-headers')).toContain('DPoP')
    expect(preflight.headers.get('access-control-expose-headers')).toContain('DPoP-Nonce')
  })

  it('is asked of every wallet when the configuration says so', async () => {
    const strict = await startServices({ issuer: { dpop: 'required' } })
    try {
      const session = await startedSession(strict)
      const response = await postToken(session, undefined)
      expect([response.status, await response.json()]).toEqual([
        400,
        { error: 'invalid_dpop_proof', error_description: 'the DPoP proof: it is missing; send it in the DPoP header' },
      ])
      await expectIssuedBound(await boundSession(strict))
    } finally {
      await strict.close()
    }
  })

  it.each([
    ['no token', undefined, ''],
    ['a scheme of no tokens', 'Basic YTpi', ''],
    ['two tokens', 'DPoP a b', 'error="invalid_token", '],
  ])('is asked for by a challenge: %s', async (_, authorization, error) => {
    const strict = await startServices({ issuer: { dpop: 'required' } })
    try {
      const headers = authorization === undefined ? {} : { authorization }
      const response = await strict.fetch(CREDENTIAL_ENDPOINT, { method: 'POST', headers })
      const challenge = new RegExp(`^DPoP ${error}algs="${ALGS}"$`)
      await expectRefusal(response, { status: 401, error: 'invalid_token', challenge })
    } finally {
      await strict.close()
    }
  })

  it('is named by the challenge for a credential that the bound token does not cover', async () => {
    const ready = await boundSession(services)
    const other = await declare(services)
    const dpop = await requestProof(ready)
    const headers = { authorization: `DPoP ${ready.token}`, dpop, 'content-type': 'application/json' }
    const body = JSON.stringify({ credential_configuration_id: other })
    const response = await services.fetch(CREDENTIAL_ENDPOINT, { method: 'POST', headers, body })
    const challenge = new RegExp(`^DPoP error="insufficient_scope", algs="${ALGS}"$`)
    await expectRefusal(response, { status: 403, error: 'insufficient_scope', challenge })
  })

  it('answers a bound wallet of draft 13 like every other', async () => {
    const older = await startServices({ issuer: { compatibility: ['draft13'] } })
    try {
      const ready = await boundSession(older)
      expect(ready.response).toMatchObject({ token_type: 'DPoP', c_nonce: expect.any(String) as string })
      const dpop = await requestProof(ready)
      const first = await requestWith(ready, { authorization: `DPoP ${ready.token}`, dpop })
      expect(first.status).toBe(200)
    } finally {
      await older.close()
    }
  })
})

describe('an issuer with dpopNonce: "optional"', () => {
  let services: Services
  beforeAll(async () => {
    services = await startServices({ issuer: { dpopNonce: 'optional' } })
  })
  afterAll(() => services.close())
  const urlOf = ({ sessionId }: Session) => `${TOKEN_ENDPOINT}/${sessionId}`
  const WITHOUT = { payload: { nonce: undefined } }

  it('takes proofs without a nonce, each once, and tells the nonce nevertheless', async () => {
    const session = await startedSession(services)
    const parts = { services, key: await holderSigner(), nonce: '' }
    const proof = await dpopProof({ ...parts, url: urlOf(session) }, WITHOUT)
    const answer = await postToken(session, proof)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('dpop-nonce')).toMatch(/^[\w-]{30}$/)
    const { access_token: token = '' } = (await answer.json()) as Record<string, string>
    const ready: BoundReady = {
      ...session,
      ...parts,
      dpop: '',
      response: {},
      token,
      holder: await holderSigner(),
      nonce: await fetchNonce(services, session.sessionId),
      audience: `${ISSUER_URL}/${session.sessionId}`,
    }
    const dpop = await requestProof(ready, WITHOUT)
    expect((await requestWith(ready, { authorization: `DPoP ${token}`, dpop })).status).toBe(200)
    const before = await dump(services)
    const again = { ...ready, nonce: await fetchNonce(services, session.sessionId) }
    const replayed = await requestWith(again, { authorization: `DPoP ${token}`, dpop })
    expect([replayed.status, ((await replayed.json()) as { error: string }).error]).toEqual([401, 'invalid_dpop_proof'])
    expect(await dump(services)).toBe(before)
    const fresh = await requestProof(ready, WITHOUT)
    expect((await requestWith(again, { authorization: `DPoP ${token}`, dpop: fresh })).status).toBe(200)
  })

  it('takes one of 20 token requests of other sessions with one proof', async () => {
    const sessions = await Promise.all(Array.from({ length: 20 }, () => startedSession(services)))
    const parts = { services, key: await holderSigner(), nonce: '', url: TOKEN_ENDPOINT }
    const proof = await dpopProof(parts, WITHOUT)
    const answers = await Promise.all(sessions.map((each) => postToken(each, proof, {}, TOKEN_ENDPOINT)))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([200, ...Array<number>(19).fill(400)])
  })

  it.each<[string, object, string]>([
    ['that is too old', { nonce: undefined, iat: -301 }, 'invalid_dpop_proof'],
    ['that is from the future', { nonce: undefined, iat: 62 }, 'invalid_dpop_proof'],
    ['without a jti', { nonce: undefined, jti: undefined }, 'invalid_dpop_proof'],
    ['with an empty nonce', { nonce: '' }, 'use_dpop_nonce'],
    ['with a nonce that is null', { nonce: null }, 'use_dpop_nonce'],
    ['with a nonce of its own making', { nonce: 'A'.repeat(30) }, 'use_dpop_nonce'],
  ])('refuses a proof %s', async (_, members, error) => {
    const session = await startedSession(services)
    const seconds = Math.floor(services.clock.now.getTime() / 1000)
    const iat = 'iat' in members ? seconds + Number(members.iat) : seconds
    const parts = { services, key: await holderSigner(), nonce: '', url: urlOf(session) }
    const refused = await postToken(session, await dpopProof(parts, { payload: { ...members, iat } }))
    await expectRefusal(refused, { status: 400, error })
    expect((await postToken(session, await dpopProof(parts, WITHOUT))).status).toBe(200)
  })
})

describe('an issuer with walletAlgorithms: ["ES256"]', () => {
  let services: Services
  beforeAll(async () => {
    const trust = trusting(await makeAttester())
    services = await startServices({ ...trust, issuer: { ...trust.issuer, walletAlgorithms: ['ES256'] } })
  })
  afterAll(() => services.close())

  it('names no other in its metadata, of the final specification and of drafts', async () => {
    const id = await declare(services, { ...configuration, key_attestations_required: {} })
    const { sessionId } = await startedSession(services, { credential_configurations: [id] })
    for (const path of [
      `.well-known/openid-credential-issuer/${sessionId}`,
      `${sessionId}/.well-known/openid-credential-issuer`,
    ]) {
      const metadata = await services.fetch(`${ISSUER_URL}/${path}`)
      const text = await metadata.text()
      expect(JSON.parse(text)).toMatchObject({
        credential_configurations_supported: {
          [id]: {
            proof_types_supported: {
              jwt: { proof_signing_alg_values_supported: ['ES256'] },
              attestation: { proof_signing_alg_values_supported: ['ES256'] },
            },
          },
        },
      })
      expect(text).not.toContain('ES512')
    }
    const server = await services.fetch(`${ISSUER_URL}/.well-known/oauth-authorization-server/${sessionId}`)
    expect(await server.json()).toMatchObject({ dpop_signing_alg_values_supported: ['ES256'] })
  })

  it('refuses DPoP proofs, key proofs and key attestations by another', async () => {
    const session = await startedSession(services)
    const [key, nonce, url] = [
      await holderSigner('ES384'),
      await dpopNonce(services),
      `${TOKEN_ENDPOINT}/${session.sessionId}`,
    ]
    const why = /alg must be one of ES256$/
    const refused = await postToken(session, await dpopProof({ services, key, url, nonce }))
    await expectRefusal(refused, { status: 400, error: 'invalid_dpop_proof', why })
    const ready = await boundSession(services)
    const answer = async (changed: BoundReady, header: object) => {
      const proof = { proof_type: 'jwt', jwt: await proofOf(changed, { header: { ...header } }) }
      return services.fetch(CREDENTIAL_ENDPOINT, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `DPoP ${ready.token}`,
          dpop: await requestProof(ready),
        },
        body: JSON.stringify({ credential_configuration_id: ready.configurationId, proof }),
      })
    }
    const by384 = await answer({ ...ready, holder: await holderSigner('ES384') }, {})
    await expectRefusal(by384, { status: 400, error: 'invalid_proof', why })
    const foreign = await attestationOf(await makeAttester('Other', 'ES384'), [ready.holder.jwk], services.clock.now)
    const attested = await answer(ready, { key_attestation: foreign })
    await expectRefusal(attested, { status: 400, error: 'invalid_proof', why })
    await expectIssuedBound(ready)
  })
})
