/**
 * Attacks on signing in at the operator's OpenID Connect provider: on the answer, on who is at the browser, on the ID
 * token, and by a provider that does not do as it should. OpenID Connect Core 1.0 section 3.1.3.7, RFC 9700 section 4,
 * RFC 9207.
 */
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type HttpClientRequest, OutboundError } from '../../src/http/outbound.ts'
import { createOpenidProvider } from '../../src/openid-connect/provider.ts'
import { makeTestKey } from '../support/authorization-server.ts'
import { type Browser, type Form, offerFor, SCOPE, visit } from '../support/code-flow.ts'
import { expectRefusal } from '../support/issuance.ts'
import { PROVIDER, type Wrongs } from '../support/openid-provider.ts'
import {
  ACCOUNT,
  type AtPage,
  comeBack,
  comeToPage,
  leaveForProvider,
  SIGN_IN,
  type SigningIn,
  signingInOfBlock,
  startSigningIn,
  wayToWallet,
} from '../support/sign-in.ts'

const INVALID = { status: 400, error: 'invalid_request' } as const

const all = signingInOfBlock()
beforeEach(() => {
  all.provider.requests.length = 0
  // Metadata and keys are looked at again.
  all.services.clock.now = new Date(all.services.clock.now.getTime() + 3_700_000)
})

/** Returns all rows that an attack must leave alone. An answer that was refused is counted in its request, though. */
const rows = async () => {
  const collections = ['authorization_request', 'issuance_session', 'issuance_dataset'] as const
  const lists = await Promise.all(collections.map((name) => all.services.issuerStore.list(name)))
  return JSON.stringify(lists, (name, value: unknown) => (/^(answers|version)$/.test(name) ? undefined : value))
}

/** Expects that the attack is refused without effect, and that the person can still sign in. */
async function refuses(
  at: AtPage,
  attack: () => Promise<Response>,
  why: RegExp,
  code: string = INVALID.error,
  status = 400,
) {
  const before = await rows()
  await expectRefusal(await attack(), { status, error: code, why })
  expect(await rows()).toBe(before)
  all.provider.wrongs = {}
  all.services.clock.now = new Date(all.services.clock.now.getTime() + 1001)
  expect(await wayToWallet(all.services, at.browser, await comeBack(all, at))).toHaveProperty('code')
}

const askedFor = (path: string): readonly HttpClientRequest[] =>
  all.provider.requests.filter(({ url }) => new URL(url).pathname === path)

