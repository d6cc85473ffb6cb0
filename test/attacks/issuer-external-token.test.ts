/**
 * Attacks with access tokens of an external authorization server, and faults of that server. Each token is refused,
 * nothing that is stored changes, and the right one still opens its session. RFC 9068 section 4; RFC 8725; RFC 7662
 * section 4.
 */
import { createPublicKey } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { JsonObject } from '../../src/codec/json.ts'
import {
  claimsOf,
  INTROSPECTION_URL,
  JWKS_URI,
  METADATA_URL,
  makeTestKey,
  publicJwk,
  SERVER,
  signToken,
  type TestKey,
  type TestServer,
  testServer,
} from '../support/authorization-server.ts'
import {
  dump,
  expectIssued,
  expectRefusal,
  expectWithoutEffect,
  type Ready,
  type Refusal,
  request,
} from '../support/issuance.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { declare, fetchNonce, holderSigner, startIssuance } from '../support/wire.ts'

let services: Services
let server: TestServer
let keys: Record<'current' | 'next' | 'rsa' | 'pss' | 'stranger', TestKey>
let configurationId: string
let codes = 0

beforeAll(async () => {
  keys = {
    current: await makeTestKey('ES256', 'one'),
    next: await makeTestKey('EdDSA', 'two'),
    rsa: await makeTestKey('RS256', 'rsa'),
    pss: await makeTestKey('PS256', 'pss'),
    stranger: await makeTestKey('ES256', 'one'),
  }
})

async function start(settings: object = {}, more: object = {}): Promise<void> {
  server = testServer([keys.current])
  const authorizationServer = { issuer: SERVER, ...settings }
  services = await startServices({ issuer: { authorizationServer, ...more }, outbound: server.outbound })
  configurationId = await declare(services)
}

/** Starts a session, and returns the token that the server gives for its code. */
async function ready(claims: object = {}): Promise<Ready> {
  codes += 1
  const code = `code-of-the-server-${codes}`
  const started = { credential_configurations: [configurationId], 'pre-authorized_code': code }
  const { sessionId } = await startIssuance(services, started)
  return {
    services,
    configurationId,
    sessionId,
    code,
    form: {},
    holder: await holderSigner(),
    token: await signToken(keys.current, { ...claimsOf(code, services.clock), ...claims }),
    nonce: await fetchNonce(services, sessionId),
    audience: `${ISSUER_URL}/${sessionId}`,
  }
}

async function expectRefused(good: Ready, token: string, refusal: Refusal): Promise<void> {
  await expectWithoutEffect(services, () => request({ ...good, token }), refusal)
}

/** Sets the clock to another day, when what was fetched before counts no longer. */
function tomorrow(): void {
  server.reset()
  later(86_400)
}

