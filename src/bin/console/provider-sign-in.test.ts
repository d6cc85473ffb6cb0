/**
 * Signing in to the console at a provider, and attacks on it: people who may not, other browsers, and wrong answers.
 */
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { listenInTest } from '../../../test/support/local-server.ts'
import { PROVIDER, PROVIDER_CLIENT, testProvider } from '../../../test/support/openid-provider.ts'
import { OutboundError } from '../../http/outbound.ts'
import { random } from '../effects.ts'
import { mayPersonEnter, readSignInWords } from './allowed-people.ts'
import { createProviderSignIn } from './provider-sign-in.ts'
import { createConsoleServer } from './server.ts'

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const ADA = { email: 'ada@example.edu', email_verified: true, groups: ['staff', 'operators'] }

async function started(allowed = [{ claim: 'email', value: 'Ada@example.edu' }]) {
  const provider = await testProvider()
  provider.account = { ...ADA }
  const clock = { now: new Date() }
  const reports: string[] = []
  const client = { issuer: PROVIDER, ...PROVIDER_CLIENT, scope: 'openid email', allowedClaims: allowed }
  const { server, signInPath } = createConsoleServer({
    services: { issuer: { url: 'http://127.0.0.1:1', apiKey: 'a-key' } },
    files: new Map([['/', { type: 'text/html', body: Buffer.from('the page') }]]),
    random,
    now: () => clock.now,
    fetch,
    report: (line) => void reports.push(line),
    providerSignIn: createProviderSignIn({
      client,
      outbound: provider.outbound,
      random,
      now: () => clock.now,
      report: (line) => void reports.push(line),
    }),
  })
  const port = await listenInTest(server)
  const origin = `http://127.0.0.1:${port}`
  const get = (path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      httpRequest(origin + path, { headers: { accept: 'text/html', ...headers } }, (response) => {
        text(response).then(
          (body) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }),
          reject,
        )
      })
        .on('error', reject)
        .end()
    })
  /** A browser on its way to the provider: its cookie, and the address there. */
  const begin = async (held: Record<string, string> = {}) => {
    const { status, headers } = await get('/sign-in/start', held)
    expect(status).toBe(303)
    const [cookie = ''] = headers['set-cookie']?.[0]?.split(';') ?? []
    return { cookie, address: new URL(headers.location ?? '') }
  }
  const comeBack = async (more: Record<string, string> = {}) => {
    const { cookie, address } = await begin()
    const { pathname, search } = provider.signIn(address, more)
    return get(pathname + search, { cookie })
  }
  return { provider, clock, reports, origin, signInPath, get, begin, comeBack }
}

