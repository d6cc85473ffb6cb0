/**
 * Attacks on the session: bodies that cannot be read, responses that come twice, at once, too late or after another,
 * and curious strangers. What is refused leaves the session as it was.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { digestOf } from '../../src/codec/digest.ts'
import type { VerificationReport } from '../../src/verifier/verification.ts'
import {
  asRequestObject,
  fetchPageRequest,
  postCredential,
  SIGNED,
  startPageSession,
} from '../support/digital-credentials.ts'
import { encryptedResponse } from '../support/encryption.ts'
import { makeForgery, putTogether, startWorld, type World } from '../support/forge.ts'
import { mdocQuery } from '../support/mdoc.ts'
import { API_KEY, VERIFIER_URL } from '../support/services.ts'
import {
  dcqlQuery,
  fetchRequestObject,
  postForm,
  type RequestObject,
  startVerification,
  statusOf,
} from '../support/wire.ts'

const FORM = 'application/x-www-form-urlencoded'
const MALFORMED = 'an unreadable body'

interface Unreadable {
  readonly body: string
  readonly send: (form: Record<string, string>) => string | Buffer
  readonly type?: string
  readonly status?: number
  readonly error?: string
  readonly says?: RegExp
}

const vpToken = (value: unknown) => (form: Record<string, string>) =>
  new URLSearchParams({ ...form, vp_token: JSON.stringify(value) }).toString()
const text = (value: string) => (form: Record<string, string>) =>
  new URLSearchParams({ ...form, vp_token: value }).toString()
const members = (change: Record<string, string | undefined>) => (form: Record<string, string>) =>
  new URLSearchParams(JSON.parse(JSON.stringify({ ...form, ...change })) as Record<string, string>).toString()
/** Makes a response in the form that Multipaz 0.102.0 gives it by direct_post, in place of `vp_token`. */
function unsignedJwt({ vp_token: token = '', state }: Record<string, string>): string {
  const parts = [{ alg: 'none' }, { vp_token: JSON.parse(token) as unknown, state }]
  const jwt = parts.map((part) => `${Buffer.from(JSON.stringify(part)).toString('base64url')}.`).join('')
  return new URLSearchParams({ response: jwt }).toString()
}

