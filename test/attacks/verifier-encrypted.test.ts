/**
 * Attacks on encrypted responses: downgrades, other algorithms, other keys, what is inside, what comes twice. What
 * cannot be decrypted or read leaves the session as it was.
 */
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { CompactSign, type JWK } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makePrivateJwk } from '../../src/keys/private-jwk.ts'
import { responseKeyThumbprint } from '../../src/verifier/response-encryption.ts'
import { encryptedResponse, type JweParts, responseKey } from '../support/encryption.ts'
import { makeForgery, putTogether, type World } from '../support/forge.ts'
import { haipVerifier } from '../support/haip.ts'
import { usualProfile } from '../support/profiles.ts'
import { makeKey, startServices, VERIFIER_URL } from '../support/services.ts'
import {
  dcqlQuery,
  holderSigner,
  issueCredential,
  postForm,
  type RequestObject,
  startVerification,
  statusOf,
} from '../support/wire.ts'

const ENCRYPTED = '/presentation/oid4vp/encrypted-authorization-response/'
const PLAIN = '/presentation/oid4vp/authorization-response/'

interface Session {
  readonly sessionId: string
  readonly request: RequestObject
  /** The members of a good response. */
  readonly members: { readonly vp_token: { readonly card: readonly string[] }; readonly state: string }
}

interface Row {
  readonly attack: string
  /** The form that is posted. */
  readonly form: (session: Session) => Record<string, string> | Promise<Record<string, string>>
  readonly says: RegExp
  readonly status?: number
}

const jwe = (parts: JweParts | ((session: Session) => JweParts | Promise<JweParts>)) => async (session: Session) => ({
  response: await encryptedResponse(
    session.request,
    session.members,
    typeof parts === 'function' ? await parts(session) : parts,
  ),
})
const inside = (change: (members: Session['members']) => unknown) => async (session: Session) => ({
  response: await encryptedResponse(session.request, change(session.members)),
})
/** A good JWE, and its header changed without the key. */
const header = (change: object) => async (session: Session) => {
  const [first = '', ...rest] = (await encryptedResponse(session.request, session.members)).split('.')
  const changed = { ...(JSON.parse(Buffer.from(first, 'base64url').toString()) as object), ...change }
  return { response: [Buffer.from(JSON.stringify(changed)).toString('base64url'), ...rest].join('.') }
}
const stranger = makePrivateJwk(randomBytes)
const strangerPublic = { kty: stranger.kty, crv: stranger.crv, x: stranger.x, y: stranger.y }