describe('an answer of the provider', () => {
  it.each<[string, Form, RegExp]>([
    ['a state that was made up', { state: 'a'.repeat(290) }, /state/],
    ['no state', { state: '' }, /state/],
    ['a state of many letters', { state: 'a'.repeat(4000) }, /state/],
    ['the issuer of another provider (mix-up)', { iss: 'https://other.example' }, /does not hold/],
    ['no issuer, from a provider that always names itself', { iss: '' }, /does not hold/],
    ['no code', { code: '' }, /does not hold/],
    ['a code that was made up', { code: 'made-up' }, /does not hold/],
    ['an error that is none', { error: '<script>' }, /signed nobody in/],
    ['an error of the provider', { error: 'server_error' }, /signed nobody in/],
  ])('is refused with %s', async (_, more, why) => {
    const at = await comeToPage(all.services)
    await refuses(at, () => comeBack(all, at, more), why)
  })

  it.each([
    ['the code of an error', 'server_error', 'server_error'],
    ['no error that is none', '<script>', 'an error without a proper code'],
    ['no error of many letters', 'a'.repeat(61), 'an error without a proper code'],
  ])('leaves %s in the log', async (_, error, cause) => {
    const at = await comeToPage(all.services)
    const lines = all.services.logLines.length
    await comeBack(all, at, { error })
    const logged = all.services.logLines.slice(lines).map((line) => JSON.parse(line) as Record<string, unknown>)
    expect(logged.flatMap((line) => line.cause ?? [])).toEqual([cause])
  })

  it('is refused with a state in which a letter was changed', async () => {
    const at = await comeToPage(all.services)
    const address = all.provider.signIn(await leaveForProvider(all.services, at))
    const state = address.searchParams.get('state') ?? ''
    const places = [0, 20, 100, state.length - 1]
    for (const place of places) {
      const letter = state[place] === 'A' ? 'B' : 'A'
      address.searchParams.set('state', state.slice(0, place) + letter + state.slice(place + 1))
      await expectRefusal(await visit(all.services, at.browser, address.href), { ...INVALID, why: /state/ })
    }
    expect(askedFor('/token')).toEqual([])
  })

  it('is refused with a pushed request in the place of the state, which is sealed too', async () => {
    const at = await comeToPage(all.services)
    const pushed = await comeToPage(all.services)
    const stolen = `${pushed.wallet.form.state ?? ''}${pushed.interaction}`
    await refuses(at, () => comeBack(all, at, { state: stolen }), /state/)
  })

  it('is refused with the parameter code twice', async () => {
    const at = await comeToPage(all.services)
    const address = all.provider.signIn(await leaveForProvider(all.services, at))
    await refuses(at, () => visit(all.services, at.browser, `${address.href}&code=other`), /code/)
  })

  it('is refused after ten minutes', async () => {
    const at = await comeToPage(all.services)
    const address = all.provider.signIn(await leaveForProvider(all.services, at))
    all.services.clock.now = new Date(all.services.clock.now.getTime() + 600_000)
    const late = await visit(all.services, at.browser, address.href)
    await expectRefusal(late, { status: 410, error: 'gone', why: /expired/ })
  })

  it('is refused when it comes a second time, and twenty times at once it decides once', async () => {
    const at = await comeToPage(all.services)
    const address = all.provider.signIn(await leaveForProvider(all.services, at))
    await wayToWallet(all.services, at.browser, await visit(all.services, at.browser, address.href))
    await expectRefusal(await visit(all.services, at.browser, address.href), { status: 410, error: 'gone' })
    const other = await comeToPage(all.services)
    const again = all.provider.signIn(await leaveForProvider(all.services, other))
    const twenty = Array.from({ length: 20 }, () => visit(all.services, { cookie: other.browser.cookie }, again.href))
    const answers = await Promise.all(twenty)
    expect(answers.filter(({ status }) => status === 303)).toHaveLength(1)
  })

  it('costs the provider one request for its tokens, however often it comes', async () => {
    const at = await comeToPage(all.services)
    const address = all.provider.signIn(await leaveForProvider(all.services, at))
    const answersWith = (codes: readonly number[]) =>
      Promise.all(
        codes.map((code) => {
          address.searchParams.set('code', `made-up-${code}`)
          return visit(all.services, at.browser, address.href)
        }),
      )
    const answers = [...(await answersWith([...Array(20).keys()])), ...(await answersWith([21]))]
    expect(askedFor('/token')).toHaveLength(1)
    for (const answer of answers) await expectRefusal(answer, { ...INVALID, why: /does not hold|came before/ })
    expect(await wayToWallet(all.services, at.browser, await comeBack(all, at))).toHaveProperty('code')
  })

  it('is refused after five others of the same interaction, and costs the provider nothing', async () => {
    const at = await comeToPage(all.services)
    const ways = await Promise.all(Array.from({ length: 12 }, () => leaveForProvider(all.services, at)))
    const addresses = ways.map((way) => all.provider.signIn(way, { code: 'made-up' }))
    const answers = await Promise.all(addresses.map(({ href }) => visit(all.services, at.browser, href)))
    expect(answers.filter(({ status }) => status === 410)).toHaveLength(7)
    expect(askedFor('/token')).toHaveLength(5)
    const last = await comeBack(all, at)
    await expectRefusal(last, { status: 410, error: 'gone', why: /too many answers.*begin anew in the wallet/ })
  })

  it('carries no text of the provider into the page that a person sees', async () => {
    const at = await comeToPage(all.services)
    const address = all.provider.signIn(await leaveForProvider(all.services, at), {
      error: 'server_error',
      error_description: '<b>call 555-0100</b>',
    })
    const response = await all.services.fetch(address.href, {
      redirect: 'manual',
      headers: { cookie: at.browser.cookie ?? '', accept: 'text/html,application/xhtml+xml' },
    })
    const text = await response.text()
    expect([response.status, response.headers.get('content-type')]).toEqual([400, 'text/html; charset=utf-8'])
    expect(text).toContain('the sign-in provider signed nobody in')
    expect(text).not.toContain('555-0100')
  })
})