describe('signing in at a provider', () => {
  it('opens the console for a person who may enter, as the link does', async () => {
    const { get, comeBack, origin } = await started()
    const front = await get('/')
    expect([front.status, front.body]).toEqual([401, expect.stringContaining('href="/sign-in/start"')])
    const entered = await comeBack()
    expect(entered.status).toBe(200)
    const [, cookie = '', base = ''] = /^([^;]*); Path=(\/[^;]+)\//.exec(entered.headers['set-cookie']?.[0] ?? '') ?? []
    expect(entered.headers['set-cookie']?.[0]).toMatch(/HttpOnly; SameSite=Strict$/)
    expect((await get(`${base}/`, { cookie })).body).toBe('the page')
    expect((await get('/sign-in/start', { host: 'localhost:1' })).headers.location).toBe(`${origin}/sign-in/start`)
  })

  it('asks with PKCE, a nonce and a state, for this machine alone', async () => {
    const { begin, get, origin } = await started()
    const { address } = await begin()
    expect(Object.fromEntries(address.searchParams)).toMatchObject({
      scope: 'openid email',
      redirect_uri: `${origin}/sign-in/answer`,
      nonce: expect.stringMatching(/^[\w-]{43}$/) as string,
      state: expect.stringMatching(/^[\w-]{43}$/) as string,
      code_challenge_method: 'S256',
    })
    expect((await get('/sign-in/start')).headers['set-cookie']?.[0]).toMatch(
      /^vouchsafe_console_sign_in=[\w-]{43}; Path=\/sign-in\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
    )
  })

  it('works in two windows of a browser at once, whichever comes back first', async () => {
    const { provider, begin, get } = await started()
    const first = await begin()
    const second = await begin({ cookie: first.cookie })
    for (const { address } of [second, first]) {
      const { pathname, search } = provider.signIn(address)
      expect((await get(pathname + search, { cookie: second.cookie })).status).toBe(200)
    }
  })

  it('makes a new cookie where the browser sends one that it did not make, or of ten minutes ago', async () => {
    const { begin, clock } = await started()
    const strange = `vouchsafe_console_sign_in=${'a'.repeat(43)}`
    const { cookie } = await begin({ cookie: strange })
    expect(cookie).not.toBe(strange)
    expect((await begin({ cookie: `${strange}; ${cookie}` })).cookie).toBe(cookie)
    clock.now = new Date(clock.now.getTime() + 600_000)
    expect((await begin({ cookie })).cookie).not.toBe(cookie)
  })

  it('works for several people, and beside the link', async () => {
    const { get, comeBack, signInPath } = await started()
    const entered = [await comeBack(), await get(signInPath), await comeBack()]
    for (const { headers } of entered) {
      const [, cookie = '', base = ''] = /^([^;]*); Path=(\/[^;]+)\//.exec(headers['set-cookie']?.[0] ?? '') ?? []
      expect((await get(`${base}/`, { cookie })).status).toBe(200)
    }
  })
})

describe('a person who may not enter', () => {
  it.each([
    ['has another address', { email: 'eve@example.edu' }],
    ['has an address that nobody verified', { email_verified: false }],
    ['has an address of which nobody knows', { email_verified: undefined }],
    ['has the address in a list', { email: ['ada@example.edu'] }],
    ['has no address', { email: undefined }],
  ])('%s', async (_, changed) => {
    const { provider, comeBack, reports } = await started()
    provider.account = JSON.parse(JSON.stringify({ ...ADA, ...changed })) as typeof ADA
    const { status, headers, body } = await comeBack()
    expect([status, headers['set-cookie'], body]).toEqual([403, undefined, expect.stringContaining('other people')])
    expect(reports.join('')).not.toMatch(/eve@|ada@/)
  })

  it('is told apart by any claim, in a list too', async () => {
    const allowed = [{ claim: 'groups', value: 'operators' }]
    const { comeBack, provider } = await started(allowed)
    expect((await comeBack()).status).toBe(200)
    provider.account = { ...ADA, groups: ['staff', 'operators-emeriti'] }
    expect((await comeBack()).status).toBe(403)
    expect(mayPersonEnter({ toString: 'x' }, [{ claim: 'constructor', value: 'x' }])).toBe(false)
    expect(mayPersonEnter({ groups: 'operators' }, allowed)).toBe(true)
    expect(mayPersonEnter({ groups: { operators: true } }, allowed)).toBe(false)
  })
})