const unreadable: readonly Row[] = [
  { attack: 'a vp_token in the clear', form: ({ members }) => plain(members), says: /neither response/ },
  {
    attack: 'a vp_token in the clear beside an empty response',
    form: ({ members }) => ({ ...plain(members), response: '' }),
    says: /neither response/,
  },
  { attack: 'nothing', form: () => ({ state: 'x' }), says: /neither response/ },
  { attack: 'text that is not a JWE', form: () => ({ response: 'hello' }), says: /response: a JWE has five parts/ },
  {
    attack: 'a vp_token for a JWE',
    form: ({ members }) => ({ response: plain(members).vp_token }),
    says: /initialization vector/,
  },
  { attack: 'the algorithm RSA-OAEP', form: jwe(rsa), says: /alg is not ECDH-ES/ },
  { attack: 'the algorithm dir', form: header({ alg: 'dir' }), says: /alg is not ECDH-ES/ },
  {
    attack: 'the algorithm ECDH-ES+A128KW',
    form: jwe({ header: { alg: 'ECDH-ES+A128KW' } }),
    says: /alg is not ECDH-ES/,
  },
  { attack: 'the algorithm PBES2', form: header({ alg: 'PBES2-HS256+A128KW', p2c: 1e9, p2s: 'AAAA' }), says: /alg is/ },
  { attack: 'the algorithm none', form: header({ alg: 'none' }), says: /alg is/ },
  {
    attack: 'the encryption A128CBC-HS256',
    form: jwe({ header: { enc: 'A128CBC-HS256' } }),
    says: /vector|enc is not/,
  },
  {
    attack: 'the encryption A192GCM',
    form: jwe({ header: { enc: 'A192GCM' } }),
    says: /enc is not A128GCM or A256GCM/,
  },
  { attack: 'a bomb', form: jwe({ header: { zip: 'DEF' }, plaintext: bomb() }), says: /compressed \(zip\)/ },
  { attack: 'a compressed response', form: jwe({ header: { zip: 'DEF' } }), says: /compressed \(zip\)/ },
  { attack: 'another kid', form: jwe({ header: { kid: 'k' } }), says: /kid is not that of the key/ },
  {
    attack: 'no kid, and another key',
    form: jwe({ header: { kid: undefined }, jwk: strangerPublic }),
    says: /cannot be decrypted with the key that is published/,
  },
  { attack: 'the kid of the key, and another key', form: jwe({ jwk: strangerPublic }), says: /cannot be decrypted/ },
  { attack: 'an extension that must be understood', form: header({ crit: ['exp'], exp: 1 }), says: /critical/ },
  { attack: 'a key off the curve', form: header({ epk: { ...strangerPublic, y: stranger.x } }), says: /epk: .*curve/ },
  { attack: 'a private key', form: header({ epk: stranger }), says: /epk: the key is a private one/ },
  { attack: 'a key on another curve', form: header({ epk: p384() }), says: /epk: it is not on P-256/ },
  {
    attack: 'the key of the session for that of the sender',
    form: (session) => {
      const { kty, crv, x, y } = responseKey(session.request)
      return header({ epk: { kty, crv, x, y } })(session)
    },
    says: /cannot be decrypted/,
  },
  { attack: 'no key', form: header({ epk: undefined }), says: /epk: it is missing/ },
  {
    attack: 'a JWE in the JWE',
    form: jwe(async ({ request, members }) => ({ plaintext: await encryptedResponse(request, members) })),
    says: /unsigned JSON object/,
  },
  { attack: 'a signed payload', form: jwe(signed), says: /unsigned JSON object/ },
  { attack: 'an array in the JWE', form: inside((members) => [members]), says: /not a JSON object/ },
  { attack: 'a text in the JWE', form: inside(() => 'vp_token'), says: /not a JSON object/ },
  { attack: 'null in the JWE', form: inside(() => null), says: /not a JSON object/ },
  { attack: 'nothing in the JWE', form: jwe({ plaintext: '' }), says: /decrypted|not JSON/ },
  { attack: 'an empty object', form: inside(() => ({})), says: /neither vp_token nor error/ },
  {
    attack: 'a vp_token that is a text and no JSON',
    form: inside((all) => ({ ...all, vp_token: 'card' })),
    says: /vp_token: it is not JSON/,
  },
  {
    attack: 'a vp_token that is the text of an array',
    form: inside((all) => ({ ...all, vp_token: '["x"]' })),
    says: /vp_token: it is not a JSON object/,
  },
  {
    attack: 'a vp_token that is a text of a text',
    form: inside((all) => ({ ...all, vp_token: JSON.stringify(JSON.stringify(all.vp_token)) })),
    says: /vp_token: it is not a JSON object/,
  },
  {
    attack: 'a vp_token whose text has a query twice',
    form: inside((all) => ({ ...all, vp_token: '{"card":[],"card":["x"]}' })),
    says: /vp_token: card: .*twice/,
  },
  {
    attack: 'a vp_token whose text is too deep',
    form: inside((all) => ({ ...all, vp_token: deep(40) })),
    says: /vp_token: .*nested deeper/,
  },
  {
    attack: 'a vp_token that is an array',
    form: inside((all) => ({ ...all, vp_token: ['x'] })),
    says: /not a JSON obj/,
  },
  { attack: 'a vp_token that is null', form: inside((all) => ({ ...all, vp_token: null })), says: /not a JSON obj/ },
  {
    attack: 'a presentation outside of an array',
    form: inside((all) => ({ ...all, vp_token: { card: all.vp_token.card[0] } })),
    says: /must be an array/,
  },
  {
    attack: 'an object for a presentation',
    form: inside((all) => ({ ...all, vp_token: { card: [{}] } })),
    says: /string/,
  },
  {
    attack: 'more presentations than anybody needs',
    form: inside((all) => ({ ...all, vp_token: { card: Array<string>(21).fill('x') } })),
    says: /20/,
  },
  {
    attack: 'the state of another session',
    form: inside((all) => ({ ...all, state: 'A'.repeat(22) })),
    says: /state is/,
  },
  { attack: 'a state that is not text', form: inside((all) => ({ ...all, state: 1 })), says: /state must be a string/ },
  {
    attack: 'an error that is not text',
    form: inside((all) => ({ ...all, error: {} })),
    says: /error must be a string/,
  },
  { attack: 'too deep an object', form: jwe({ plaintext: deep(40) }), says: /nested deeper/ },
  { attack: 'an object without end', form: jwe({ plaintext: '['.repeat(100_000) }), says: /not JSON/ },
  {
    attack: 'an error with the state of another session',
    form: () => ({ error: 'access_denied', state: 'A' }),
    says: /state is not/,
  },
  { attack: 'two megabytes', form: () => ({ response: 'x'.repeat(2 ** 21) }), says: /too large/, status: 413 },
]