describe('another browser', () => {
  it('cannot finish what this one began (session fixation), and the request is over for both', async () => {
    const [thief, victim] = [await comeToPage(all.services), await comeToPage(all.services)]
    // The victim follows the thief to the provider, signs in, and comes back with the state of the thief.
    const address = all.provider.signIn(await leaveForProvider(all.services, thief))
    await expectRefusal(await visit(all.services, victim.browser, address.href), { ...INVALID, why: /another browser/ })
    expect(askedFor('/token')).toEqual([])
    await expectRefusal(await visit(all.services, thief.browser, address.href), { status: 410, error: 'gone' })
    expect(await wayToWallet(all.services, victim.browser, await comeBack(all, victim))).toHaveProperty('code')
  })

  it('cannot inject the code that it got into this one', async () => {
    const [thief, victim] = [await comeToPage(all.services), await comeToPage(all.services)]
    const stolen = all.provider.signIn(await leaveForProvider(all.services, victim)).searchParams.get('code') ?? ''
    await refuses(thief, () => comeBack(all, thief, { code: stolen }), /does not hold/)
  })

  it.each(['', '/start', '/stop'])('has nothing to do at /auth/sign-in%s', async (path) => {
    const [at, other] = [await comeToPage(all.services), await comeToPage(all.services)]
    for (const cookie of [undefined, other.browser.cookie]) {
      const answer = await visit(all.services, { cookie }, `${SIGN_IN}${path}?interaction=${at.interaction}`)
      expect(answer.headers.get('location')).toBeNull()
      await expectRefusal(answer, { ...INVALID, why: /another browser/ })
    }
    expect(await wayToWallet(all.services, at.browser, await comeBack(all, at))).toHaveProperty('code')
  })

  it.each(['', '/start', '/stop'])(
    'finds nothing at /auth/sign-in%s without an interaction, or with one made up',
    async (path) => {
      const { browser } = await comeToPage(all.services)
      for (const query of ['', '?interaction=', `?interaction=${'a'.repeat(32)}`]) {
        await expectRefusal(await visit(all.services, browser, SIGN_IN + path + query), {
          status: 404,
          error: 'not_found',
        })
      }
    },
  )
})

describe('an offer that is for one person', () => {
  const PERSON = { sub: 'ada-of-the-university' }
  const subject = { credentialSubject: { given_name: 'Ada', family_name: 'Lovelace', student_number: '1815' } }
  const offered = async ({ services, configurationId }: SigningIn, person: object = PERSON) =>
    (await offerFor(services, configurationId, { credential_dataset: subject, person })).issuerState
  const asked = (issuerState: string) => ({ scope: SCOPE, issuer_state: issuerState })

  it.each<[string, object, object]>([
    ['another account signs in', PERSON, { sub: 'thief' }],
    ['an account has the name of the person in another claim', PERSON, { sub: 'thief', name: PERSON.sub }],
    ['an account has an address that nobody has verified', { email: ACCOUNT.email }, { email_verified: false }],
    ['a provider writes that in quotes', { email: ACCOUNT.email }, { email_verified: 'false' }],
    ['nobody says whether the address is verified', { email: ACCOUNT.email }, { email_verified: undefined }],
    ['an account has a part of what is asked', { ...PERSON, email: 'ada@other.example' }, PERSON],
  ])('is not given away when %s, and stays for the person', async (_, person, account) => {
    const state = await offered(all, person)
    const at = await comeToPage(all.services, asked(state))
    all.provider.account = { ...ACCOUNT, ...account }
    const page = await comeBack(all, at)
    const text = await page.text()
    expect([page.status, text]).toEqual([200, expect.stringContaining('the offer is for another person') as string])
    expect(text).not.toMatch(/ada-of-the-university|\b1815\b|ada@/)
    const [, link = ''] = /href="([^"]+\/auth\/return\/[^"]+)"/.exec(text) ?? []
    const back = await visit(all.services, at.browser, link.replaceAll('&amp;', '&'))
    expect(back.headers.get('location')).toMatch(/error=access_denied/)

    all.provider.account = { ...ACCOUNT, ...PERSON, ...person, email_verified: true }
    const own = await comeToPage(all.services, asked(state))
    expect(await wayToWallet(all.services, own.browser, await comeBack(all, own))).toHaveProperty('code')
  })

  it('names the person no longer than there are personal data of the session', async () => {
    const own = await startSigningIn()
    onTestFinished(() => own.services.close())
    await offered(own, PERSON)
    const stored = async () => JSON.stringify(await own.services.issuerStore.list('issuance_session'))
    expect(await stored()).toContain(PERSON.sub)
    own.services.clock.now = new Date(own.services.clock.now.getTime() + 2 * 86_400_000)
    await own.services.runTasks()
    expect(await stored()).toContain('erasedAt')
    expect(await stored()).not.toContain(PERSON.sub)
  })

  it('is asked about although offers are trusted', async () => {
    const trusting = await startSigningIn({}, { offers: 'trusted' })
    onTestFinished(() => trusting.services.close())
    const at = await comeToPage(trusting.services, asked(await offered(trusting)))
    trusting.provider.account = { ...ACCOUNT, sub: 'thief' }
    expect(await (await comeBack(trusting, at)).text()).toContain('the offer is for another person')
  })
})

