/**
 * Attacks on the credential endpoint: its access token and the members of the request. Each is refused without effect.
 * OpenID4VCI 1.0, Credential Error Response; RFC 6750; facts section 5 items 5 and 9.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toBase64url } from '../../src/codec/base64url.ts'
import { ACCESS_TOKEN_SECONDS } from '../../src/issuer/access/access-token.ts'
import {
  CREDENTIAL_ENDPOINT,
  expectHarmless,
  expectIssued,
  expectRefusal,
  expectWithoutEffect,
  proofOf,
  type Ready,
  type Refusal,
  readySession,
  request,
  requestOf,
} from '../support/issuance.ts'
import { API_KEY, ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { declare, fetchNonce, holderSigner, requestCredential } from '../support/wire.ts'

interface RequestAttack {
  readonly attack: string
  readonly module: string
  /** The members that replace those of a right request; undefined leaves one out. */
  readonly members: (ready: Ready) => Record<string, unknown> | Promise<Record<string, unknown>>
  readonly refusal: Refusal
}

const refusal = (error: string, why?: RegExp, status = 400): Refusal => ({ status, error, ...(why ? { why } : {}) })
const INVALID = refusal('invalid_credential_request')
const PROOF = refusal('invalid_proof')
const MISSING = 'oid4vci-1_0-issuer-fail-missing-proof'
const UNKNOWN = 'oid4vci-1_0-issuer-fail-unknown-credential-configuration'
const IDENTIFIER = 'oid4vci-1_0-issuer-fail-unknown-credential-identifier'
const ENCRYPTION = 'oid4vci-1_0-issuer-fail-unsupported-encryption-algorithm'
const two = async (ready: Ready) => [await proofOf(ready), await proofOf(ready)]