describe('an attack on it', () => {
  it('in another browser: the victim finishes what the thief began', async () => {
    const { provider, begin, get } = await started()
    const [thief, victim] = [await begin(), await begin()]
    const { pathname, search } = provider.signIn(thief.address)
    const answer = await get(pathname + search, { cookie: victim.cookie })
    expect([answer.status, answer.headers['set-cookie']]).toEqual([400, undefined])
    expect((await get(pathname + search, { cookie: thief.cookie })).status).toBe(400)
    expect(provider.requests.some(({ url }) => url.endsWith('/token'))).toBe(false)
  })

  it('with an answer that came before, and with one after ten minutes', async () => {
    const { provider, begin, get, clock } = await started()
    const first = await begin()
    const { pathname, search } = provider.signIn(first.address)
    expect((await get(pathname + search, { cookie: first.cookie })).status).toBe(200)
    expect((await get(pathname + search, { cookie: first.cookie })).status).toBe(400)
    const late = await begin()
    const answer = provider.signIn(late.address)
    clock.now = new Date(clock.now.getTime() + 600_000)
    expect((await get(answer.pathname + answer.search, { cookie: late.cookie })).status).toBe(400)
  })

  it.each([
    ['a state that nobody made', { state: 'a'.repeat(43) }],
    ['no state', { state: '' }],
    ['the issuer of another provider', { iss: 'https://other.example' }],
    ['a code that nobody gave', { code: 'x' }],
    ['an error', { error: 'access_denied', error_description: '<b>call 555-0100</b>' }],
  ])('with %s', async (_, more) => {
    const { comeBack } = await started()
    const { status, headers, body } = await comeBack(more)
    expect([status, headers['set-cookie'], body.includes('555-0100')]).toEqual([400, undefined, false])
  })

  it.each([
    ['another nonce', { idToken: { nonce: 'x' } }],
    ['another audience', { idToken: { aud: 'x' } }],
    ['no time left', { idToken: { exp: 1_700_000_000 } }],
  ])('with an ID token that has %s, which the operator is told', async (_, wrongs) => {
    const { comeBack, provider, reports } = await started()
    provider.wrongs = wrongs
    expect((await comeBack()).status).toBe(400)
    expect(reports.join('')).toMatch(/does not hold/)
  })

  it('that takes the provider down is told to the person', async () => {
    const { get, provider, reports } = await started()
    const down = () => Promise.reject(new OutboundError('login.example takes no connections'))
    provider.wrongs = { answers: { '/.well-known/openid-configuration': down } }
    const { status, body } = await get('/sign-in/start')
    expect([status, body]).toEqual([503, expect.stringContaining('cannot be asked now')])
    expect(reports.join('')).toContain('login.example takes no connections')
  })

  it('by beginning without end keeps no more than a thousand', async () => {
    const { begin, get, provider } = await started()
    const first = await begin()
    for (let count = 0; count < 1000; count++) await get('/sign-in/start')
    const { pathname, search } = provider.signIn(first.address)
    expect((await get(pathname + search, { cookie: first.cookie })).status).toBe(400)
  })

  it('from another name finds nothing', async () => {
    const { get } = await started()
    for (const path of ['/sign-in/start', '/sign-in/answer?state=a&code=b']) {
      expect((await get(path, { host: 'attacker.example' })).status).toBe(421)
    }
  })
})

describe('the words about it', () => {
  const words = { 'sign-in': PROVIDER, 'client-id': 'console', allow: ['email=ada@example.edu', 'a=b=c'] }

  it('name who may enter', () => {
    expect(readSignInWords(words, 'a secret')).toEqual({
      issuer: PROVIDER,
      clientId: 'console',
      clientSecret: 'a secret',
      scope: 'openid email',
      allowedClaims: [
        { claim: 'email', value: 'ada@example.edu' },
        { claim: 'a', value: 'b=c' },
      ],
    })
    expect(readSignInWords({ allow: [] }, 'a secret')).toBeUndefined()
  })

  it.each<[string, object, RegExp]>([
    ['nobody who may enter', { allow: [] }, /--allow: say who may sign in/],
    ['no client', { 'client-id': undefined }, /--client-id: say which/],
    ['a rule without a value', { allow: ['email='] }, /--allow: email= is not a CLAIM=VALUE/],
    ['a rule without a claim', { allow: ['=a'] }, /--allow: =a is not a CLAIM=VALUE/],
    ['plain http to elsewhere', { 'sign-in': 'http://login.example.edu' }, /--sign-in: it must begin with https/],
    ['no address', { 'sign-in': 'login' }, /--sign-in: it is not a URL/],
    ['a scope without openid', { scope: 'email' }, /--scope: openid must be/],
    ['rules and no provider', { 'sign-in': undefined, 'client-id': undefined }, /--allow: goes with --sign-in/],
  ])('are refused with %s', (_, changed, why) => {
    expect(() => readSignInWords({ ...words, ...changed }, undefined)).toThrow(why)
  })
})
