/**
 * A person signs in at the operator's OpenID Connect provider, and the claims become the credential. OpenID Connect
 * Core 1.0 section 3.1.
 */
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type CodeFlow,
  declareWithScope,
  offerFor,
  readyWith,
  redeemCode,
  SCOPE,
  tokenBody,
  tokenForm,
  visit,
} from '../support/code-flow.ts'
import { snippetWith } from '../support/documents.ts'
import { expectIssued, expectRefusal } from '../support/issuance.ts'
import { ISSUER_URL } from '../support/services.ts'
import {
  ACCOUNT,
  type AtPage,
  comeBack,
  comeToPage,
  leaveForProvider,
  openidConnect,
  SIGN_IN,
  signingInOfBlock,
  startSigningIn,
  wayByPage,
  wayToWallet,
} from '../support/sign-in.ts'
import { call, configuration, dataset, declare, GRANT } from '../support/wire.ts'

describe('signing in for a wallet', () => {
  const all = signingInOfBlock()
  const datasetOf = async (sessionId: string) =>
    (await all.services.issuerStore.get('issuance_dataset', sessionId))?.value
  const sessionOf = async ({ interaction }: AtPage): Promise<string> => {
    const step = (await all.services.issuerStore.get('authorization_request', interaction))?.value.step
    return step !== undefined && 'sessionId' in step ? step.sessionId : ''
  }
  const page = async ({ browser, interaction }: AtPage) => {
    const response = await all.services.fetch(`${SIGN_IN}?interaction=${interaction}`, {
      headers: { cookie: browser.cookie ?? '', accept: 'text/html' },
    })
    return { response, text: await response.text() }
  }

  it('tells a person who comes to a page that is over what to do', async () => {
    const see = async (path: string): Promise<string> => {
      const response = await all.services.fetch(`${ISSUER_URL}${path}`, { headers: { accept: 'text/html' } })
      return response.text()
    }
    for (const [path, why] of [
      ['/auth/authorize?request_uri=x', 'invalid_request, client_id is missing. Request '],
      ['/auth/sign-in/answer?state=x', 'invalid_request, state: it is unknown; begin anew in the wallet. Request '],
      ['/auth/sign-in?interaction=nope', 'not_found, there is no such interaction. Request '],
    ] as const) {
      const text = await see(path)
      // The sentence is for developers, and stands below what the person can do.
      expect(text).toMatch(/<h1>This did not work<\/h1><p>Go back to your wallet and start again there\. [^<]*<\/p>/)
      expect(text).toContain(`<small lang="en">${why}`)
    }
  })

  it('has a person wait while the provider is away, and not begin at once', async () => {
    const { services, provider } = await startSigningIn()
    const at = await comeToPage(services)
    const headers = { cookie: at.browser.cookie ?? '', accept: 'text/html' }
    provider.wrongs = { metadata: { issuer: 'https://other.example' } }
    const response = await services.fetch(`${SIGN_IN}/start?interaction=${at.interaction}`, { headers })
    const text = await response.text()
    expect(response.status).toBe(503)
    expect(text).toContain('Wait a few minutes, then start again in your wallet.')
    expect(text).not.toContain('Go back to your wallet')
    await services.close()
  })

  it('has its pages in the language of the browser', async () => {
    const at = await comeToPage(all.services)
    const headers = { cookie: at.browser.cookie ?? '', accept: 'text/html', 'accept-language': 'de-AT,de;q=0.9' }
    const see = async (path: string): Promise<string> => {
      const response = await all.services.fetch(`${ISSUER_URL}${path}`, { headers })
      return response.text()
    }
    const first = await see(`/auth/sign-in?interaction=${at.interaction}`)
    expect(first).toContain('<html lang="de">')
    expect(first).toContain(
      'Ihre Daten werden hierhin gesendet: <strong>die App com.example.wallet auf diesem Gerät</strong>.',
    )
    expect(await see(`/auth/sign-in/stop?interaction=${at.interaction}`)).toContain(
      '<h1>Es wurde kein Nachweis ausgestellt</h1>',
    )
    expect(await see('/auth/sign-in?interaction=nope')).toContain('<h1>Das hat nicht funktioniert</h1>')
  })

  it('names credentials in the language of the browser, and by their first name where they have none of it', async () => {
    const display = [
      { name: 'Library card', locale: 'en-GB' },
      { name: 'Bibliotheksausweis', locale: 'de-DE' },
      { name: '<b>בית', locale: 'he' },
    ]
    await declare(all.services, { ...configuration, scope: 'library_card', credential_metadata: { display } })
    const at = await comeToPage(all.services, { scope: `library_card ${SCOPE}` })
    const see = async (language: string): Promise<string> => {
      const headers = { cookie: at.browser.cookie ?? '', accept: 'text/html', 'accept-language': language }
      const response = await all.services.fetch(`${SIGN_IN}?interaction=${at.interaction}`, { headers })
      return response.text()
    }
    const german = await see('de-AT,en;q=0.5')
    expect(german).toContain('<bdi lang="de-DE">Bibliotheksausweis</bdi> und <bdi lang="en-GB">Student card</bdi> für')
    expect(german).toMatch(/<title>[^<]*: Bibliotheksausweis und Student card für [^<]*<\/title>/)
    expect(await see('da')).toContain(
      '<bdi lang="en-GB">Library card</bdi> og <bdi lang="en-GB">Student card</bdi> til',
    )
    const hebrew = await see('he')
    expect(hebrew).toContain('<html lang="en">')
    expect(hebrew).toContain('<bdi lang="he">&lt;b&gt;בית</bdi> and ')
  })

  it('names the issuer in the language of the browser, and in its metadata in all', async () => {
    const display = { name: 'University', locale: 'en', translations: [{ name: 'Universität', locale: 'de' }] }
    const { services } = await startSigningIn({}, {}, { issuer: { id: ISSUER_URL, display } })
    const at = await comeToPage(services)
    const headers = { cookie: at.browser.cookie ?? '', accept: 'text/html', 'accept-language': 'de-AT' }
    const page = await services.fetch(`${SIGN_IN}?interaction=${at.interaction}`, { headers })
    expect(await page.text()).toContain('<h1><bdi lang="de">Universität</bdi>: ')
    const metadata = await services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer`)
    expect(await metadata.json()).toMatchObject({
      display: [
        { name: 'University', locale: 'en' },
        { name: 'Universität', locale: 'de' },
      ],
    })
    await services.close()
  })

  it('makes a credential of the claims, and of what is the same for all', async () => {
    const at = await comeToPage(all.services)
    const given = await wayToWallet(all.services, at.browser, await comeBack(all, at))
    expect(given).toEqual({ code: expect.any(String) as string, state: 'state-of-the-wallet', iss: ISSUER_URL })
    const sessionId = await sessionOf(at)
    const credentialSubject = {
      given_name: 'Ada',
      family_name: 'Lovelace',
      email: 'ada@example.edu',
      university: 'Example University',
    }
    const { configurationId } = all
    expect(await datasetOf(sessionId)).toEqual([{ configurationId, dataset: { credentialSubject } }])
    const token = await tokenBody(await redeemCode(all.services, tokenForm(at.wallet, given.code ?? '')))
    const coded = { services: all.services, sessionId } as CodeFlow
    await expectIssued(await readyWith(coded, token.access_token, all.configurationId))
  })

  it('asks the provider with PKCE, a nonce, a state and the scope, and says who asks at the page before', async () => {
    const at = await comeToPage(all.services)
    const { response, text } = await page(at)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; .*frame-ancestors 'none'$/)
    expect(text).toContain('Student card')
    expect(text).toContain('the app com.example.wallet on this device')
    expect(text).toContain(`href="/auth/sign-in/start?interaction=${at.interaction}"`)
    const address = await leaveForProvider(all.services, at)
    expect(`${address.origin}${address.pathname}`).toBe('https://login.example/authorize')
    expect(Object.fromEntries(address.searchParams)).toEqual({
      client_id: 'vouchsafe',
      response_type: 'code',
      scope: 'openid profile email',
      redirect_uri: `${SIGN_IN}/answer`,
      state: expect.stringMatching(/^[\w-]{200,600}$/) as string,
      nonce: expect.stringMatching(/^[\w-]{43}$/) as string,
      code_challenge: expect.stringMatching(/^[\w-]{43}$/) as string,
      code_challenge_method: 'S256',
    })
  })

  it('names the host of a wallet on the web, and never as HTML', async () => {
    const at = await comeToPage(all.services, {
      scope: SCOPE,
      client_id: 'com.example.wallet',
      redirect_uri: "https://wallet.example/cb?x='&y=(1)",
    })
    const { text } = await page(at)
    expect(text).toContain('<strong>wallet.example</strong>')
    expect(text).toContain('https://wallet.example/cb?x=&#39;&amp;y=(1)')
  })

  it('asks the UserInfo endpoint for what the ID token does not have', async () => {
    all.provider.account = { given_name: 'Ada', email: 'ada@example.edu' }
    all.provider.wrongs = { userinfo: { family_name: 'Byron', given_name: 'Not Ada', email_verified: true } }
    const at = await comeToPage(all.services)
    await wayToWallet(all.services, at.browser, await comeBack(all, at))
    expect(await datasetOf(await sessionOf(at))).toMatchObject([
      { dataset: { credentialSubject: { given_name: 'Ada', family_name: 'Byron', email: 'ada@example.edu' } } },
    ])
  })

  it.each([false, 'false', 'no', null])('leaves an address out that is verified: %j', async (verified) => {
    all.provider.account = { ...ACCOUNT, email_verified: verified }
    const at = await comeToPage(all.services)
    await wayToWallet(all.services, at.browser, await comeBack(all, at))
    expect(JSON.stringify(await datasetOf(await sessionOf(at)))).not.toContain('ada@example.edu')
  })

  it.each<[string, object]>([
    ['is verified', { email_verified: true }],
    ['is verified, in quotes', { email_verified: 'true' }],
    ['nothing is said of', { email_verified: undefined }],
  ])('keeps an address that %s', async (_, said) => {
    all.provider.account = { ...ACCOUNT, ...said }
    const at = await comeToPage(all.services)
    await wayToWallet(all.services, at.browser, await comeBack(all, at))
    expect(JSON.stringify(await datasetOf(await sessionOf(at)))).toContain('ada@example.edu')
  })

  it('tells the wallet when the person stops, and when the provider lets nobody in', async () => {
    const at = await comeToPage(all.services)
    const stopped = await visit(all.services, at.browser, `${SIGN_IN}/stop?interaction=${at.interaction}`)
    expect(await wayByPage(all, at, stopped)).toMatchObject({
      error: 'access_denied',
      error_description: 'the person declined',
    })
    const other = await comeToPage(all.services)
    const answer = await comeBack(all, other, { error: 'access_denied', error_description: '<b>no</b>', code: '' })
    expect(await wayByPage(all, other, answer)).toEqual({
      error: 'access_denied',
      error_description: 'the person was not signed in',
      state: 'state-of-the-wallet',
      iss: ISSUER_URL,
    })
  })

  it('gives the person who signs in the credential of an offer that waits for its data', async () => {
    const more = { deferred: true, credential_dataset: undefined }
    const { sessionId, issuerState } = await offerFor(all.services, all.configurationId, more)
    const at = await comeToPage(all.services, { scope: SCOPE, issuer_state: issuerState })
    const given = await wayToWallet(all.services, at.browser, await comeBack(all, at))
    await tokenBody(await redeemCode(all.services, tokenForm(at.wallet, given.code ?? '')))
    expect(await datasetOf(sessionId)).toMatchObject([{ dataset: { credentialSubject: { given_name: 'Ada' } } }])
  })

  it('gives the data for the whole of an offer where the wallet asks for a part of it', async () => {
    const own = await startSigningIn({
      datasets: {
        ...openidConnect.datasets,
        named: { claims: { credentialSubject: { nickname: 'nickname' } } },
      },
    })
    onTestFinished(() => own.services.close())
    own.provider.account = { ...ACCOUNT, nickname: 'the Enchantress of Number' }
    const claims = [{ path: ['credentialSubject', 'nickname'], mandatory: true }]
    const other = await declare(own.services, { ...configuration, scope: 'named', credential_metadata: { claims } })
    const { issuerState } = await offerFor(own.services, own.configurationId, {
      ...{ deferred: true, credential_dataset: undefined },
      credential_configurations: [own.configurationId, other],
    })
    const at = await comeToPage(own.services, { scope: SCOPE, issuer_state: issuerState })
    const given = await wayToWallet(own.services, at.browser, await comeBack(own, at))
    expect(await tokenBody(await redeemCode(own.services, tokenForm(at.wallet, given.code ?? '')))).toMatchObject({
      scope: SCOPE,
    })
  })

  it('tells the person why the offer has nothing for anybody who signs in', async () => {
    const more = { deferred: true, credential_dataset: undefined }
    const complete = `${ISSUER_URL}/issuance/oid4vci/complete`
    const come = async () => {
      const { sessionId, issuerState } = await offerFor(all.services, all.configurationId, more)
      return { sessionId, issuerState, at: await comeToPage(all.services, { scope: SCOPE, issuer_state: issuerState }) }
    }
    const denied = await come()
    await call(all.services, `${complete}/${denied.sessionId}`, { denied: true })
    expect(await (await comeBack(all, denied.at)).text()).toContain('the offer has been denied')
    const filled = await come()
    await call(all.services, `${complete}/${filled.sessionId}`, { credential_dataset: dataset })
    expect(await (await comeBack(all, filled.at)).text()).toContain('the offer has its data already')
    const shared = await come()
    const other = await comeToPage(all.services, { scope: SCOPE, issuer_state: shared.issuerState })
    await comeBack(all, other)
    const text = await (await comeBack(all, shared.at)).text()
    expect(text).toContain('somebody else has signed in for the offer')
    expect(all.services.logLines.filter((each) => each.includes('sign_in_unfit'))).toEqual([])
  })

  it('lets a person whose answer was lost sign in for a deferred offer again, in the same browser', async () => {
    const more = { deferred: true, credential_dataset: undefined }
    const { sessionId, issuerState } = await offerFor(all.services, all.configurationId, more)
    const form = { scope: SCOPE, issuer_state: issuerState }
    const lost = await comeToPage(all.services, form)
    const lostAnswer = await comeBack(all, lost)
    const again = await comeToPage(all.services, form, lost.browser)
    const code = (await wayToWallet(all.services, again.browser, await comeBack(all, again))).code ?? ''
    const lostCode = (await wayToWallet(all.services, lost.browser, lostAnswer)).code ?? ''
    await expectRefusal(await redeemCode(all.services, tokenForm(lost.wallet, lostCode)), {
      status: 400,
      error: 'invalid_grant',
      why: /another person/,
    })
    await tokenBody(await redeemCode(all.services, tokenForm(again.wallet, code)))
    expect(await datasetOf(sessionId)).toMatchObject([{ dataset: { credentialSubject: { given_name: 'Ada' } } }])
  })

  it('gives the one person that an offer is for the data that it has already', async () => {
    const own = { credentialSubject: { given_name: 'Ada', family_name: 'Lovelace', student_number: '1815' } }
    const more = { credential_dataset: own, person: { sub: 'person-of-the-test', email: ACCOUNT.email } }
    const { sessionId, issuerState } = await offerFor(all.services, all.configurationId, more)
    all.provider.account = { ...ACCOUNT, sub: 'person-of-the-test' }
    const at = await comeToPage(all.services, { scope: SCOPE, issuer_state: issuerState })
    const given = await wayToWallet(all.services, at.browser, await comeBack(all, at))
    await tokenBody(await redeemCode(all.services, tokenForm(at.wallet, given.code ?? '')))
    expect(await datasetOf(sessionId)).toEqual(own)
    const started = (await all.services.issuerStore.get('issuance_session', sessionId))?.value
    expect(started?.person).toEqual(more.person)
    all.services.clock.now = new Date(all.services.clock.now.getTime() + 3_600_000)
    await all.services.runTasks()
    expect(JSON.stringify(await all.services.issuerStore.list('issuance_session'))).not.toContain(ACCOUNT.email)
  })

  it('starts the session of docs/how-to/sign-in.md for one person', async () => {
    const declared = { format: 'dc+sd-jwt', vct: 'urn:example:card', scope: 'card' }
    const id = await declare(all.services, declared)
    const text = snippetWith('docs/how-to/sign-in.md', '"person"').replace('CREDENTIAL_CONFIGURATION_ID', id)
    const response = await call(all.services, `${ISSUER_URL}/issuance/oid4vci/new-session`, JSON.parse(text))
    expect([response.status, await response.json()]).toMatchObject([200, { session_id: expect.any(String) as string }])
  })

  it.each<[string, object, RegExp]>([
    ['with the pre-authorized code beside it', { grants: ['authorization_code', GRANT] }, /^person: .*alone/],
    [
      'by a claim that nobody asks for',
      { person: { shoe_size: '38' } },
      /^person\.shoe_size: it is not asked for; use sub,/,
    ],
    ['without its data', { credential_dataset: undefined, deferred: true }, /^person: goes with credential_dataset/],
  ])('starts no session for one person %s', async (_, more, why) => {
    const asked = { credential_dataset: dataset, credential_configurations: [all.configurationId] }
    const body = { ...asked, grants: ['authorization_code'], person: { sub: 'x' }, ...more }
    const response = await call(all.services, `${ISSUER_URL}/issuance/oid4vci/new-session`, body)
    await expectRefusal(response, { status: 400, error: 'invalid_request', why })
  })

  it('starts no session whose data anybody who signs in could take', async () => {
    const body = {
      credential_dataset: dataset,
      credential_configurations: [all.configurationId],
      grants: ['authorization_code'],
    }
    const response = await call(all.services, `${ISSUER_URL}/issuance/oid4vci/new-session`, body)
    expect([response.status, await response.json()]).toEqual([
      400,
      {
        error: 'invalid_request',
        error_description: expect.stringMatching(/^credential_dataset: .*deferred/) as string,
      },
    ])
  })
})

describe('an account that lacks what a credential needs', () => {
  it('is told what is missing, and the wallet is told no', async () => {
    const all = await startSigningIn({
      datasets: {
        needs: { claims: { credentialSubject: { birth_date: 'birthdate', street: ['address', 'street'] } } },
      },
    })
    const claims = [{ path: ['credentialSubject', 'birth_date'], mandatory: true }]
    const posted = { ...configuration, scope: 'needs', credential_metadata: { claims } }
    await declare(all.services, posted)
    const at = await comeToPage(all.services, { scope: 'needs' })
    const response = await comeBack(all, at)
    const text = await response.text()
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    expect(text).toContain('these claims are missing: birthdate, address.street')
    const link = /href="([^"]+)"/.exec(text.slice(text.indexOf('class="button"')))?.[1]?.replaceAll('&amp;', '&') ?? ''
    const wallet = await visit(all.services, at.browser, link)
    expect(new URL(wallet.headers.get('location') ?? '').searchParams.get('error')).toBe('access_denied')
    const line = all.services.logLines.find((each) => each.includes('sign_in_unfit')) ?? ''
    expect(JSON.parse(line)).toMatchObject({ missing: ['birthdate', 'address.street'] })
    await all.services.close()
  })

  it('of a configuration that no claims are named for is one too', async () => {
    const all = await startSigningIn()
    await declareWithScope(all.services, 'other')
    const at = await comeToPage(all.services, { scope: 'other' })
    expect(await (await comeBack(all, at)).text()).toContain('no claims are named for other')
    await all.services.close()
  })
})

describe('the settings of a provider', () => {
  const mistakes = (settings: object, more: object = {}) => expect(startSigningIn(settings, more)).rejects

  it.each<[string, object, RegExp]>([
    ['another scope', { scope: 'profile' }, /openidConnect\.scope: openid must be/],
    [
      'plain http to elsewhere',
      { issuer: 'http://login.example.edu' },
      /openidConnect\.issuer: it must begin with https/,
    ],
    ['a query', { issuer: 'https://login.example.edu?x' }, /no query/],
    ['a user', { issuer: 'https://a:b@login.example.edu' }, /user or password/],
    ['no datasets', { datasets: {} }, /openidConnect\.datasets: name at least one/],
    ['no claims', { datasets: { a: { claims: {} } } }, /datasets\.a\.claims: name at least one/],
    ['a number as a claim', { datasets: { a: { claims: { b: { c: 1 } } } } }, /datasets\.a\.claims\.b\.c: it must be/],
    ['an empty path', { datasets: { a: { claims: { b: [] } } } }, /datasets\.a\.claims\.b: it must be/],
  ])('are refused with %s', async (_, settings, why) => {
    await mistakes(settings).toThrow(why)
  })

  it('go without a page of the application', async () => {
    await mistakes({}, { interactionUrl: 'https://portal.example.edu/' }).toThrow(/one of the three/)
    await mistakes({}, { openidConnect: undefined }).toThrow(/one of the three/)
    expect(openidConnect.datasets).toHaveProperty(SCOPE)
  })
})