/** Each of these is posted with what else makes a good response. */
const unreadable: readonly Unreadable[] = [
  { body: 'a vp_token that is not JSON', send: text('eyJ.eyJ.AAAA~'), says: /vp_token: it is not JSON/ },
  { body: 'a vp_token that is JSON with something behind it', send: text('{"card":[]} {}'), says: /not JSON/ },
  { body: 'a vp_token that is an array', send: vpToken(['x']), says: /not a JSON object/ },
  { body: 'a vp_token that is a text, as in drafts', send: vpToken('x'), says: /not a JSON object/ },
  { body: 'a vp_token that is null', send: vpToken(null), says: /not a JSON object/ },
  { body: 'a vp_token that is a number', send: vpToken(1), says: /not a JSON object/ },
  { body: 'a presentation outside of an array, as in drafts', send: vpToken({ card: 'x' }), says: /must be an array/ },
  { body: 'null for the presentations', send: vpToken({ card: null }), says: /must be an array/ },
  { body: 'an object for the presentations', send: vpToken({ card: { 0: 'x', length: 1 } }), says: /must be an array/ },
  { body: 'an array in the array', send: vpToken({ card: [['x']] }), says: /must be a string/ },
  { body: 'null in the array', send: vpToken({ card: [null] }), says: /must be a string/ },
  { body: 'an object in the array', send: vpToken({ card: [{}] }), says: /must be a string/ },
  { body: 'a good and an unreadable id', send: vpToken({ card: ['x'], other: 5 }), says: /must be an array/ },
  { body: 'more presentations than anybody needs', send: vpToken({ card: Array<string>(21).fill('x') }), says: /20/ },
  { body: 'a vp_token nested without end', send: text('['.repeat(100_000)), says: /not JSON/ },
  { body: 'a vp_token nested too deep', send: text(`${'{"a":'.repeat(40)}1${'}'.repeat(40)}`), says: /deeper/ },
  { body: 'an empty vp_token', send: text(''), says: /neither vp_token nor error/ },
  { body: 'an empty vp_token and an empty error', send: members({ vp_token: '', error: '' }), says: /neither/ },
  { body: 'neither vp_token nor error', send: members({ vp_token: undefined }), says: /neither/ },
  { body: 'an encrypted response', send: members({ vp_token: undefined, response: 'eyJ.a.b.c.d' }), says: /encrypted/ },
  { body: 'a JWT that nobody signed', send: unsignedJwt, says: /profile haip/ },
  { body: 'an empty body', send: () => '', says: /neither|body/ },
  { body: 'the state of another session', send: members({ state: 'AAAAAAAAAAAAAAAAAAAAAA' }), says: /state is not/ },
  {
    body: 'an error with the state of another session',
    send: members({ state: 'A', error: 'access_denied' }),
    says: /state is not/,
  },
  { body: 'two vp_tokens', send: (form) => `${text(form.vp_token ?? '')(form)}&vp_token=%7B%7D` },
  { body: 'two states', send: (form) => `${text(form.vp_token ?? '')(form)}&state=${form.state ?? ''}` },
  { body: 'two errors', send: (form) => `error=access_denied&error=access_denied&state=${form.state ?? ''}` },
  { body: 'JSON', type: 'application/json', send: (form) => JSON.stringify(form) },
  { body: 'a form in parts', type: 'multipart/form-data; boundary=x', send: () => '--x--' },
  { body: 'text', type: 'text/plain', send: (form) => text(form.vp_token ?? '')(form) },
  { body: 'no type', type: '', send: (form) => text(form.vp_token ?? '')(form) },
  { body: 'bytes that are not text', send: () => Buffer.from([0xff, 0xfe, 0x00, 0x80]) },
  { body: 'percent signs without a number', send: (form) => `vp_token=%zz&state=${form.state ?? ''}` },
  {
    body: 'more than 512 KiB',
    send: text('x'.repeat(2 ** 19)),
    status: 413,
    error: 'request_too_large',
    says: /more than 524288 bytes/,
  },
  { body: 'two megabytes', send: text('x'.repeat(2 ** 21)), status: 413, error: 'request_too_large' },
]

const HOUR_MS = 3_600_000