const requestAttacks: readonly RequestAttack[] = [
  { attack: 'no proof', module: MISSING, members: () => ({ proof: undefined }), refusal: PROOF },
  { attack: 'a proof of null', module: MISSING, members: () => ({ proof: null }), refusal: PROOF },
  {
    attack: 'a proof that is the JWT itself',
    module: MISSING,
    members: async (ready) => ({ proof: await proofOf(ready) }),
    refusal: PROOF,
  },
  {
    attack: 'a proof in an array',
    module: MISSING,
    members: async (ready) => ({ proof: [{ proof_type: 'jwt', jwt: await proofOf(ready) }] }),
    refusal: PROOF,
  },
  { attack: 'an empty proof', module: MISSING, members: () => ({ proof: {} }), refusal: PROOF },
  {
    attack: 'no proof_type',
    module: MISSING,
    members: async (ready) => ({ proof: { jwt: await proofOf(ready) } }),
    refusal: PROOF,
  },
  {
    attack: 'another proof_type',
    module: MISSING,
    members: async (ready) => ({ proof: { proof_type: 'ldp_vp', jwt: await proofOf(ready) } }),
    refusal: PROOF,
  },
  { attack: 'no jwt', module: MISSING, members: () => ({ proof: { proof_type: 'jwt' } }), refusal: PROOF },
  {
    attack: 'a jwt that is a number',
    module: MISSING,
    members: () => ({ proof: { proof_type: 'jwt', jwt: 1 } }),
    refusal: PROOF,
  },
  {
    attack: 'proof and proofs',
    module: MISSING,
    members: async (ready) => ({ proofs: { jwt: [await proofOf(ready)] } }),
    refusal: INVALID,
  },
  { attack: 'empty proofs', module: MISSING, members: () => ({ proof: undefined, proofs: {} }), refusal: PROOF },
  { attack: 'proofs of null', module: MISSING, members: () => ({ proof: undefined, proofs: null }), refusal: PROOF },
  {
    attack: 'proofs without one',
    module: MISSING,
    members: () => ({ proof: undefined, proofs: { jwt: [] } }),
    refusal: PROOF,
  },
  {
    attack: 'proofs that are an array',
    module: MISSING,
    members: async (ready) => ({ proof: undefined, proofs: [await proofOf(ready)] }),
    refusal: PROOF,
  },
  {
    attack: 'a text as proofs.jwt',
    module: MISSING,
    members: async (ready) => ({ proof: undefined, proofs: { jwt: await proofOf(ready) } }),
    refusal: PROOF,
  },
  {
    attack: 'a number among proofs',
    module: MISSING,
    members: () => ({ proof: undefined, proofs: { jwt: [1] } }),
    refusal: PROOF,
  },
  {
    attack: 'two proofs where there are no batches',
    module: 'OpenID4VCI 1.0, Credential Issuer Metadata Parameters',
    members: async (ready) => ({ proof: undefined, proofs: { jwt: await two(ready) } }),
    refusal: refusal('invalid_proof', /at most 1 /),
  },
  {
    attack: 'proofs of another type',
    module: MISSING,
    members: async (ready) => ({ proof: undefined, proofs: { attestation: [await proofOf(ready)] } }),
    refusal: PROOF,
  },
  {
    attack: 'proofs of two types',
    module: MISSING,
    members: async (ready) => ({ proof: undefined, proofs: { jwt: [await proofOf(ready)], di_vp: [{}] } }),
    refusal: PROOF,
  },
  {
    attack: 'no configuration id',
    module: UNKNOWN,
    members: () => ({ credential_configuration_id: undefined }),
    refusal: INVALID,
  },
  {
    attack: 'a configuration id of null',
    module: UNKNOWN,
    members: () => ({ credential_configuration_id: null }),
    refusal: INVALID,
  },
  {
    attack: 'the configuration id in an array',
    module: UNKNOWN,
    members: ({ configurationId }) => ({ credential_configuration_id: [configurationId] }),
    refusal: INVALID,
  },
  {
    attack: 'an empty configuration id',
    module: UNKNOWN,
    members: () => ({ credential_configuration_id: '' }),
    refusal: refusal('unknown_credential_configuration'),
  },
  {
    attack: 'an unknown configuration id',
    module: UNKNOWN,
    members: () => ({ credential_configuration_id: 'unknown' }),
    refusal: refusal('unknown_credential_configuration'),
  },
  {
    attack: 'an unknown configuration id and no proof',
    module: UNKNOWN,
    members: () => ({ credential_configuration_id: 'unknown', proof: undefined }),
    refusal: refusal('unknown_credential_configuration'),
  },
  {
    attack: 'a configuration id named like a member of every object',
    module: UNKNOWN,
    members: () => ({ credential_configuration_id: '__proto__' }),
    refusal: refusal('unknown_credential_configuration'),
  },
  {
    attack: 'an id that is not a configuration but a session',
    module: UNKNOWN,
    members: ({ sessionId }) => ({ credential_configuration_id: sessionId }),
    refusal: refusal('unknown_credential_configuration'),
  },
  {
    attack: 'a known configuration that is not in the session',
    module: 'facts 5.5',
    members: async ({ services }) => ({ credential_configuration_id: await declare(services) }),
    refusal: refusal('insufficient_scope', undefined, 403),
  },
  {
    attack: 'the format instead of the configuration, as drafts had it',
    module: UNKNOWN,
    members: () => ({ credential_configuration_id: undefined, format: 'jwt_vc_json-ld' }),
    refusal: INVALID,
  },
  {
    attack: 'a credential identifier',
    module: IDENTIFIER,
    members: () => ({ credential_configuration_id: undefined, credential_identifier: 'a' }),
    refusal: refusal('unknown_credential_identifier'),
  },
  {
    attack: 'both identifiers',
    module: IDENTIFIER,
    members: ({ configurationId }) => ({ credential_identifier: configurationId }),
    refusal: refusal('unknown_credential_identifier'),
  },
  {
    attack: 'encryption of the response',
    module: ENCRYPTION,
    members: () => ({ credential_response_encryption: { jwk: {}, enc: 'A128GCM' } }),
    refusal: refusal('invalid_encryption_parameters'),
  },
]

interface BodyAttack {
  readonly attack: string
  readonly type: string | undefined
  readonly body: (ready: Ready) => string | Promise<string>
  readonly refusal?: Refusal
}

const bodyAttacks: readonly BodyAttack[] = [
  {
    attack: 'half of the JSON',
    type: 'application/json',
    body: async (ready) => JSON.stringify(await requestOf(ready)).slice(0, -1),
  },
  { attack: 'an empty body', type: 'application/json', body: () => '' },
  { attack: 'an empty body of no type', type: undefined, body: () => '' },
  { attack: 'null', type: 'application/json', body: () => 'null' },
  { attack: 'an array', type: 'application/json', body: async (ready) => JSON.stringify([await requestOf(ready)]) },
  { attack: 'a text', type: 'application/json', body: () => '"a"' },
  {
    attack: 'a right request with __proto__ in a member that is ignored',
    type: 'application/json',
    body: async (ready) =>
      JSON.stringify(await requestOf(ready, { 'ü"\\': 'PROTO' })).replace('"PROTO"', '{"__proto__":{}}'),
    refusal: refusal('invalid_credential_request', /\?''\.__proto__: this name is reserved/),
  },
  {
    attack: 'an array nested 100,000 deep',
    type: 'application/json',
    body: () => `{"proof":${'['.repeat(1e5)}${']'.repeat(1e5)}}`,
  },
  {
    attack: 'a form',
    type: 'application/x-www-form-urlencoded',
    body: ({ configurationId }) => `credential_configuration_id=${configurationId}`,
  },
  { attack: 'JSON called a text', type: 'text/plain', body: async (ready) => JSON.stringify(await requestOf(ready)) },
  {
    attack: 'JSON called a JWT',
    type: 'application/jwt',
    body: async (ready) => JSON.stringify(await requestOf(ready)),
    refusal: refusal('invalid_encryption_parameters'),
  },
  { attack: 'a type that is none', type: 'json', body: async (ready) => JSON.stringify(await requestOf(ready)) },
  {
    attack: 'more than 512 KiB',
    type: 'application/json',
    body: () => JSON.stringify({ padding: 'a'.repeat(2 ** 19) }),
    refusal: refusal('request_too_large', undefined, 413),
  },
]