const later = (seconds: number): void => {
  services.clock.now = new Date(services.clock.now.getTime() + seconds * 1000)
}
const INVALID = { status: 401, error: 'invalid_token' } as const
const BOUND = { ...INVALID, challenge: /^DPoP error="invalid_token", algs="/ } as const
const UNAVAILABLE = { status: 503, error: 'temporarily_unavailable' } as const

describe('an access token of the external server', () => {
  beforeAll(() => start())
  afterAll(() => services.close())

  interface Attack {
    readonly attack: string
    readonly token: (claims: JsonObject, good: string) => Promise<string> | string
    readonly why: RegExp
    readonly refusal?: Pick<Refusal, 'status' | 'error'>
  }
  const withClaims = (attack: string, changes: () => object, why: RegExp, refusal?: Attack['refusal']): Attack => ({
    attack,
    token: (claims) => signToken(keys.current, { ...claims, ...changes() }),
    why,
    ...(refusal && { refusal }),
  })
  const withHeader = (attack: string, header: object, why: RegExp): Attack => ({
    attack,
    token: (claims) => signToken(keys.current, claims, header),
    why,
  })
  const at = (seconds: number): number => Math.floor(services.clock.now.getTime() / 1000) + seconds
  const SIGNATURE = /not signed by a key of its issuer/

  const attacks: readonly Attack[] = [
    { attack: 'that is opaque', token: () => 'opaque', why: /not a JWT/ },
    { attack: 'of four parts', token: (_, good) => `${good}.a`, why: /not a JWT/ },
    withHeader('without typ', { typ: undefined }, /typ/),
    withHeader('that is an ID token', { typ: 'JWT' }, /typ/),
    withHeader('that is a key proof', { typ: 'openid4vci-proof+jwt' }, /typ/),
    withHeader('with critical extensions', { crit: ['exp'] }, /not a JWT/),
    withHeader('with a kid of another key', { kid: 'two' }, SIGNATURE),
    withHeader('with a kid that is not text', { kid: ['one'] }, SIGNATURE),
    withHeader('with another alg', { alg: 'ES384' }, SIGNATURE),
    withHeader('with an alg named like a member of every object', { alg: '__proto__' }, SIGNATURE),
    {
      attack: 'with its key in the header',
      token: (claims) => signToken(keys.stranger, claims, { jwk: publicJwk(keys.stranger), kid: undefined }),
      why: SIGNATURE,
    },
    {
      attack: 'signed by another key of the same kid',
      token: (claims) => signToken(keys.stranger, claims),
      why: SIGNATURE,
    },
    {
      attack: 'with alg none and no signature',
      token: async (claims) => (await signToken(keys.current, claims, { alg: 'none' })).replace(/\.[^.]*$/, '.'),
      why: SIGNATURE,
    },
    {
      attack: 'with HS256 and the public key as the secret',
      token: (claims) => signToken({ ...keys.current, alg: 'HS256', key: createPublicKey(keys.current.key) }, claims),
      why: SIGNATURE,
    },
    {
      attack: 'with other claims under the signature',
      token: (claims, good) => {
        const [header, , signature] = good.split('.')
        const payload = Buffer.from(JSON.stringify({ ...claims, sub: 'another' })).toString('base64url')
        return `${header}.${payload}.${signature}`
      },
      why: SIGNATURE,
    },
    withClaims('without iss', () => ({ iss: undefined }), /another issuer/),
    withClaims('of another issuer', () => ({ iss: 'https://evil.example' }), /another issuer/),
    withClaims('of the issuer with a slash', () => ({ iss: `${SERVER}/` }), /another issuer/),
    withClaims('of this service', () => ({ iss: ISSUER_URL }), /another issuer/),
    withClaims('without aud', () => ({ aud: undefined }), /audience/),
    withClaims('for another audience', () => ({ aud: 'https://other.example' }), /audience/),
    withClaims('for the session of another', () => ({ aud: `${ISSUER_URL}/other` }), /audience/),
    withClaims('for other audiences', () => ({ aud: [['a'], `${ISSUER_URL}.evil.example`] }), /audience/),
    withClaims('without exp', () => ({ exp: undefined }), /exp/),
    withClaims('with an exp that is a text', () => ({ exp: String(at(300)) }), /exp/),
    withClaims('that expired 60 s ago', () => ({ exp: at(-60) }), /expired/),
    withClaims('that is not good for 61 s', () => ({ nbf: at(61) }), /not valid yet/),
    withClaims('with an nbf that is a text', () => ({ nbf: '1' }), /nbf/),
    withClaims('without iat', () => ({ iat: undefined }), /iat/),
    withClaims('issued in 61 s', () => ({ iat: at(61) }), /future/),
    withClaims('bound to a key of DPoP', () => ({ cnf: { jkt: 'a' } }), /bound to a key/, BOUND),
    withClaims('bound to a certificate', () => ({ cnf: { 'x5t#S256': 'a' } }), /bound to a key/),
    withClaims('of a session that nobody started', () => ({ 'pre-authorized_code': 'another-code-here' }), /unknown/),
    withClaims('of the client credentials grant', () => ({ 'pre-authorized_code': undefined }), /no issuance session/, {
      status: 403,
      error: 'insufficient_scope',
    }),
    withClaims('with an object for a code', () => ({ 'pre-authorized_code': {} }), /no issuance session/, {
      status: 403,
      error: 'insufficient_scope',
    }),
  ]

  it.each(attacks)('$attack is refused', async ({ token, why, refusal = INVALID }) => {
    const good = await ready()
    await expectRefused(good, await token(claimsOf(good.code, services.clock), good.token), { ...refusal, why })
    await expectIssued(good)
  })

  it('does not open a session by its id, nor by the code of another', async () => {
    const [mine, other] = [await ready(), await ready()]
    const byId = await signToken(keys.current, claimsOf(mine.sessionId, services.clock))
    await expectRefused(mine, byId, { ...INVALID, why: /unknown/ })
    // The proof is for the session of the other, so that the token decides which it is.
    const response = await request({ ...mine, token: other.token })
    await expectRefusal(response, { status: 400, error: 'invalid_proof' })
  })

  it.each([
    ['a typ with its prefix, in capitals', {}, { typ: 'application/AT+JWT' }],
    ['the session as audience', { aud: 'SESSION' }, {}],
    ['several audiences', { aud: ['https://other.example', `${ISSUER_URL}/`] }, {}],
    ['no kid', {}, { kid: undefined }],
  ])('issues for a token with %s', async (_, changes: { readonly aud?: unknown }, header) => {
    const good = await ready()
    const aud = changes.aud === 'SESSION' ? good.audience : (changes.aud ?? ISSUER_URL)
    const token = await signToken(keys.current, { ...claimsOf(good.code, services.clock), aud }, header)
    await expectIssued({ ...good, token })
  })

  it('is taken as long as clocks may differ, and no longer', async () => {
    const good = await ready({ exp: at(-59), nbf: at(60), iat: at(60) })
    await expectIssued(good)
  })

  it('opens its session until that expires, however long it says itself', async () => {
    const good = await ready({ exp: at(86_400) })
    const before = services.clock.now
    later(600)
    await expectRefused(good, good.token, { ...INVALID, why: /session has expired/ })
    services.clock.now = before
    await expectIssued(good)
  })

  it('uses up the offer with its first credential', async () => {
    const good = await ready()
    const offer = () => services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${good.sessionId}`)
    expect((await offer()).status).toBe(200)
    await expectIssued(good)
    await expectRefusal(await offer(), { status: 410, error: 'gone', why: /has been used/ })
  })

  it('leaves neither itself nor its code in the database or the log', async () => {
    const good = await ready()
    await expectIssued(good)
    const stored = (await dump(services)) + JSON.stringify(await services.issuerStore.list('pre_authorized_code'))
    expect(stored).toContain(good.sessionId)
    for (const secret of [good.code, good.token]) {
      expect(stored).not.toContain(secret)
      expect(services.logLines.join('')).not.toContain(secret)
    }
  })
})

describe('the keys of the external server', () => {
  beforeAll(() => start())
  beforeEach(tomorrow)
  afterAll(() => services.close())

  it('are fetched once for many tokens, and again after ten minutes', async () => {
    const all = await Promise.all(Array.from({ length: 20 }, () => ready()))
    await Promise.all(all.map(expectIssued))
    expect(server.fetches()).toBe(1)
    later(600)
    await expectIssued(await ready())
    expect(server.fetches()).toBe(2)
  })

  it('are fetched again for a new kid, so that a rotation is not noticed', async () => {
    const before = await ready()
    await expectIssued(before)
    later(10)
    server.keys = [keys.next, keys.current]
    const after = await ready()
    await expectIssued({ ...after, token: await signToken(keys.next, claimsOf(after.code, services.clock)) })
    await expectIssued({ ...before, nonce: await fetchNonce(services, before.sessionId) })
  })

  it('may change while many tokens are on their way: each counts, and they are fetched once', async () => {
    await expectIssued(await ready())
    later(10)
    const all = await Promise.all(Array.from({ length: 20 }, () => ready()))
    const fetched = server.fetches()
    server.keys = [keys.next, keys.current]
    await Promise.all(
      all.map(async (each, index) => {
        const token = index % 2 === 0 ? each.token : await signToken(keys.next, claimsOf(each.code, services.clock))
        await expectIssued({ ...each, token })
      }),
    )
    expect(server.fetches()).toBe(fetched + 1)
  })

  it('are not fetched for each kid that somebody makes up', async () => {
    const good = await ready()
    await expectIssued(good)
    later(11)
    const fetched = server.fetches()
    for (let count = 0; count < 50; count++) {
      const token = await signToken(keys.stranger, claimsOf(good.code, services.clock), { kid: `made-up-${count}` })
      await expectRefused(good, token, INVALID)
    }
    expect(server.fetches()).toBe(fetched + 1)
  })

  it('count no longer when the server took them back', async () => {
    await expectIssued(await ready())
    server.keys = [keys.next]
    later(600)
    const good = await ready()
    await expectRefused(good, good.token, INVALID)
  })

  it('serve for an hour when the server is down, and then no token is taken', async () => {
    await expectIssued(await ready())
    server.answers.delete(JWKS_URI)
    later(3599)
    const good = await ready()
    await expectIssued(good)
    expect(services.logLines.join('')).toContain('authorization_server_unreachable')
    later(1)
    const late = await ready()
    await expectRefused(late, late.token, UNAVAILABLE)
  })

  it.each([
    ['is down', undefined],
    ['is broken', 500],
    ['redirects', 302],
    ['sends no JSON', '<html>'],
    ['sends no keys', {}],
    ['sends a list', []],
    ['sends too much', JSON.stringify({ keys: [], padding: 'a'.repeat(300_000) })],
    ['sends too many keys', { keys: Array.from({ length: 101 }, () => ({})) }],
  ])('cannot be had from a server that %s: 503, and no more than one request in ten seconds', async (_, answer) => {
    if (answer === undefined) server.answers.delete(JWKS_URI)
    else server.answers.set(JWKS_URI, answer)
    const good = await ready()
    await expectRefused(good, good.token, UNAVAILABLE)
    await expectRefused(good, good.token, UNAVAILABLE)
    expect(server.fetches()).toBe(1)
    server.answers.set(JWKS_URI, { keys: [publicJwk(keys.current)] })
    later(10)
    await expectIssued(good)
  })

  it('cannot be had when asking fails by a mistake of the service, whose place in the code the log has', async () => {
    const mistake = new TypeError('a text for nobody')
    server.answers.set(METADATA_URL, () => Promise.reject(mistake))
    const good = await ready()
    await expectRefused(good, good.token, UNAVAILABLE)
    const line = services.logLines.findLast((each) => each.includes('a text for nobody')) ?? '{}'
    expect(JSON.parse(line)).toMatchObject({
      event: 'refused',
      cause: expect.stringMatching(/^a text for nobody; .*: connection refused$/) as string,
      thrown: {
        name: 'AggregateError',
        errors: [
          { name: 'TypeError', stack: expect.stringContaining('issuer-external-token.test.ts') as string },
          { name: 'ProtocolError', cause: { cause: { name: 'OutboundError' } } },
        ],
      },
    })
  })

  it('are not fetched for a token that is refused anyway', async () => {
    const good = await ready()
    const claims = claimsOf(good.code, services.clock)
    for (const changes of [{ iss: 'https://evil.example' }, { exp: 1 }, { exp: undefined }]) {
      await expectRefused(good, await signToken(keys.stranger, { ...claims, ...changes }), INVALID)
    }
    expect(server.requests).toEqual([])
  })

  it.each(['RS256', 'PS256'] as const)('may be for %s', async (alg) => {
    server.keys = [keys.current, alg === 'RS256' ? keys.rsa : keys.pss]
    const rest = await ready()
    const signer = alg === 'RS256' ? keys.rsa : keys.pss
    const crossed = { ...signer, alg: alg === 'RS256' ? 'PS256' : 'RS256' }
    const claims = claimsOf(rest.code, services.clock)
    const good = { ...rest, token: await signToken(signer, claims) }
    await expectRefused(good, await signToken(crossed, claims), INVALID)
    await expectIssued(good)
  })

  it('are passed over when they are short RSA keys, private, symmetric, or to encrypt with', async () => {
    const short = await makeTestKey('RS256', 'short', 1024)
    const usable = publicJwk(keys.current)
    const bad = { ...usable, kid: 'bad' }
    const good = await ready()
    server.answers.set(JWKS_URI, {
      keys: [
        publicJwk(short),
        { ...bad, use: 'enc' },
        { ...bad, alg: 'ECDH-ES' },
        { ...bad, key_ops: ['sign'] },
        { ...bad, d: 'AAAA' },
        { kty: 'oct', kid: 'bad', k: 'AAAA' },
        { ...publicJwk(keys.rsa), kid: 'bad', e: 'Aw' },
        null,
        'key',
        usable,
      ],
    })
    const claims = claimsOf(good.code, services.clock)
    await expectRefused(good, await signToken(short, claims), INVALID)
    for (const signer of [keys.current, keys.rsa]) {
      await expectRefused(good, await signToken(signer, claims, { kid: 'bad' }), INVALID)
    }
    await expectIssued(good)
  })
})

describe('the metadata of the external server', () => {
  const OPENID = `${SERVER}/.well-known/openid-configuration`
  const right = { issuer: SERVER, jwks_uri: JWKS_URI }
  beforeAll(() => start())
  beforeEach(tomorrow)
  afterAll(() => services.close())

  async function refusedWith(metadata: unknown): Promise<void> {
    server.answers.set(METADATA_URL, metadata)
    const good = await ready()
    await expectRefused(good, good.token, UNAVAILABLE)
    expect(server.requests.map(({ url }) => url).filter((url) => url !== METADATA_URL && url !== OPENID)).toEqual([])
  }

  it.each([
    ['is about another issuer', { ...right, issuer: 'https://evil.example' }],
    ['names no issuer', { jwks_uri: JWKS_URI }],
    ['names no keys', { issuer: SERVER }],
    ['names keys that are not a URL', { ...right, jwks_uri: '/jwks' }],
    ['names keys without TLS', { ...right, jwks_uri: 'http://login.example/jwks' }],
    ['is none', 404],
  ])('opens nothing when it %s', (_, metadata) => refusedWith(metadata))

  it('is that of OpenID Connect where there is no other', async () => {
    server.answers.set(METADATA_URL, 404)
    server.answers.set(OPENID, right)
    await expectIssued(await ready())
  })

  it('leads to addresses of this network only where they are its own', async () => {
    server.answers.set(METADATA_URL, { ...right, jwks_uri: 'https://keys.example/jwks' })
    server.answers.set('https://keys.example/jwks', { keys: [publicJwk(keys.current)] })
    await expectIssued(await ready())
    expect(server.requests.map(({ url, allowPrivateAddresses }) => [url, allowPrivateAddresses])).toEqual([
      [METADATA_URL, true],
      ['https://keys.example/jwks', false],
    ])
  })
})

describe('the settings of the external server', () => {
  it('name keys, an audience and a claim, and its metadata is not asked for', async () => {
    await start({ jwksUri: JWKS_URI, audience: 'https://api.example', sessionClaim: 'session' })
    const good = await ready()
    const claims = { ...claimsOf('', services.clock), aud: 'https://api.example', session: good.code }
    await expectRefused(good, good.token, { status: 403, error: 'insufficient_scope' })
    const elsewhere = await signToken(keys.current, { ...claims, aud: ISSUER_URL })
    await expectRefused(good, elsewhere, { ...INVALID, why: /audience/ })
    await expectIssued({ ...good, token: await signToken(keys.current, claims) })
    expect(server.requests.map(({ url }) => url)).toEqual([JWKS_URI])
    await services.close()
  })
})

describe('introspection', () => {
  const TOKEN = 'opaque-token'
  let said: Record<string, unknown>
  let good: Ready
  const introspection = { clientId: 'is:suer', clientSecret: 'sécret &+%' }
  const asked = () => server.requests.filter(({ url }) => url === INTROSPECTION_URL)

  beforeAll(() => start({ introspection }))
  afterAll(() => services.close())
  beforeEach(async () => {
    tomorrow()
    good = { ...(await ready()), token: TOKEN }
    said = { ...claimsOf(good.code, services.clock), active: true }
    server.answers.set(INTROSPECTION_URL, () => said)
  })

  it('opens the session of an opaque token, asking once as the configured client', async () => {
    await expectIssued(good)
    await expectIssued({ ...good, nonce: await fetchNonce(services, good.sessionId) })
    const [{ method, headers = {}, body } = { method: undefined }, ...more] = asked()
    expect(more).toEqual([])
    expect([method, body]).toEqual(['POST', `token=${TOKEN}&token_type_hint=access_token`])
    const [, credentials = ''] = /^Basic (.*)$/.exec(headers.authorization ?? '') ?? []
    // RFC 6749 section 2.3.1: each encoded as in a form.
    expect(Buffer.from(credentials, 'base64').toString()).toBe('is%3Asuer:s%C3%A9cret+%26%2B%25')
  })

  it('asks again after five seconds, and then a revoked token is refused', async () => {
    await expectIssued(good)
    said = { active: false }
    later(5)
    await expectRefused(good, TOKEN, { ...INVALID, why: /not active/ })
    expect(asked()).toHaveLength(2)
  })

  it.each([
    ['that the token is not active', () => ({ active: false }), INVALID],
    ['active as a text', () => ({ active: 'true' }), INVALID],
    ['nothing', () => ({ active: undefined }), INVALID],
    ['another issuer', () => ({ iss: 'https://evil.example' }), INVALID],
    ['another audience', () => ({ aud: 'https://other.example' }), INVALID],
    ['that it has expired', () => ({ exp: 1 }), INVALID],
    ['that it is bound to a key', () => ({ cnf: { jkt: 'a' } }), BOUND],
    ['an unknown session', () => ({ 'pre-authorized_code': 'unknown-code-of-nobody' }), INVALID],
    ['no session', () => ({ 'pre-authorized_code': undefined }), { status: 403, error: 'insufficient_scope' } as const],
  ])('that says %s opens nothing', async (_, changes, refusal) => {
    said = { ...said, ...changes() }
    await expectRefused(good, TOKEN, refusal)
  })

  it('may leave out issuer, audience and times', async () => {
    said = { active: true, 'pre-authorized_code': good.code }
    await expectIssued(good)
  })

  it.each([401, 500, undefined, '<html>'])('that is answered with %s opens nothing for now', async (answer) => {
    if (answer === undefined) server.answers.delete(INTROSPECTION_URL)
    else server.answers.set(INTROSPECTION_URL, answer)
    await expectRefused(good, TOKEN, UNAVAILABLE)
  })

  it('does not read tokens itself, signed or not', async () => {
    said = { active: false }
    const token = await signToken(keys.current, claimsOf(good.code, services.clock))
    await expectRefused(good, token, { ...INVALID, why: /not active/ })
  })

  it('is asked about ten tokens of one network at once and no more, and tokens that were good before come first', async () => {
    await expectIssued(good)
    later(5)
    let release: () => void = () => undefined
    const slow = new Promise<void>((resolve) => {
      release = resolve
    })
    server.answers.set(INTROSPECTION_URL, async ({ body }: { readonly body: string }) => {
      if (body.includes('random')) await slow
      return body.includes('random') ? { active: false } : said
    })
    const responses = Array.from({ length: 60 }, (_, count) => request({ ...good, token: `random-${count}` }))
    const statuses = Promise.all(responses.map(async (response) => (await response).status))
    await vi.waitUntil(() => asked().length >= 11, { timeout: 60_000, interval: 5 })
    // Not 5xx, which tells operators of errors of the service: one client alone can cause this at any time.
    await expectRefused(good, 'new', { status: 429, error: 'too_many_requests', why: /from this network/ })
    await expectIssued({ ...good, nonce: await fetchNonce(services, good.sessionId) })
    release()
    expect((await statuses).filter((status) => status === 429)).toHaveLength(50)
    expect((await statuses).filter((status) => status === 401)).toHaveLength(10)
  })
})

describe('introspection with an audience', () => {
  it('wants to hear of the audience', async () => {
    await start({ introspection: { clientId: 'a', clientSecret: 'b' }, audience: 'https://api.example' })
    const good = { ...(await ready()), token: 'opaque' }
    const said: Record<string, unknown> = { active: true, 'pre-authorized_code': good.code }
    server.answers.set(INTROSPECTION_URL, () => said)
    await expectRefused(good, 'opaque', { ...INVALID, why: /audience/ })
    said.aud = 'https://api.example'
    await expectIssued({ ...good, token: 'other' })
    await services.close()
  })
})

describe('a Bearer token of the external server', () => {
  it('opens nothing where every token has to be bound to a key', async () => {
    await start({}, { dpop: 'required' })
    const good = await ready()
    await expectRefused(good, good.token, { ...BOUND, why: /bound to no key; request one with a DPoP proof/ })
    await services.close()
  })
})