describe('an ID token', () => {
  const now = () => Math.floor(Date.now() / 1000)
  it.each<[string, () => Wrongs | Promise<Wrongs>]>([
    ['of another issuer', () => ({ idToken: { iss: 'https://other.example' } })],
    ['for another client', () => ({ idToken: { aud: 'another' } })],
    ['for two clients, of which another is the party', () => ({ idToken: { aud: ['vouchsafe', 'b'], azp: 'b' } })],
    ['without an audience', () => ({ idToken: { aud: undefined } })],
    ['with another nonce', () => ({ idToken: { nonce: 'another' } })],
    ['without a nonce', () => ({ idToken: { nonce: undefined } })],
    ['that has expired', () => ({ idToken: { exp: now() - 60, iat: now() - 400 } })],
    ['that never expires', () => ({ idToken: { exp: undefined } })],
    ['that is from tomorrow', () => ({ idToken: { nbf: now() + 86_400 } })],
    ['without a person', () => ({ idToken: { sub: undefined } })],
    ['signed by another key', async () => ({ key: await makeTestKey('ES256', 'provider-1') })],
    ['signed by a key that is not published', async () => ({ key: await makeTestKey('ES256', 'provider-2') })],
    ['signed by nobody', () => ({ header: { alg: 'none' } })],
    ['signed by a shared secret', () => ({ header: { alg: 'HS256' } })],
    ['with critical extensions', () => ({ header: { crit: ['b64'], b64: true } })],
  ])('%s signs nobody in', async (_, wrongs) => {
    const at = await comeToPage(all.services)
    const attack = async () => {
      all.provider.wrongs = await wrongs()
      return comeBack(all, at)
    }
    await refuses(at, attack, /does not hold/)
  })

  it('is not joined by the claims of another person', async () => {
    all.provider.account = { given_name: 'Ada' }
    const at = await comeToPage(all.services)
    const attack = () => {
      all.provider.wrongs = { userinfo: { sub: 'eve', family_name: 'Eve' } }
      return comeBack(all, at)
    }
    await refuses(at, attack, /does not hold/)
  })

  it('and no code, state, secret or claim is in the log', async () => {
    const at = await comeToPage(all.services)
    all.provider.wrongs = { idToken: { nonce: 'another' } }
    const address = all.provider.signIn(await leaveForProvider(all.services, at))
    await visit(all.services, at.browser, address.href)
    const log = all.services.logLines.join('')
    expect(log).toContain('does not hold')
    for (const name of ['code', 'state']) expect(log).not.toContain(address.searchParams.get(name))
    for (const text of ['Lovelace', 'token-of-ada', 'the secret of this service', '"eyJ'])
      expect(log).not.toContain(text)
  })
})