interface TokenAttack {
  readonly attack: string
  readonly authorization: (ready: Ready) => string | undefined | Promise<string>
  /** The challenge of the refusal, if it has no error code. RFC 6750 section 3.1. */
  readonly challenge?: string
}

const part = (value: object): string => toBase64url(JSON.stringify(value))
const claims = (token: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>

const tokenAttacks: readonly TokenAttack[] = [
  { attack: 'an empty bearer', authorization: () => 'Bearer ' },
  { attack: 'a random text', authorization: () => 'Bearer c29tZXRoaW5n' },
  { attack: 'an API key', authorization: () => `Bearer ${API_KEY}` },
  { attack: 'the pre-authorized code', authorization: ({ code }) => `Bearer ${code}` },
  { attack: 'the session id', authorization: ({ sessionId }) => `Bearer ${sessionId}` },
  { attack: 'the token by Basic', authorization: ({ token }) => `Basic ${token}`, challenge: 'Bearer' },
  { attack: 'the token without a scheme', authorization: ({ token }) => token, challenge: 'Bearer' },
  { attack: 'two tokens', authorization: ({ token }) => `Bearer ${token} ${token}` },
  { attack: 'the token with a comma', authorization: ({ token }) => `Bearer ${token},` },
  {
    attack: 'the token without its signature',
    authorization: ({ token }) => `Bearer ${token.slice(0, token.lastIndexOf('.') + 1)}`,
  },
  {
    attack: 'the token with its signature changed',
    authorization: ({ token }) => `Bearer ${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`,
  },
  {
    attack: 'the token with a later exp',
    authorization: ({ token }) => {
      const [head, , signature] = token.split('.')
      return `Bearer ${head}.${part({ ...claims(token), exp: 9e9 })}.${signature}`
    },
  },
  {
    attack: 'a token of alg none',
    authorization: ({ token }) => `Bearer ${part({ alg: 'none', typ: 'at+jwt' })}.${token.split('.')[1]}.`,
  },
  {
    attack: 'a token signed by the wallet',
    authorization: async ({ token, holder }) => {
      const text = `${part({ alg: 'ES256', typ: 'at+jwt', jwk: holder.jwk })}.${part(claims(token))}`
      return `Bearer ${text}.${toBase64url(await holder.sign(Buffer.from(text)))}`
    },
  },
  { attack: 'a key proof', authorization: async (ready) => `Bearer ${await proofOf(ready)}` },
  {
    attack: 'a sub that is not text',
    authorization: () => `Bearer ${part({ alg: 'ES256' })}.${part({ sub: ['a'] })}.AA`,
  },
  { attack: 'a token of 15,000 characters', authorization: () => `Bearer ${'a'.repeat(15_000)}` },
]

describe('a credential request that is wrong', () => {
  let services: Services
  let configurationId: string
  beforeAll(async () => {
    services = await startServices()
    configurationId = await declare(services)
  })
  afterAll(() => services.close())
  const ready = () => readySession(services, { credential_configurations: [configurationId] })
  const post = (headers: Record<string, string>, body: string | null, url = CREDENTIAL_ENDPOINT) =>
    services.fetch(url, { method: 'POST', headers, body })
  const json = { 'content-type': 'application/json' }

  it.each(requestAttacks)('$attack: $refusal.error and without effect ($module)', async ({ members, refusal }) => {
    const session = await ready()
    const changes = await members(session)
    await expectHarmless(session, () => request(session, changes), refusal)
  })

  it.each(bodyAttacks)('$attack as the body: refused and without effect', async ({ type, body, refusal }) => {
    const session = await ready()
    const authorized = { authorization: `Bearer ${session.token}` }
    const headers = type === undefined ? authorized : { ...authorized, 'content-type': type }
    // A body that is there would get a type on its way.
    const sent = type === undefined ? null : await body(session)
    await expectHarmless(session, () => post(headers, sent), refusal ?? INVALID)
  })

  it.each(tokenAttacks)(
    '$attack: invalid_token and without effect (facts 5.5)',
    async ({ authorization, challenge }) => {
      const session = await ready()
      const [header, body] = [await authorization(session), JSON.stringify(await requestOf(session))]
      const attack = async () => {
        const response = await post({ ...json, authorization: header ?? '' }, body)
        expect(response.headers.get('www-authenticate')).toBe(challenge ?? 'Bearer error="invalid_token"')
        return response
      }
      await expectHarmless(session, attack, { status: 401, error: 'invalid_token' })
    },
  )

  it('answers no token with a challenge that has no error, before it looks at the body', async () => {
    for (const body of [JSON.stringify({}), '{', 'a'.repeat(2 ** 20 + 1)]) {
      const response = await post(json, body)
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      await expectRefusal(response, { status: 401, error: 'invalid_token' })
    }
  })

  it('refuses the token in the query (oid4vci-1_0-issuer-fail-on-access-token-in-query)', async () => {
    const session = await ready()
    const body = JSON.stringify(await requestOf(session))
    const url = `${CREDENTIAL_ENDPOINT}?access_token=${session.token}`
    await expectHarmless(session, () => post(json, body, url), { status: 401, error: 'invalid_token' })
  })

  it('refuses the token in the body', async () => {
    const session = await ready()
    const body = JSON.stringify(await requestOf(session, { access_token: session.token }))
    await expectHarmless(session, () => post(json, body), { status: 401, error: 'invalid_token' })
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    await expectRefusal(await post(form, `access_token=${session.token}`), { status: 401, error: 'invalid_token' })
  })

  it('refuses an access token at administrative endpoints', async () => {
    const session = await ready()
    const response = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/status/${session.sessionId}`, {
      headers: { authorization: `Bearer ${session.token}` },
    })
    await expectRefusal(response, { status: 401, error: 'unauthorized' })
  })

  it('refuses a token that has expired, also when its session has not', async () => {
    const real = services.clock.now
    const session = await ready()
    services.clock.now = new Date(real.getTime() + ACCESS_TOKEN_SECONDS * 1000)
    const nonce = await fetchNonce(services, session.sessionId)
    await expectWithoutEffect(services, () => request({ ...session, nonce }), {
      status: 401,
      error: 'invalid_token',
      why: /expired/,
    })
    services.clock.now = new Date(real.getTime() + ACCESS_TOKEN_SECONDS * 1000 - 1)
    await expectIssued({ ...session, nonce })
    services.clock.now = real
  })

  it('opens only the session of the token, whatever the proof says', async () => {
    const [a, b] = [await ready(), await ready()]
    await expectHarmless(
      a,
      () =>
        requestCredential(services, a.token, {
          credential_configuration_id: configurationId,
          proof: { proof_type: 'jwt', jwt: 'x' },
        }),
      PROOF,
    )
    const mixed = { ...b, token: a.token, nonce: await fetchNonce(services, b.sessionId) }
    await expectWithoutEffect(services, () => request(mixed), { status: 400, error: 'invalid_proof', why: /aud/ })
    await expectIssued(b)
  })

  it('refuses the configuration of session B to the token of A, which is for another', async () => {
    const other = await declare(services)
    const [a, b] = [await ready(), await readySession(services, { credential_configurations: [other] })]
    await expectHarmless(a, () => request(a, { credential_configuration_id: b.configurationId }), {
      status: 403,
      error: 'insufficient_scope',
    })
    await expectIssued(b)
  })

  it('refuses a token of another issuer with the same session id', async () => {
    const other = await startServices()
    const session = await readySession(other)
    const body = JSON.stringify(await requestOf(session))
    const response = await post({ ...json, authorization: `Bearer ${session.token}` }, body)
    await expectRefusal(response, { status: 401, error: 'invalid_token' })
    await other.close()
  })

  it('ignores members that it does not know, and takes charset and proofs', async () => {
    const session = await ready()
    const body = await requestOf(session, {
      proof: undefined,
      proofs: { jwt: [await proofOf(session)] },
      xyz: { a: [1] },
    })
    const headers = { authorization: `bearer ${session.token}`, 'content-type': 'application/json; charset=utf-8' }
    expect((await post(headers, JSON.stringify(body))).status).toBe(200)
  })

  it('takes another proof with the same token, for a wallet that lost the answer', async () => {
    const session = await ready()
    const first = await expectIssued(session)
    const again = { ...session, holder: await holderSigner(), nonce: await fetchNonce(services, session.sessionId) }
    expect(await expectIssued(again)).not.toBe(first)
  })
})