describe('attacks on encrypted responses', () => {
  let world: World
  beforeAll(async () => {
    const services = await startServices(haipVerifier)
    const holder = await holderSigner()
    const credential = await issueCredential(services, holder)
    const ca = { name: Buffer.alloc(0), key: await makeKey(), der: Buffer.alloc(0) }
    world = { services, profile: usualProfile, holder, credential, ca, issuerKey: services.issuerKey }
  })
  afterAll(() => world.services.close())

  async function started(more: object = {}): Promise<Session> {
    const { sessionId, request } = await startVerification(world.services, undefined, more)
    const presentation = await putTogether(await makeForgery(world, request))
    return { sessionId, request, members: { vp_token: { card: [presentation] }, state: request.state } }
  }
  const post = ({ request }: Session, form: Record<string, string>) =>
    postForm(world.services, request.response_uri, form)
  const status = ({ sessionId }: Session) => statusOf(world.services, VERIFIER_URL, sessionId)
  const good = async ({ request, members }: Session) => ({ response: await encryptedResponse(request, members) })

  it('a good response is taken, by either encryption', async () => {
    for (const enc of ['A128GCM', 'A256GCM']) {
      const session = await started()
      const { request, members } = session
      expect(request).toMatchObject({
        response_mode: 'direct_post.jwt',
        response_uri: `${VERIFIER_URL}${ENCRYPTED}${session.sessionId}`,
        client_metadata: { encrypted_response_enc_values_supported: ['A128GCM', 'A256GCM'] },
      })
      const response = await post(session, { response: await encryptedResponse(request, members, { header: { enc } }) })
      expect([response.status, await response.json()]).toEqual([200, {}])
      expect(await status(session)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', result: { verified: true } })
    }
  })

  it('and its vp_token may be the JSON text that an unencrypted response has', async () => {
    const session = await started()
    const members = { ...session.members, vp_token: JSON.stringify(session.members.vp_token) }
    const response = await post(session, { response: await encryptedResponse(session.request, members) })
    expect([response.status, await response.json()]).toEqual([200, {}])
    expect(await status(session)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED', result: { verified: true } })
  })

  it('and need not name the key of the session', async () => {
    const session = await started()
    const response = await encryptedResponse(session.request, session.members, { header: { kid: undefined } })
    expect((await post(session, { response })).status).toBe(200)
  })

  it('and a state need not be in it', async () => {
    const session = await started()
    const { vp_token } = session.members
    const response = await post(session, { response: await encryptedResponse(session.request, { vp_token }) })
    expect(response.status).toBe(200)
  })

  describe('an unreadable response', () => {
    let session: Session
    beforeAll(async () => {
      session = await started()
    })

    it.each(unreadable)('with $attack is refused, and leaves the session open', async (row) => {
      const response = await post(session, await row.form(session))
      const body = (await response.json()) as { error: string; error_description: string }
      expect([response.status, Object.keys(body)]).toEqual([row.status ?? 400, ['error', 'error_description']])
      expect(body.error_description).toMatch(row.says)
      expect(await status(session)).toMatchObject({ status: 'STARTED' })
    })

    it('does not keep the session from succeeding afterwards', async () => {
      expect((await post(session, await good(session))).status).toBe(200)
      expect(await status(session)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
    })
  })

  it('a response to another session of the same query cannot be read, and is not for it', async () => {
    const [one, other] = [await started(), await started()]
    const stolen = await post(other, await good(one))
    expect([stolen.status, await stolen.json()]).toMatchObject([
      400,
      { error_description: expect.stringMatching(/kid/) as string },
    ])
    const again = await encryptedResponse(other.request, { ...one.members, state: other.request.state })
    expect((await post(other, { response: again })).status).toBe(400)
    expect(await status(other)).toMatchObject({ status: 'VERIFICATION_FAILED' })
    expect((await post(one, await good(one))).status).toBe(200)
  })

  it('each endpoint serves its own mode only', async () => {
    const session = await started()
    const { services } = world
    const plainly = await postForm(services, `${VERIFIER_URL}${PLAIN}${session.sessionId}`, plain(session.members))
    expect([plainly.status, await plainly.json()]).toEqual([
      400,
      { error: 'invalid_request', error_description: 'this session takes its response by direct_post.jwt only' },
    ])
    const declined = await postForm(services, `${VERIFIER_URL}${PLAIN}${session.sessionId}`, { error: 'access_denied' })
    expect(declined.status).toBe(400)
    expect(await status(session)).toMatchObject({ status: 'STARTED' })
  })

  it('and a session in the clear, where nobody asks for an mdoc, takes nothing encrypted', async () => {
    const services = await startServices()
    try {
      const mdl = { id: 'mdl', format: 'mso_mdoc', meta: { doctype_value: 'org.iso.18013.5.1.mDL' } }
      const { request: mixed } = await startVerification(services, { credentials: [...dcqlQuery.credentials, mdl] })
      expect([mixed.response_mode, responseKey(mixed).crv]).toEqual(['direct_post.jwt', 'P-256'])
      const { sessionId, request } = await startVerification(services)
      expect(request.response_mode).toBe('direct_post')
      expect(request.client_metadata).not.toHaveProperty('jwks')
      for (const form of [{ response: 'a.b.c.d.e' }, { error: 'access_denied', state: request.state }]) {
        const response = await postForm(services, `${VERIFIER_URL}${ENCRYPTED}${sessionId}`, form)
        expect([response.status, await response.json()]).toMatchObject([
          400,
          { error_description: 'this session takes its response by direct_post only' },
        ])
      }
      expect(await statusOf(services, VERIFIER_URL, sessionId)).toMatchObject({ status: 'STARTED' })
    } finally {
      await services.close()
    }
  })

  it('an unknown session and an expired one are told apart as elsewhere', async () => {
    const unknown = await postForm(world.services, `${VERIFIER_URL}${ENCRYPTED}unknown`, { response: 'x' })
    expect(unknown.status).toBe(404)
    const session = await started()
    const { clock } = world.services
    const { now } = clock
    clock.now = new Date(now.getTime() + 600_000)
    try {
      expect((await post(session, await good(session))).status).toBe(410)
    } finally {
      clock.now = now
    }
  })

  describe('what a wallet says in place of presenting', () => {
    it.each([
      ['in the clear', (session: Session) => Promise.resolve({ error: 'access_denied', state: session.request.state })],
      ['in the clear without a state', () => Promise.resolve({ error: 'access_denied' })],
      [
        'encrypted',
        async ({ request }: Session) => ({
          response: await encryptedResponse(request, { error: 'access_denied', state: request.state }),
        }),
      ],
    ])('is recorded, %s', async (_, form) => {
      const session = await started()
      const response = await post(session, await form(session))
      expect([response.status, await response.json()]).toEqual([200, {}])
      expect(await status(session)).toMatchObject({ status: 'DECLINED', wallet_error: { error: 'access_denied' } })
    })
  })

  describe('a response that comes again', () => {
    it('is refused, and the result stays what it was', async () => {
      const session = await started()
      const form = await good(session)
      expect((await post(session, form)).status).toBe(200)
      const before = await status(session)
      for (const again of [form, await good(session), { error: 'access_denied' }, { response: 'x' }]) {
        const response = await post(session, again)
        expect([response.status, await response.json()]).toEqual([
          400,
          { error: 'invalid_request', error_description: 'this session has had its response' },
        ])
      }
      expect(await status(session)).toEqual(before)
    })

    it('fifty times at once is taken once', async () => {
      const session = await started()
      const forms = await Promise.all(Array.from({ length: 50 }, () => good(session)))
      const codes = await Promise.all(forms.map(async (form) => (await post(session, form)).status))
      expect(codes.sort()).toEqual([200, ...Array<number>(49).fill(400)])
      expect(await status(session)).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
    })

    it('after one that failed does not make up for it', async () => {
      const session = await started()
      const nothing = await encryptedResponse(session.request, { ...session.members, vp_token: {} })
      expect((await post(session, { response: nothing })).status).toBe(400)
      expect(await status(session)).toMatchObject({ status: 'VERIFICATION_FAILED' })
      expect((await post(session, await good(session))).status).toBe(400)
    })
  })

  describe('the key of a session', () => {
    it('is the same at every request, and of no other session', async () => {
      const sessions = await Promise.all(Array.from({ length: 20 }, () => started()))
      const keys = sessions.map(({ request }) => responseKey(request))
      expect(new Set(keys.map(({ kid }) => kid)).size).toBe(20)
      expect(new Set(keys.map(({ x }) => x)).size).toBe(20)
      for (const key of keys) {
        expect(Object.keys(key).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
        expect(key).toMatchObject({ kty: 'EC', crv: 'P-256', alg: 'ECDH-ES', use: 'enc' })
      }
      const [first] = sessions as [Session]
      const url = `${VERIFIER_URL}/presentation/oid4vp/authorization-request/${first.sessionId}`
      const payloads = await Promise.all(
        [0, 1].map(async () => (await (await world.services.fetch(url)).text()).split('.')[1]),
      )
      expect(payloads[0]).toBe(payloads[1])
      expect(JSON.parse(Buffer.from(payloads[0] ?? '', 'base64url').toString())).toEqual(first.request)
    })

    it('is forgotten when the session is over, whatever its end, and never logged', async () => {
      for (const end of [good, () => Promise.resolve({ error: 'access_denied' })]) {
        const session = await started()
        const { verifierStore } = world.services
        const before = (await verifierStore.get('verification_session', session.sessionId))?.value
        const secret = before?.encryptionKey?.d
        expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/)
        expect((await post(session, await end(session))).status).toBe(200)
        const after = (await verifierStore.get('verification_session', session.sessionId))?.value
        expect(JSON.stringify(after)).not.toContain(secret)
        expect(after).not.toHaveProperty('encryptionKey')
        expect(JSON.stringify(await status(session))).not.toContain(secret)
        expect(world.services.logLines.join('')).not.toContain(secret)
      }
    })

    it('has the thumbprint that presentations are bound to, in bytes', () => {
      // The example of OpenID4VP 1.0, Handover and SessionTranscript.
      const key = {
        kty: 'EC',
        crv: 'P-256',
        x: 'DxiH5Q4Yx3UrukE2lWCErq8N8bqC9CHLLrAwLz5BmE0',
        y: 'XtLM4-3h5o3HUH0MHVJV0kyq0iBlrBwlh8qEDMZ4-Pc',
        d: '',
      } as const
      expect(Buffer.from(responseKeyThumbprint(key)).toString('hex')).toBe(
        '4283ec927ae0f208daaa2d026a814f2b22dca52cf85ffa8f3f8626c6bd669047',
      )
    })
  })

  it('nothing of a response is logged', async () => {
    const session = await started()
    const { response } = await good(session)
    await post(session, { response: `${response}A` })
    await post(session, { response })
    const lines = world.services.logLines.join('\n')
    for (const part of [...response.split('.').filter(Boolean), 'Lovelace', session.sessionId]) {
      expect(lines).not.toContain(part)
    }
  })
})

function plain({ vp_token, state }: Session['members']): { vp_token: string; state: string } {
  return { vp_token: JSON.stringify(vp_token), state }
}

function rsa(): JweParts {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { header: { alg: 'RSA-OAEP' }, jwk: publicKey.export({ format: 'jwk' }) }
}

/** Returns a point on P-384: the generator of the curve. */
function p384(): JWK {
  const hex = {
    x: 'aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a385502f25dbf55296c3a545e3872760ab7',
    y: '3617de4a96262c6f5d9e98bf9292dc29f8f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f',
  }
  const text = (value: string) => Buffer.from(value, 'hex').toString('base64url')
  return { kty: 'EC', crv: 'P-384', x: text(hex.x), y: text(hex.y) }
}

async function signed({ members }: Session): Promise<JweParts> {
  const key = await makeKey()
  const plaintext = await new CompactSign(Buffer.from(JSON.stringify(members)))
    .setProtectedHeader({ alg: 'ES256' })
    .sign(key)
  return { plaintext }
}

function bomb(): string {
  return JSON.stringify({ vp_token: { card: ['a'.repeat(5_000_000)] } })
}

function deep(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`
}