describe('a provider', () => {
  const failing = (path: string, answer: number | string | Error): Wrongs => ({
    answers: { [path]: answer instanceof Error ? () => Promise.reject(answer) : answer },
  })
  const DISCOVERY = '/.well-known/openid-configuration'
  const deep = `{"a":${'['.repeat(40)}${']'.repeat(40)}}`

  it.each<[string, Wrongs]>([
    ['that is down', failing(DISCOVERY, new OutboundError('login.example takes no connections'))],
    ['that is slow', failing(DISCOVERY, new OutboundError('login.example gave no whole answer within 5 s', 'time'))],
    ['that sends without end', failing(DISCOVERY, new OutboundError('the answer is too large', 'size'))],
    ['that fails', failing(DISCOVERY, 500)],
    ['that answers with a redirect', failing(DISCOVERY, 302)],
    ['that answers with no JSON', failing(DISCOVERY, '<html>')],
    ['that answers with JSON of many levels', failing(DISCOVERY, deep)],
    ['that names another issuer', { metadata: { issuer: 'https://other.example' } }],
    ['that sends people to plain http', { metadata: { authorization_endpoint: 'http://login.example/authorize' } }],
    ['that sends people to a script', { metadata: { authorization_endpoint: 'javascript:alert(1)' } }],
    ['that sends people nowhere', { metadata: { authorization_endpoint: undefined } }],
  ])('%s is told to the person before they leave', async (_, wrongs) => {
    const at = await comeToPage(all.services)
    const attack = () => {
      all.provider.wrongs = wrongs
      return visit(all.services, at.browser, `${SIGN_IN}/start?interaction=${at.interaction}`)
    }
    const start = await attack()
    expect(start.headers.get('location')).toBeNull()
    all.services.clock.now = new Date(all.services.clock.now.getTime() + 1001)
    await refuses(at, attack, /provider cannot be asked/, 'temporarily_unavailable', 503)
  })

  it.each<[string, Wrongs, number]>([
    ['that is down when the browser comes back', failing('/token', new OutboundError('connection refused')), 503],
    ['that is slow then', failing('/token', new OutboundError('no answer within 5 s', 'time')), 503],
    ['that fails then', failing('/token', 500), 503],
    ['that gives no ID token', failing('/token', '{"access_token":"a","token_type":"Bearer"}'), 400],
    [
      'that gives an ID token which is none',
      failing('/token', '{"access_token":"a","token_type":"Bearer","id_token":"a.b"}'),
      400,
    ],
    ['that answers with JSON of many levels', failing('/token', deep), 503],
    ['whose keys are not to be had', failing('/jwks', 500), 503],
  ])('%s signs nobody in, and the person can try again', async (_, wrongs, status) => {
    const at = await comeToPage(all.services)
    const attack = async () => {
      all.provider.wrongs = wrongs
      return comeBack(all, at)
    }
    const code = status === 503 ? 'temporarily_unavailable' : INVALID.error
    await refuses(at, attack, /provider/, code, status)
  })

  it('cannot lead requests into the network of the issuer by its metadata', async () => {
    const at = await comeToPage(all.services)
    all.provider.wrongs = { metadata: { token_endpoint: 'https://10.0.0.1/token' } }
    const answer = await comeBack(all, at)
    expect(answer.status).toBe(503)
    const [sent] = all.provider.requests.filter(({ url }) => url.startsWith('https://10.0.0.1'))
    expect(sent).toMatchObject({ allowPrivateAddresses: false, timeoutMs: 5000, maxBytes: 262_144 })
    const [discovery] = askedFor('/.well-known/openid-configuration')
    expect(discovery).toMatchObject({
      url: `${PROVIDER}/.well-known/openid-configuration`,
      allowPrivateAddresses: true,
    })
  })

  it('has its own name, also where the package would take another', async () => {
    const issuer = 'https://login.microsoftonline.com/common/v2.0'
    const tenant = 'https://login.microsoftonline.com/{tenantid}/v2.0'
    const metadata = {
      issuer: tenant,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
    }
    const body = Buffer.from(JSON.stringify(metadata))
    const answer = { status: 200, headers: { 'content-type': 'application/json' }, body }
    const client = { issuer, clientId: 'us', scope: 'openid', redirectUri: `${SIGN_IN}/answer`, claims: [] }
    const provider = createOpenidProvider(client, { outbound: () => Promise.resolve(answer), now: () => new Date() })
    await expect(
      provider.makeAuthorizationUrl({ state: 's', nonce: 'n', verifier: 'v'.repeat(43) }),
    ).rejects.toMatchObject({
      code: 'temporarily_unavailable',
      cause: { message: expect.stringContaining('another issuer') as string },
    })
  })

  it('is asked by fifty people at once, and no more', async () => {
    const slow = await startSigningIn()
    onTestFinished(() => slow.services.close())
    const people = await Promise.all(Array.from({ length: 51 }, () => comeToPage(slow.services)))
    const ways = await Promise.all(people.map((at) => leaveForProvider(slow.services, at)))
    let lose: (error: Error) => void = () => undefined
    const lost = new Promise<never>((_, reject) => (lose = reject))
    slow.provider.wrongs = { answers: { '/token': () => lost } }
    const answers = ways.map((way, index) => {
      return visit(slow.services, people[index]?.browser as Browser, slow.provider.signIn(way).href)
    })
    const first = await Promise.race(answers)
    expect([first.status, slow.services.logLines.join()]).toEqual([503, expect.stringContaining('too many people')])
    expect(slow.provider.requests.filter(({ url }) => url.endsWith('/token'))).toHaveLength(50)
    lose(new OutboundError('connection lost'))
    await Promise.all(answers)
  })

  it('is asked for nothing before somebody signs in, and once for its metadata', async () => {
    const fresh = await startSigningIn()
    const at = await comeToPage(fresh.services)
    await visit(fresh.services, at.browser, `${SIGN_IN}?interaction=${at.interaction}`)
    expect(fresh.provider.requests).toEqual([])
    await leaveForProvider(fresh.services, at)
    await leaveForProvider(fresh.services, at)
    expect(fresh.provider.requests).toHaveLength(1)
    await fresh.services.close()
  })
})