describe('attacks on the session of a verification', () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld()
    // Status lists are dated to the hour: tests that set the clock forward, and back again, stay within one.
    const { clock } = world.services
    const untilNextHour = HOUR_MS - (clock.now.getTime() % HOUR_MS)
    if (untilNextHour < HOUR_MS / 4) clock.now = new Date(clock.now.getTime() + untilNextHour)
  })
  afterAll(() => world.services.close())

  /** Starts a session, and returns the form of a good response to it, and how to post one. */
  async function started(query: unknown = dcqlQuery) {
    const { services } = world
    const { sessionId, request } = await startVerification(services, query)
    const presentation = await putTogether(await makeForgery(world, request))
    const form = { vp_token: JSON.stringify({ card: [presentation] }), state: request.state }
    return {
      sessionId,
      request,
      presentation,
      form,
      post: (sent: Record<string, string> | string = form) => postForm(services, request.response_uri, sent),
      status: () => statusOf(services, VERIFIER_URL, sessionId),
    }
  }
  type Session = Awaited<ReturnType<typeof started>>

  it('has an id of 144 random bits behind its time, which no other session has', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, async () => (await started()).sessionId))
    for (const id of ids) expect(id).toMatch(/^[\w-]{31}$/)
    expect(new Set(ids.map((id) => id.slice(7))).size).toBe(20)
  })

  describe(MALFORMED, () => {
    let session: Session
    beforeAll(async () => {
      session = await started()
    })

    it.each(unreadable)('with $body is refused, and leaves the session open', async (row) => {
      const response = await world.services.fetch(session.request.response_uri, {
        method: 'POST',
        headers: row.type === '' ? {} : { 'content-type': row.type ?? FORM },
        body: new Uint8Array(Buffer.from(row.send(session.form) as string)),
      })
      const body = (await response.json()) as { error: string; error_description: string }
      expect({ status: response.status, error: body.error, members: Object.keys(body) }).toEqual({
        status: row.status ?? 400,
        error: row.error ?? 'invalid_request',
        members: ['error', 'error_description'],
      })
      expect(response.headers.get('content-type')).toMatch(/^application\/json/)
      expect(body.error_description).toMatch(row.says ?? /./)
      expect(await session.status()).toMatchObject({ status: 'STARTED' })
    })

    it('does not keep the session from succeeding afterwards', async () => {
      const response = await session.post()
      expect([response.status, await response.json()]).toEqual([200, {}])
      expect(await session.status()).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
    })
  })

  describe('a response that comes again', () => {
    it('is refused, and the result stays what it was', async () => {
      const session = await started()
      expect((await session.post()).status).toBe(200)
      const before = await session.status()
      const again = await session.post()
      expect([again.status, await again.json()]).toEqual([400, had])
      expect(await session.status()).toEqual(before)
    })

    it.each([
      ['a presentation that fails', { vp_token: '{}' }],
      ['a refusal', { error: 'access_denied' }],
      ['an error', { error: 'server_error' }],
      ['a body that cannot be read', { vp_token: 'x' }],
    ])('as %s does not overwrite a success', async (_, change) => {
      const session = await started()
      expect((await session.post()).status).toBe(200)
      const before = await session.status()
      const again = await session.post({ state: session.request.state, ...change })
      expect([again.status, await again.json()]).toEqual([400, had])
      expect(await session.status()).toEqual(before)
    })

    it('does not make up for one that failed', async () => {
      const session = await started()
      expect((await session.post({ ...session.form, vp_token: '{}' })).status).toBe(400)
      const before = await session.status()
      expect(before).toMatchObject({ status: 'VERIFICATION_FAILED' })
      const again = await session.post()
      expect([again.status, await again.json()]).toEqual([400, had])
      expect(await session.status()).toEqual(before)
    })

    it('does not make up for a refusal', async () => {
      const session = await started()
      expect((await session.post({ error: 'access_denied', state: session.request.state })).status).toBe(200)
      const again = await session.post()
      expect([again.status, await again.json()]).toEqual([400, had])
      expect(await session.status()).toMatchObject({ status: 'DECLINED' })
      expect(JSON.stringify(await session.status())).not.toContain('"Ada')
    })

    it('fifty times at once is taken once', async () => {
      const session = await started()
      const responses = await Promise.all(Array.from({ length: 50 }, () => session.post()))
      const statuses = responses.map(({ status }) => status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(1)
      expect(statuses.filter((status) => status === 400)).toHaveLength(49)
      expect(await session.status()).toMatchObject({ status: 'VERIFICATION_SUCCEEDED' })
    })

    it('by both ways at once is taken by one of them', async () => {
      const { services } = world
      const page = await startPageSession(services)
      const link = await fetchRequestObject(services, page.session_id)
      const browser = asRequestObject((await fetchPageRequest(services, page)).unsigned)
      const present = async (request: RequestObject) => [await putTogether(await makeForgery(world, request))]
      const form = { vp_token: JSON.stringify({ card: await present(link) }), state: link.state }
      const response = await encryptedResponse(browser, { vp_token: { card: await present(browser) } })
      const credential = { protocol: SIGNED, data: { response } }
      const responses = await Promise.all(
        Array.from({ length: 30 }, (_, at) =>
          at % 2 === 0 ? postCredential(services, page, credential) : postForm(services, link.response_uri, form),
        ),
      )
      const accepted = responses.flatMap(({ status }, at) => (status === 200 ? [at] : []))
      expect(accepted).toHaveLength(1)
      expect(await statusOf(services, VERIFIER_URL, page.session_id)).toMatchObject({
        status: 'VERIFICATION_SUCCEEDED',
        response_mode: (accepted[0] ?? 0) % 2 === 0 ? 'dc_api.jwt' : 'direct_post',
      })
    })

    it('good and bad at once has the result of the one that was first', async () => {
      const session = await started()
      const forms = Array.from({ length: 30 }, (_, at) =>
        at % 2 === 0 ? { ...session.form, vp_token: '{}' } : session.form,
      )
      const responses = await Promise.all(forms.map((form) => session.post(form)))
      const accepted = responses.filter(({ status }) => status === 200).length
      expect(accepted).toBeLessThanOrEqual(1)
      const status = accepted === 1 ? 'VERIFICATION_SUCCEEDED' : 'VERIFICATION_FAILED'
      expect(await session.status()).toMatchObject({ status, result: { verified: accepted === 1 } })
    })

    it('in another session of the same query fails there', async () => {
      const [one, other] = [await started(), await started()]
      const response = await other.post({ ...one.form, state: other.request.state })
      expect(response.status).toBe(400)
      expect(failedOf(await other.status())).toEqual(['holder.nonce'])
      expect((await one.post()).status).toBe(200)
    })
  })

  describe('a session that is over', () => {
    it('has expired: 410 for the response, and a request object no more', async () => {
      const session = await started()
      const { clock } = world.services
      const { now } = clock
      clock.now = new Date(now.getTime() + 600_000)
      try {
        for (const form of [session.form, { error: 'access_denied' }, { vp_token: 'x' }]) {
          const response = await session.post(form)
          const error = { error: 'gone', error_description: 'this session has expired' }
          expect([response.status, await response.json()]).toEqual([410, error])
        }
        expect((await requestObject(session.sessionId)).status).toBe(410)
        expect(await session.status()).toMatchObject({ status: 'EXPIRED' })
      } finally {
        clock.now = now
      }
    })

    it('is still open in its last second', async () => {
      const session = await started()
      const { clock } = world.services
      const { now } = clock
      clock.now = new Date(now.getTime() + 599_999)
      try {
        expect((await session.post()).status).toBe(200)
      } finally {
        clock.now = now
      }
    })

    it('has a result that time does not change', async () => {
      const session = await started()
      await session.post()
      const before = await session.status()
      const { clock } = world.services
      const { now } = clock
      clock.now = new Date(now.getTime() + 86_400_000)
      try {
        expect(await session.status()).toEqual(before)
        expect((await session.post()).status).toBe(400)
      } finally {
        clock.now = now
      }
    })

    it.each([
      ['a success', {}],
      ['a failure', { vp_token: '{}' }],
      ['a refusal', { vp_token: '', error: 'access_denied' }],
    ])('by %s has no request object', async (_, change) => {
      const session = await started()
      await session.post({ ...session.form, ...change })
      const response = await requestObject(session.sessionId)
      expect([response.status, await response.json()]).toEqual([
        410,
        { error: 'gone', error_description: had.error_description },
      ])
    })

    it('is told before the body is read, whatever the body is', async () => {
      const [finished, encrypted] = [await started(), await startVerification(world.services, mdocQuery)]
      await finished.post()
      const large = 'x'.repeat(2 ** 21)
      const send = async (path: string, type: string) => {
        const url = `${VERIFIER_URL}/presentation/oid4vp/${path}`
        const response = await world.services.fetch(url, {
          method: 'POST',
          headers: { 'content-type': type },
          body: large,
        })
        return ((await response.json()) as { error_description: string }).error_description
      }
      for (const type of [FORM, 'text/plain']) {
        for (const path of ['authorization-response', 'encrypted-authorization-response', 'authorization-request']) {
          expect(await send(`${path}/unknown`, type)).toBe('there is no such session')
          expect(await send(`${path}/${finished.sessionId}`, type)).toBe(had.error_description)
        }
        expect(await send(`authorization-response/${encrypted.sessionId}`, type)).toMatch(/direct_post.jwt only/)
      }
    })

    it('never was: 404 for every path, whatever its id', async () => {
      for (const id of ['unknown', '..', '%00', 'a'.repeat(200), "'; drop table verification_session; --"]) {
        const path = encodeURIComponent(id)
        const post = await postForm(
          world.services,
          `${VERIFIER_URL}/presentation/oid4vp/authorization-response/${path}`,
          {
            vp_token: '{}',
          },
        )
        expect([post.status, await post.json()]).toMatchObject([404, { error: 'not_found' }])
        expect((await requestObject(path)).status).toBe(404)
      }
    })
  })

  describe('a stranger who knows the session id', () => {
    it.each([
      ['no key', undefined],
      ['another key', `Bearer ${'x'.repeat(64)}`],
      ['the label of a key', 'Bearer test'],
      ['the beginning of a key', `Bearer ${API_KEY.slice(0, -1)}`],
      ['a key and something behind it', `Bearer ${API_KEY}x`],
      ['a key of another scheme', `Basic ${API_KEY}`],
      ['no scheme', API_KEY],
    ])('and has %s does not see the result', async (_, authorization) => {
      const session = await started()
      await session.post()
      const response = await world.services.fetch(`${VERIFIER_URL}/presentation/oid4vp/status/${session.sessionId}`, {
        headers: authorization === undefined ? {} : { authorization },
      })
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      expect(Object.keys((await response.json()) as object)).toEqual(['error', 'error_description'])
    })

    it('and sends the session id as the key does not see it either', async () => {
      const session = await started()
      const headers = { authorization: `Bearer ${session.sessionId}` }
      const url = `${VERIFIER_URL}/presentation/oid4vp/status/${session.sessionId}`
      expect((await world.services.fetch(url, { headers })).status).toBe(401)
      expect((await world.services.fetch(`${url}?api_key=${API_KEY}`)).status).toBe(401)
    })
  })

  describe('what a wallet says in place of presenting', () => {
    it.each([
      ['access_denied', 'DECLINED'],
      ['vp_formats_not_supported', 'VERIFICATION_FAILED'],
      ['wallet_unavailable', 'VERIFICATION_FAILED'],
      ['invalid_request', 'VERIFICATION_FAILED'],
      ['invalid_transaction_data', 'VERIFICATION_FAILED'],
    ])('%s is recorded as %s', async (error, expected) => {
      const session = await started()
      const response = await session.post({
        error,
        error_description: 'No, "thank you" <b>',
        state: session.request.state,
      })
      expect([response.status, await response.json()]).toEqual([200, {}])
      const status = await session.status()
      expect(status).toMatchObject({
        status: expected,
        wallet_error: { error, error_description: 'No, "thank you" <b>' },
      })
      expect(status).not.toHaveProperty('result')
    })

    it.each(['Access_Denied', 'Ada Lovelace, born on 10 December 1815', 'constructor', ' access_denied'])(
      'has one of the registered codes, and not %j, which its description tells',
      async (error) => {
        for (const description of ['', 'No']) {
          const session = await started()
          await session.post({ error, error_description: description, state: session.request.state })
          const said = description === '' ? error : `${error}: ${description}`
          expect(await session.status()).toMatchObject({
            status: 'VERIFICATION_FAILED',
            wallet_error: { error: 'unregistered_error', error_description: said },
          })
        }
      },
    )

    it('is cut when it is long', async () => {
      for (const error of ['access_denied', 'e'.repeat(10_000)]) {
        const session = await started()
        await session.post({ error, error_description: '\u{1f600}'.repeat(10_000), state: '' })
        const { wallet_error: said } = (await session.status()) as { wallet_error: Record<string, string> }
        expect(said.error_description).toHaveLength(500)
      }
    })

    it('has no character that the database of an application may refuse', async () => {
      const session = await started()
      const long = `${'x'.repeat(499)}\u{1f600}`
      await session.post({ error: 'access_denied', error_description: long, state: '' })
      const { wallet_error: said } = (await session.status()) as { wallet_error: Record<string, string> }
      expect(said).toEqual({ error: 'access_denied', error_description: `${'x'.repeat(499)}\ufffd` })
      const other = await started()
      await other.post({ error: 'a\0b\u0085', state: '' })
      expect(await other.status()).toMatchObject({ wallet_error: { error_description: 'a\ufffdb\ufffd' } })
    })

    it('turns the direction of no words of a page that shows it', async () => {
      const session = await started()
      await session.post({ error: 'access_denied', error_description: 'No. \u202edeifirev\u2066', state: '' })
      expect(await session.status()).toMatchObject({ wallet_error: { error_description: 'No. \ufffddeifirev\ufffd' } })
    })

    it('counts more than a presentation that is sent with it, which is not looked at', async () => {
      const session = await started()
      expect((await session.post({ ...session.form, error: 'access_denied' })).status).toBe(200)
      const status = await session.status()
      expect(status).toMatchObject({ status: 'DECLINED' })
      expect(JSON.stringify(status)).not.toContain('"Ada')
    })
  })

  describe('what the conformance suite wants accepted', () => {
    it('oid4vp-1final-verifier-request-uri-fetched-twice', async () => {
      const session = await started()
      const [first, second] = [await requestObject(session.sessionId), await requestObject(session.sessionId)]
      expect([first.status, second.status]).toEqual([200, 200])
      expect(first.headers.get('content-type')).toBe('application/oauth-authz-req+jwt')
      const payloads = [await first.text(), await second.text()].map((jwt) => jwt.split('.').slice(0, 2))
      expect(payloads[0]).toEqual(payloads[1])
      expect((await session.post()).status).toBe(200)
    })

    it('oid4vp-1final-verifier-minimal-cnf-jwk, and one with all that a key may say of itself', async () => {
      for (const more of [{}, { kid: '1', alg: 'ES256', use: 'sig', key_ops: ['verify'] }]) {
        const session = await started()
        const forgery = await makeForgery(world, session.request)
        forgery.payload.cnf = { jwk: { ...world.holder.jwk, ...more } }
        const form = { ...session.form, vp_token: JSON.stringify({ card: [await putTogether(forgery)] }) }
        expect((await session.post(form)).status).toBe(200)
      }
    })

    it('oid4vp-1final-verifier-happy-flow, with parameters nobody knows', async () => {
      const session = await started()
      const response = await session.post({ ...session.form, iss: 'https://wallet.example', session_state: 'x' })
      expect([response.status, await response.json()]).toEqual([200, {}])
    })
  })

  describe('what is not told', () => {
    it('the claims of a credential that failed', async () => {
      const session = await started()
      const forgery = await makeForgery(world, session.request)
      Object.assign(forgery.binding?.payload ?? {}, { aud: 'x509_hash:other' })
      const response = await session.post({
        ...session.form,
        vp_token: JSON.stringify({ card: [await putTogether(forgery)] }),
      })
      expect([response.status, await response.json()]).toEqual([
        400,
        { error: 'invalid_request', error_description: 'the presentation was not accepted' },
      ])
      const report = JSON.stringify(await session.status())
      expect(report).not.toMatch(/\b(Ada|BSc)\b/)
      for (const value of ['Lovelace', world.holder.jwk.x]) expect(report).not.toContain(value)
    })

    it('to the log, who read a result: the label of the key, the request and the session', async () => {
      const session = await started()
      await session.status()
      await session.post()
      const url = `${VERIFIER_URL}/presentation/oid4vp/status/${session.sessionId}`
      const response = await world.services.fetch(url, { headers: { authorization: `Bearer ${API_KEY}` } })
      const digest = digestOf(session.sessionId)
      const lines = world.services.logLines.map((line) => JSON.parse(line) as Record<string, unknown>)
      const read = lines.filter((line) => line.event === 'result_read' && line.session === digest)
      expect(read).toMatchObject([{ request: response.headers.get('x-request-id') }])
      expect(read[0]?.caller).toBe('test')
    })

    it('anything of a presentation in the log, whether it was good, bad or garbage', async () => {
      // A random id in the log may begin with the three letters of the name, and so the quote behind it counts too.
      const secrets: string[] = ['"Ada"', String.raw`"Ada\"`, 'Lovelace', 'given_name', API_KEY]
      for (const change of [
        {},
        { vp_token: '{"card":["Lovelace~Ada"]}' },
        { vp_token: 'Lovelace' },
        { state: 'Lovelace' },
      ]) {
        const session = await started()
        await session.post({ ...session.form, ...change })
        const { nonce, state } = session.request
        secrets.push(
          ...session.presentation.split(/[~.]/).filter((part) => part.length > 20),
          session.sessionId,
          nonce,
          state,
        )
      }
      const lines = world.services.logLines.join('\n')
      expect(lines).toContain('session finished')
      expect(secrets.filter((secret) => lines.includes(secret))).toEqual([])
    })
  })

  function requestObject(sessionId: string): Promise<Response> {
    return world.services.fetch(`${VERIFIER_URL}/presentation/oid4vp/authorization-request/${sessionId}`)
  }
})

const had = { error: 'invalid_request', error_description: 'this session has had its response' }

function failedOf(status: Record<string, unknown>): string[] {
  const { checks, credentials } = status.result as VerificationReport
  const all = [...checks, ...Object.values(credentials).flatMap((each) => each.flatMap((one) => one.checks))]
  return all.filter(({ outcome }) => outcome === 'failed').map(({ id }) => id)
}
