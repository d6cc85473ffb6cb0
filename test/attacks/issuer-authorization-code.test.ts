/**
 * Attacks on the authorization code flow: on the code, on what was pushed, on where the browser goes, on who is at the
 * browser, and on the tokens. RFC 9700, RFC 9126 section 7, RFC 9207, OpenID4VCI 1.0, Security Considerations.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { makeDerivedCode } from '../../src/issuer/access/derived-code.ts'
import { deriveSecret } from '../../src/keys/file-signer.ts'
import { thumbprint } from '../../src/keys/jwk.ts'
import {
  AUTHORIZE,
  authorizeForCode,
  authorizeUrl,
  bring,
  CLIENT_ID,
  decide,
  declareWithScope,
  type Form,
  INTERACTION_URL,
  newVisitor,
  offerFor,
  PAR,
  push,
  REDIRECT_URI,
  readyWith,
  redeemCode,
  response,
  SCOPE,
  sendDecision,
  sentTo,
  startCodeFlow,
  tokenBody,
  tokenForm,
  visit,
  walletAsking,
  without,
} from '../support/code-flow.ts'
import { dpopNonce, dpopProof } from '../support/dpop.ts'
import { expectIssued, expectRefusal, request, TOKEN_ENDPOINT } from '../support/issuance.ts'
import { ISSUER_URL, type Services } from '../support/services.ts'
import { call, codeOf, dataset, GRANT, holderSigner, postForm, startIssuance } from '../support/wire.ts'

const SESSIONS = { refresh_seconds: 86_400, credential_dataset: dataset }

describe('an attack on the authorization code flow', () => {
  let services: Services
  let configurationId: string
  beforeAll(async () => {
    services = await startCodeFlow()
    configurationId = await declareWithScope(services)
  })
  afterAll(() => services.close())

  const rows = async () =>
    JSON.stringify(
      await Promise.all(
        (['authorization_request', 'issuance_session', 'issuance_dataset', 'spent_nonce'] as const).map((name) =>
          services.issuerStore.list(name),
        ),
      ),
    )
  const later = async <T>(seconds: number, run: () => Promise<T>): Promise<T> => {
    const real = services.clock.now
    services.clock.now = new Date(real.getTime() + seconds * 1000)
    return run().finally(() => {
      services.clock.now = real
    })
  }
  /** Expects that the attack is refused without effect. */
  async function refuses(attack: () => Promise<Response>, error: string, why: RegExp, status = 400): Promise<void> {
    const before = await rows()
    await expectRefusal(await attack(), { status, error, why })
    expect(await rows()).toBe(before)
  }

  describe('by the code', () => {
    it.each<[string, Form, string, RegExp]>([
      ['into the session of another verifier', { code_verifier: 'a'.repeat(43) }, 'invalid_grant', /code_verifier/],
      ['without a verifier', { code_verifier: '' }, 'invalid_grant', /code_verifier is missing/],
      ['with a verifier that is too short', { code_verifier: 'a'.repeat(42) }, 'invalid_request', /43 to 128/],
      ['with a verifier that is too long', { code_verifier: 'a'.repeat(129) }, 'invalid_request', /43 to 128/],
      [
        'for another client',
        { client_id: 'com.example.thief' },
        'invalid_grant',
        /the authorization code was given to another client; send/,
      ],
      ['without a client', { client_id: '' }, 'invalid_request', /client_id is missing; send that/],
      ['with another redirect URI', { redirect_uri: `${REDIRECT_URI}/x` }, 'invalid_grant', /redirect_uri/],
      ['without a redirect URI', { redirect_uri: '' }, 'invalid_request', /redirect_uri is missing/],
    ])('is injected %s', async (_, changed, error, why) => {
      const done = await authorizeForCode(services)
      await refuses(() => redeemCode(services, { ...done.form, ...changed }), error, why)
      await tokenBody(await redeemCode(services, done.form))
    })

    it('sends the challenge in the place of the verifier, as with a plain one', async () => {
      const done = await authorizeForCode(services)
      const challenge = done.wallet.form.code_challenge ?? ''
      await refuses(() => redeemCode(services, { ...done.form, code_verifier: challenge }), 'invalid_grant', /verifier/)
    })

    it('comes a second time, and ends what it gave', async () => {
      const done = await authorizeForCode(services, { decision: SESSIONS })
      const token = await tokenBody(await redeemCode(services, done.form))
      await expectIssued(await readyWith(done, token.access_token, configurationId))
      await expectRefusal(await redeemCode(services, done.form), {
        status: 400,
        error: 'invalid_grant',
        why: /has been used/,
      })
      const ready = await readyWith(done, token.access_token, configurationId)
      await expectRefusal(await request(ready), { status: 401, error: 'invalid_token' })
      const refresh = { grant_type: 'refresh_token', refresh_token: token.refresh_token ?? '', client_id: CLIENT_ID }
      await expectRefusal(await postForm(services, TOKEN_ENDPOINT, refresh), { status: 400, error: 'invalid_grant' })
    })

    it('comes a second time minutes later, and is still known', async () => {
      const done = await authorizeForCode(services)
      await tokenBody(await redeemCode(services, done.form))
      await later(599, async () => {
        await services.runTasks()
        const replayed = await redeemCode(services, done.form)
        await expectRefusal(replayed, { status: 400, error: 'invalid_grant', why: /has been used/ })
      })
    })

    it('comes twenty times at once, and leaves no token that is good', async () => {
      const done = await authorizeForCode(services)
      const answers = await Promise.all(Array.from({ length: 20 }, () => redeemCode(services, done.form)))
      const given = answers.filter(({ status }) => status === 200)
      expect(given).toHaveLength(1)
      const [first] = given
      if (first === undefined) throw new Error('no token')
      const ready = await readyWith(done, (await tokenBody(first)).access_token, configurationId)
      await expectRefusal(await request(ready), { status: 401, error: 'invalid_token' })
    })

    it('comes after a minute', async () => {
      const done = await authorizeForCode(services)
      await later(60, () => refuses(() => redeemCode(services, done.form), 'invalid_grant', /expired/))
      await later(59, async () => tokenBody(await redeemCode(services, done.form)))
    })

    it('comes with another scope, which changes nothing', async () => {
      const done = await authorizeForCode(services)
      const body = await tokenBody(await redeemCode(services, { ...done.form, scope: 'other' }))
      expect(body).toMatchObject({ scope: SCOPE })
      expect(body).not.toHaveProperty('authorization_details')
    })

    it('is made up of the id of the interaction, and changed in each part', async () => {
      const done = await authorizeForCode(services)
      const code = done.form.code ?? ''
      for (const forged of [done.interaction, `${done.interaction}.x`, `${code}x`, code.slice(1), `.${code}`]) {
        await refuses(() => redeemCode(services, { ...done.form, code: forged }), 'invalid_grant', /unknown/)
      }
    })

    it('is that of the person who has not been asked yet', async () => {
      const interaction = await bring(services, newVisitor(), { requestUri: await push(services, walletAsking().form) })
      // An attacker who could make codes still gets nothing before the application has decided.
      const code = makeDerivedCode([deriveSecret(services.issuerKey, 'authorization code')], interaction)
      await refuses(() => redeemCode(services, tokenForm(walletAsking(), code)), 'invalid_grant', /unknown/)
    })

    it('is bound to a key, and comes with another or with none', async () => {
      const [key, thief] = [await holderSigner(), await holderSigner()]
      const done = await authorizeForCode(services, { parameters: { scope: SCOPE, dpop_jkt: thumbprint(key.jwk) } })
      await refuses(
        () => redeemCode(services, done.form),
        'invalid_dpop_proof',
        /it is missing; the authorization code is bound to a key/,
      )
      await refuses(() => redeemCode(services, done.form, thief), 'invalid_grant', /another key/)
      expect(await tokenBody(await redeemCode(services, done.form, key))).toMatchObject({ token_type: 'DPoP' })
    })

    it('is pushed with a proof by another key than it names', async () => {
      const { form } = walletAsking({ scope: SCOPE, dpop_jkt: thumbprint((await holderSigner()).jwk) })
      const proof = { services, key: await holderSigner(), url: PAR, nonce: await dpopNonce(services) }
      const headers = { 'content-type': 'application/x-www-form-urlencoded', dpop: await dpopProof(proof) }
      const body = new URLSearchParams(form).toString()
      const attack = () => services.fetch(PAR, { method: 'POST', headers, body })
      await refuses(attack, 'invalid_dpop_proof', /dpop_jkt/)
    })

    it('is redeemed at the endpoint of another session', async () => {
      const { sessionId } = await offerFor(services, configurationId)
      const done = await authorizeForCode(services)
      const url = `${TOKEN_ENDPOINT}/${sessionId}`
      await refuses(() => redeemCode(services, done.form, undefined, url), 'invalid_grant', /unknown/)
    })

    it('is a pre-authorized one of a session that offers none', async () => {
      const done = await authorizeForCode(services)
      const code = makeDerivedCode([deriveSecret(services.issuerKey, 'pre-authorized code')], done.sessionId)
      const form = { grant_type: GRANT, 'pre-authorized_code': code }
      await refuses(() => postForm(services, TOKEN_ENDPOINT, form), 'invalid_grant', /unknown/)
      const { sessionId } = await startIssuance(services)
      const good = { grant_type: GRANT, 'pre-authorized_code': await codeOf(services, sessionId) }
      await tokenBody(await postForm(services, TOKEN_ENDPOINT, good))
    })
  })

  describe('by the request', () => {
    it.each<[string, Form, readonly string[], string, RegExp]>([
      ['leaves PKCE out', {}, ['code_challenge', 'code_challenge_method'], 'invalid_request', /PKCE/],
      ['leaves the challenge out', {}, ['code_challenge'], 'invalid_request', /PKCE/],
      ['downgrades PKCE by leaving the method out', {}, ['code_challenge_method'], 'invalid_request', /must be S256/],
      ['downgrades PKCE to plain', { code_challenge_method: 'plain' }, [], 'invalid_request', /must be S256/],
      ['has a challenge that is not a digest', { code_challenge: 'a'.repeat(44) }, [], 'invalid_request', /SHA-256/],
      ['wants a token at once', { response_type: 'token' }, [], 'unsupported_response_type', /code/],
      ['wants a code and a token', { response_type: 'code token' }, [], 'unsupported_response_type', /code/],
      ['has no response type', {}, ['response_type'], 'invalid_request', /response_type/],
      ['wants the code in a fragment', { response_mode: 'fragment' }, [], 'invalid_request', /response_mode/],
      ['wants the code posted', { response_mode: 'form_post' }, [], 'invalid_request', /response_mode/],
      ['has a request object', { request: 'eyJhbGciOiJub25lIn0.e30.' }, [], 'invalid_request', /request objects/],
      ['pushes a request_uri', { request_uri: 'https://thief.example/r' }, [], 'invalid_request', /request_uri/],
      ['has no client', {}, ['client_id'], 'invalid_request', /client_id is missing/],
      ['has a client of many letters', { client_id: 'a'.repeat(513) }, [], 'invalid_request', /512/],
      ['has a client with spaces', { client_id: 'My wallet' }, [], 'invalid_request', /visible ASCII/],
      ['has a state of many letters', { state: 'a'.repeat(1025) }, [], 'invalid_request', /1024/],
      ['has a state with line breaks', { state: 'a\r\nSet-Cookie: b=c' }, [], 'invalid_request', /visible ASCII/],
      ['names a key that is none', { dpop_jkt: 'key' }, [], 'invalid_request', /dpop_jkt/],
      ['names no credential', {}, ['scope'], 'invalid_scope', /name a credential configuration/],
      ['names none of ours', { scope: 'openid' }, [], 'invalid_scope', /name a credential configuration/],
      ['has details that are none', { authorization_details: '{' }, [], 'invalid_authorization_details', /read|JSON/],
      [
        'has details of another configuration',
        { authorization_details: '[{"type":"openid_credential","credential_configuration_id":"x"}]' },
        [],
        'invalid_authorization_details',
        /must be one of the offer/,
      ],
    ])('%s, pushed and in the address of the browser', async (_, changed, left, error, why) => {
      const form = { ...without(walletAsking().form, ...left), ...changed }
      await refuses(() => postForm(services, PAR, form), error, why)
      const own = changed.request_uri === undefined ? error : 'invalid_request_uri'
      const answer = () => visit(services, newVisitor(), authorizeUrl(form))
      await refuses(answer, own, changed.request_uri === undefined ? why : /this issuer did not make it/)
      expect((await answer()).headers.get('location')).toBeNull()
    })

    it('asks for more than fifty configurations', async () => {
      const many = await startCodeFlow()
      onTestFinished(() => many.close())
      const scopes = Array.from({ length: 51 }, (_, index) => `s${index}`)
      for (const each of scopes) await declareWithScope(many, each)
      const asking = (some: readonly string[]) => postForm(many, PAR, walletAsking({ scope: some.join(' ') }).form)
      expect((await asking(scopes.slice(1))).status).toBe(201)
      await expectRefusal(await asking(scopes), { status: 400, error: 'invalid_scope', why: /more than 50/ })
    })

    it('asks for a configuration that nobody can ask for without an offer', async () => {
      const { id } = await startIssuance(services)
      const details = JSON.stringify([{ type: 'openid_credential', credential_configuration_id: id }])
      const form = walletAsking({ authorization_details: details }).form
      await refuses(() => postForm(services, PAR, form), 'invalid_authorization_details', /one that has a scope/)
    })

    it('has a parameter twice', async () => {
      const form = new URLSearchParams(walletAsking().form).toString()
      const twice = `${form}&redirect_uri=${encodeURIComponent('https://thief.example/')}`
      await refuses(() => postForm(services, PAR, twice), 'invalid_request', /redirect_uri: given more than once/)
      await refuses(
        () => visit(services, newVisitor(), `${AUTHORIZE}?${twice}`),
        'invalid_request',
        /redirect_uri: given more than once/,
      )
    })

    it.each<[string, string, RegExp]>([
      ['plain http', 'http://wallet.example/cb', /plain http/],
      ['plain http to a name of this machine', 'http://localhost/cb', /plain http/],
      ['http to a name that begins like this machine', 'http://127.0.0.1.thief.example/cb', /plain http/],
      ['a fragment', 'https://wallet.example/cb#', /fragment/],
      ['a user', 'https://wallet.example@thief.example/cb', /user/],
      ['a script', 'javascript:alert(1)', /nobody may be sent/],
      ['data', 'data:text/html,x', /nobody may be sent/],
      ['a file', 'file:///etc/passwd', /nobody may be sent/],
      ['a scheme without a dot', 'wallet:/cb', /needs a dot/],
      ['a scheme that begins with a dot', '.wallet:/cb', /not a URI/],
      ['a path', '/cb', /not a URI/],
      ['two slashes', '//thief.example/cb', /not a URI/],
      ['a backslash', 'https://wallet.example\\@thief.example/cb', /backslash/],
      ['a line break', 'https://wallet.example/cb\r\nSet-Cookie: a=b', /not a URI/],
      ['other letters', 'https://wället.example/cb', /not a URI/],
      ['a code of its own', 'https://wallet.example/cb?code=x', /parameter code/],
      ['an issuer of its own', 'https://wallet.example/cb?iss=x', /parameter iss/],
      ['too many letters', `https://wallet.example/${'a'.repeat(2048)}`, /2048/],
    ])('has a redirect URI with %s', async (_, uri, why) => {
      const { form } = walletAsking({ scope: SCOPE, redirect_uri: uri })
      await refuses(() => postForm(services, PAR, form), 'invalid_request', why)
      await refuses(() => visit(services, newVisitor(), authorizeUrl(form)), 'invalid_request', why)
    })

    it.each(['https://wallet.example/cb?a=b', 'http://127.0.0.1:4711/cb', 'http://[::1]/cb', 'com.example.wallet:/cb'])(
      'cannot change the redirect URI %s, which comes back as it was',
      async (uri) => {
        const [wallet, browser] = [walletAsking({ scope: SCOPE, redirect_uri: uri }), newVisitor()]
        const interaction = await bring(services, browser, { requestUri: await push(services, wallet.form) })
        const { address } = await sendDecision(services, interaction)
        const location = (await visit(services, browser, address)).headers.get('location') ?? ''
        expect(location.startsWith(`${uri}${uri.includes('?') ? '&' : '?'}code=`)).toBe(true)
      },
    )

    it('lets the operator name others, and none that a browser runs', async () => {
      const uris = ['wallet:/cb']
      const other = await startCodeFlow({ redirectUris: uris })
      try {
        await declareWithScope(other)
        await push(other, walletAsking({ scope: SCOPE, redirect_uri: 'wallet:/cb' }).form)
        const { form } = walletAsking({ scope: SCOPE, redirect_uri: 'wallet:/cb/' })
        await expectRefusal(await postForm(other, PAR, form), { status: 400, error: 'invalid_request', why: /dot/ })
      } finally {
        await other.close()
      }
      await expect(startCodeFlow({ redirectUris: ['javascript:x'] })).rejects.toThrow(/redirectUris\[0\]/)
    })
  })

  describe('by what was pushed', () => {
    const address = (requestUri: string, more: Form = {}) =>
      authorizeUrl({ client_id: CLIENT_ID, request_uri: requestUri, ...more })

    it('is not used up by who asks for the headers alone, as what looks at links beforehand does', async () => {
      const requestUri = await push(services, walletAsking().form)
      const { status } = await services.fetch(address(requestUri), { method: 'HEAD', redirect: 'manual' })
      expect(status).toBeGreaterThanOrEqual(400)
      await bring(services, newVisitor(), { requestUri })
    })

    it('brings the request of another client', async () => {
      const requestUri = await push(services, walletAsking().form)
      const other = address(requestUri, { client_id: 'com.example.thief' })
      await refuses(() => visit(services, newVisitor(), other), 'invalid_request_uri', /another client/)
      await refuses(
        () => visit(services, newVisitor(), `${AUTHORIZE}?request_uri=${encodeURIComponent(requestUri)}`),
        'invalid_request',
        /client_id/,
      )
    })

    it('brings it twice, one after the other and twenty times at once', async () => {
      const requestUri = await push(services, walletAsking().form)
      await bring(services, newVisitor(), { requestUri })
      await refuses(() => visit(services, newVisitor(), address(requestUri)), 'invalid_request_uri', /has been used/)
      const other = address(await push(services, walletAsking().form))
      const answers = await Promise.all(Array.from({ length: 20 }, () => visit(services, newVisitor(), other)))
      expect(answers.filter(({ status }) => status === 303)).toHaveLength(1)
    })

    it('brings it again in the browser that brought it, after the decision or with the cookie of another', async () => {
      const requestUri = await push(services, walletAsking().form)
      const [browser, other] = [newVisitor(), newVisitor()]
      const interaction = await bring(services, browser, { requestUri })
      await bring(services, other, { requestUri: await push(services, walletAsking().form) })
      await refuses(() => visit(services, { ...other }, address(requestUri)), 'invalid_request_uri', /has been used/)
      // A page that is loaded anew leads to the same question.
      expect(await bring(services, browser, { requestUri })).toBe(interaction)
      await sendDecision(services, interaction)
      await refuses(() => visit(services, { ...browser }, address(requestUri)), 'invalid_request_uri', /has been used/)
    })

    it('brings it after a minute', async () => {
      const requestUri = await push(services, walletAsking().form)
      const attack = () => visit(services, newVisitor(), address(requestUri))
      await later(60, () => refuses(attack, 'invalid_request_uri', /expired/))
      await later(59, () => bring(services, newVisitor(), { requestUri }))
    })

    it.each<[string, (uri: string) => string]>([
      ['with another letter', (uri) => `${uri.slice(0, -1)}${uri.endsWith('A') ? 'B' : 'A'}`],
      ['cut short', (uri) => uri.slice(0, 60)],
      ['without its name', (uri) => uri.replace('urn:ietf:params:oauth:request_uri:', '')],
      ['of another server', () => 'https://thief.example/request'],
      ['of nothing', () => 'urn:ietf:params:oauth:request_uri:'],
    ])('brings it %s', async (_, change) => {
      const requestUri = change(await push(services, walletAsking().form))
      await refuses(
        () => visit(services, newVisitor(), address(requestUri)),
        'invalid_request_uri',
        /this issuer did not make it/,
      )
    })

    it.each<[string, Form]>([
      ['another redirect URI', { redirect_uri: 'https://thief.example/' }],
      ['another scope', { scope: 'other' }],
      ['another state', { state: 'x' }],
      ['another challenge', { code_challenge: 'a'.repeat(43) }],
      ['another issuer_state', { issuer_state: 'x' }],
      ['the response type', { response_type: 'code' }],
      ['an empty parameter', { state: '' }],
    ])('has %s beside it, which changes nothing', async (_, beside) => {
      const { form } = walletAsking()
      const [requestUri, browser] = [await push(services, form), newVisitor()]
      const interactionUrl = await sentTo(await visit(services, browser, address(requestUri, beside)))
      const interaction = interactionUrl.searchParams.get('interaction') ?? ''
      const decision = await sendDecision(services, interaction)
      expect((await response(services, browser, decision.address)).state).toBe(form.state)
    })

    it('mixes two issuers up: what was pushed to one is brought to another', async () => {
      const { sessionId, issuerState } = await offerFor(services, configurationId)
      const { form } = walletAsking({ scope: SCOPE, issuer_state: issuerState })
      const ofSession = await push(services, form, `${PAR}/${sessionId}`)
      await refuses(() => visit(services, newVisitor(), address(ofSession)), 'invalid_request_uri', /another issuer/)
      const ofBase = await push(services, form)
      const url = authorizeUrl({ client_id: CLIENT_ID, request_uri: ofBase }, `${AUTHORIZE}/${sessionId}`)
      await refuses(() => visit(services, newVisitor(), url), 'invalid_request_uri', /another issuer/)
    })

    it('fills no row by pushing, however often', async () => {
      const before = await rows()
      await Promise.all(Array.from({ length: 200 }, () => push(services, walletAsking().form)))
      expect(await rows()).toBe(before)
    })

    it('pushes more than a browser could bring', async () => {
      const ids = Array.from({ length: 40 }, (_, index) => `${index}`.padStart(22, 'a'))
      const scope = [SCOPE, ...ids].join(' ')
      await push(services, walletAsking({ scope }).form)
      const long = walletAsking({ scope: `${SCOPE} ${'b'.repeat(2048)}` }).form
      await refuses(() => postForm(services, PAR, long), 'invalid_scope', /2048/)
      const scopes = Array.from({ length: 40 }, (_, index) => `${index}`.padStart(50, 's'))
      for (const each of scopes) await declareWithScope(services, each)
      const most = {
        scope: scopes.join(' '),
        state: 's'.repeat(1024),
        client_id: 'c'.repeat(512),
        redirect_uri: `https://wallet.example/${'r'.repeat(2000)}`,
      }
      await push(services, walletAsking({ ...most, state: 'short' }).form)
      await refuses(() => postForm(services, PAR, walletAsking(most).form), 'invalid_request', /6144 bytes/)
    })

    it('fills rows by visits, of which there are so many in a process and no more, and which are purged', async () => {
      const flooded = await startCodeFlow()
      try {
        await declareWithScope(flooded)
        const url = authorizeUrl(walletAsking().form)
        const answers = new Map<number, number>()
        for (let turn = 0; turn < 61; turn++) {
          const visits = Array.from({ length: 100 }, () => visit(flooded, newVisitor(), url))
          for (const { status } of await Promise.all(visits)) answers.set(status, (answers.get(status) ?? 0) + 1)
        }
        expect([...answers]).toEqual([
          [303, 6000],
          [503, 100],
        ])
        const refused = await visit(flooded, newVisitor(), url)
        expect(refused.headers.get('retry-after')).toBe('1')
        const stored = await flooded.issuerStore.list('authorization_request')
        expect(stored).toHaveLength(6000)
        expect(JSON.stringify(stored[0]).length).toBeLessThan(1000)
        flooded.clock.now = new Date(flooded.clock.now.getTime() + 1_201_000)
        await flooded.runTasks()
        expect(await flooded.issuerStore.list('authorization_request')).toEqual([])
      } finally {
        await flooded.close()
      }
    })
  })

  describe('by an offer', () => {
    const asking = (issuerState: string) => walletAsking({ scope: SCOPE, issuer_state: issuerState }).form
    const why = /issuer_state: it is not that of an offer/

    it('guesses its issuer_state', async () => {
      const [{ sessionId, issuerState }, { sessionId: plain }] = [
        await offerFor(services, configurationId),
        await startIssuance(services),
      ]
      const code = await codeOf(services, plain)
      const forged = [sessionId, `${sessionId}.`, `${sessionId}.${'a'.repeat(43)}`, `${issuerState}x`, code, 'x']
      for (const state of forged) await refuses(() => postForm(services, PAR, asking(state)), 'invalid_request', why)
      // An offer without the grant has no such state, whoever could make it.
      const made = makeDerivedCode([deriveSecret(services.issuerKey, 'issuer_state')], plain)
      await refuses(() => postForm(services, PAR, asking(made)), 'invalid_request', why)
      await push(services, asking(issuerState))
    })

    it('answers another one than that of its path, or none', async () => {
      const [one, other] = [await offerFor(services, configurationId), await offerFor(services, configurationId)]
      const url = `${PAR}/${one.sessionId}`
      await refuses(() => postForm(services, url, asking(other.issuerState)), 'invalid_request', why)
      await refuses(() => postForm(services, url, walletAsking().form), 'invalid_request', /issuer_state is missing/)
      const unknown = `${PAR}/${'a'.repeat(32)}`
      await refuses(() => postForm(services, unknown, asking(one.issuerState)), 'invalid_request', why)
    })

    it('answers one that has been used, or has expired, at every step', async () => {
      const { issuerState } = await offerFor(services, configurationId)
      const parameters = { scope: SCOPE, issuer_state: issuerState }
      const approved = { parameters, decision: { approved: true } }
      const [first, second] = [await authorizeForCode(services, approved), await authorizeForCode(services, approved)]
      const pushed = await push(services, asking(issuerState))
      const third = await bring(services, newVisitor(), { requestUri: await push(services, asking(issuerState)) })
      await later(601, async () => {
        await expectRefusal(await postForm(services, PAR, asking(issuerState)), {
          status: 400,
          error: 'invalid_request',
          why: /expired/,
        })
      })
      await tokenBody(await redeemCode(services, first.form))
      await refuses(() => redeemCode(services, second.form), 'invalid_grant', /offer has been used/)
      await refuses(() => postForm(services, PAR, asking(issuerState)), 'invalid_request', /offer has been used/)
      const url = authorizeUrl({ client_id: CLIENT_ID, request_uri: pushed })
      await refuses(() => visit(services, newVisitor(), url), 'invalid_request', /offer has been used/)
      await refuses(() => decide(services, third, { approved: true }), 'gone', /offer has been used/, 410)
    })

    const deferred = { deferred: true, credential_dataset: undefined }
    it.each<[string, object, object, RegExp]>([
      ['data in the place of those that the offer has', {}, { credential_dataset: dataset }, /has its dataset already/],
      ['to wait, which the offer says', deferred, { deferred: true }, /^deferred: the session of the offer says that/],
      ['a time to refresh', {}, { approved: true, refresh_seconds: 60 }, /^refresh_seconds: the session of the offer/],
    ])('is decided with %s', async (_, offer, decision, why) => {
      const { issuerState } = await offerFor(services, configurationId, offer)
      const interaction = await bring(services, newVisitor(), { requestUri: await push(services, asking(issuerState)) })
      await refuses(() => decide(services, interaction, decision), 'invalid_state', why, 409)
      await sendDecision(services, interaction, { approved: true })
    })

    it('is decided with data that do not fit', async () => {
      const { issuerState } = await offerFor(services, configurationId, deferred)
      const interaction = await bring(services, newVisitor(), { requestUri: await push(services, asking(issuerState)) })
      for (const unfit of [{ nothing: 'x' }, [], [{ configurationId, dataset }]]) {
        const attack = () => decide(services, interaction, { credential_dataset: unfit })
        await refuses(attack, 'invalid_request', /^credential_dataset/)
      }
      await sendDecision(services, interaction)
    })

    it('is approved although the application has refused it', async () => {
      const { sessionId, issuerState } = await offerFor(services, configurationId, deferred)
      const interaction = await bring(services, newVisitor(), { requestUri: await push(services, asking(issuerState)) })
      const denied = await call(services, `${ISSUER_URL}/issuance/oid4vci/complete/${sessionId}`, { denied: true })
      expect(denied.status).toBe(200)
      for (const body of [{ approved: true }, { credential_dataset: dataset }]) {
        await refuses(() => decide(services, interaction, body), 'invalid_state', /has been denied/, 409)
      }
    })

    it('gets the data of another person who answered the same offer', async () => {
      const more = { deferred: true, credential_dataset: undefined }
      const { issuerState } = await offerFor(services, configurationId, more)
      const parameters = { scope: SCOPE, issuer_state: issuerState }
      const waiting = await authorizeForCode(services, { parameters, decision: { approved: true } })
      const thief = await bring(services, newVisitor(), { requestUri: await push(services, asking(issuerState)) })
      const person = await authorizeForCode(services, { parameters })
      for (const body of [{ approved: true }, { credential_dataset: dataset }]) {
        await refuses(() => decide(services, thief, body), 'invalid_state', /another interaction/, 409)
      }
      await refuses(() => redeemCode(services, waiting.form), 'invalid_grant', /another person/)
      await tokenBody(await redeemCode(services, person.form))
    })

    it('gets by the pre-authorized code of the offer what was decided for a person who was asked', async () => {
      const grants = ['authorization_code', GRANT]
      const { sessionId, issuerState } = await offerFor(services, configurationId, { ...deferred, grants })
      const code = await codeOf(services, sessionId)
      const person = await authorizeForCode(services, { parameters: { scope: SCOPE, issuer_state: issuerState } })
      const form = { grant_type: GRANT, 'pre-authorized_code': code }
      await refuses(
        () => postForm(services, `${ISSUER_URL}/auth/token-endpoint`, form),
        'invalid_grant',
        /a person who was asked/,
      )
      await tokenBody(await redeemCode(services, person.form))
    })

    it('gets the data of a person whose code was lost, who begins anew and gets the credential', async () => {
      const { sessionId, issuerState } = await offerFor(services, configurationId, deferred)
      const parameters = { scope: SCOPE, issuer_state: issuerState }
      const decision = { credential_dataset: { credentialSubject: { given_name: 'Eve' } } }
      const lost = await authorizeForCode(services, { parameters, decision })
      const begin = async () => bring(services, newVisitor(), { requestUri: await push(services, asking(issuerState)) })
      const early = await begin()
      await refuses(() => decide(services, early, { credential_dataset: dataset }), 'invalid_state', /not over/, 409)
      await later(61, async () => {
        await refuses(() => decide(services, early, { approved: true }), 'invalid_state', /send it anew/, 409)
        const again = await authorizeForCode(services, { parameters })
        expect((await services.issuerStore.get('issuance_dataset', sessionId))?.value).toEqual(dataset)
        await refuses(() => redeemCode(services, lost.form), 'invalid_grant', /unknown or has expired/)
        const { access_token: token } = await tokenBody(await redeemCode(services, again.form))
        await expectIssued(await readyWith(again, token, configurationId))
      })
    })
  })

  describe('at the browser', () => {
    const begun = async () => {
      const [wallet, browser] = [walletAsking(), newVisitor()]
      const interaction = await bring(services, browser, { requestUri: await push(services, wallet.form) })
      return { wallet, browser, interaction }
    }
    const another = /another browser/

    it('lures a person into its own authorization, and gets no code', async () => {
      const thief = await begun()
      // The person follows the link of the thief, and the application asks and believes the person.
      const { address } = await sendDecision(services, thief.interaction)
      const victim = newVisitor()
      await expectRefusal(await visit(services, victim, address), {
        status: 400,
        error: 'invalid_request',
        why: another,
      })
      // The secret of the decision was never in the browser of the thief; and with it, it would be too late.
      await expectRefusal(await visit(services, thief.browser, address), { status: 410, error: 'gone' })
    })

    it('lures a person who has an authorization of their own', async () => {
      const [thief, victim] = [await begun(), await begun()]
      const { address } = await sendDecision(services, thief.interaction)
      await expectRefusal(await visit(services, victim.browser, address), {
        status: 400,
        error: 'invalid_request',
        why: another,
      })
      const own = await sendDecision(services, victim.interaction)
      expect(await response(services, victim.browser, own.address)).toHaveProperty('code')
    })

    it('has the cookie and not the secret', async () => {
      const { browser, interaction } = await begun()
      const back = `${ISSUER_URL}/auth/return/${interaction}`
      await refuses(() => visit(services, browser, back), 'invalid_request', /has not completed/)
      const { address } = await sendDecision(services, interaction)
      for (const wrong of ['', '?completion=', '?completion=x', `?completion=${interaction}`]) {
        await refuses(() => visit(services, browser, `${back}${wrong}`), 'invalid_request', /completion/)
      }
      expect(await response(services, browser, address)).toHaveProperty('code')
    })

    it.each<[string, (cookie: string) => string | undefined]>([
      ['no cookie', () => undefined],
      ['an empty one', (cookie) => cookie.replace(/=.*/, '=')],
      ['another', (cookie) => cookie.replace(/=.*/, `=${'a'.repeat(43)}`)],
      ['its cookie under another name', (cookie) => `other${cookie}`],
      ['a second cookie of the name', (cookie) => `${cookie}; ${cookie.replace(/=.*/, `=${'a'.repeat(43)}`)}`],
    ])('comes back with %s', async (_, change) => {
      const { browser, interaction } = await begun()
      const { address } = await sendDecision(services, interaction)
      const changed = { cookie: change(browser.cookie ?? '') }
      await expectRefusal(await visit(services, changed, address), {
        status: 400,
        error: 'invalid_request',
        why: another,
      })
    })

    it('comes back twice, or twenty times at once, and gets one code', async () => {
      const { browser, interaction } = await begun()
      const { address } = await sendDecision(services, interaction)
      const cookie = { cookie: browser.cookie }
      const answers = await Promise.all(Array.from({ length: 20 }, () => visit(services, { ...cookie }, address)))
      expect(answers.filter(({ status }) => status === 303)).toHaveLength(1)
      expect(answers.filter(({ status }) => status === 410)).toHaveLength(19)
    })

    it('is late at the application, and late on the way back', async () => {
      const { browser, interaction } = await begun()
      await later(600, () => refuses(() => decide(services, interaction, { denied: true }), 'gone', /expired/, 410))
      const { address } = await sendDecision(services, interaction)
      await later(300, () => refuses(() => visit(services, browser, address), 'gone', /over/, 410))
      await later(299, async () => expect(await response(services, browser, address)).toHaveProperty('code'))
    })

    it('is sent nowhere by a link alone, only to the page of the operator', async () => {
      const form = walletAsking({ scope: SCOPE, redirect_uri: 'https://thief.example/' }).form
      for (const changed of [form, { ...form, scope: 'x' }, { ...form, response_type: 'token' }]) {
        const answer = await visit(services, newVisitor(), authorizeUrl(changed))
        const location = answer.headers.get('location') ?? INTERACTION_URL
        expect(location.startsWith(INTERACTION_URL)).toBe(true)
      }
    })

    it('keeps a cookie that no script reads and no other site sends, and tells nobody where it comes from', async () => {
      const url = authorizeUrl(walletAsking().form)
      const answer = await visit(services, newVisitor(), url)
      const cookie = answer.headers.get('set-cookie') ?? ''
      expect(cookie).toMatch(/^vouchsafe-browser=[\w-]{43}; Path=\/; Max-Age=1800; HttpOnly; SameSite=Lax$/)
      expect(answer.headers.get('referrer-policy')).toBe('no-referrer')
      expect(answer.headers.get('cache-control')).toBe('no-store')
      const secure = await startCodeFlow({ baseUrl: 'https://issuer.example' })
      try {
        await declareWithScope(secure)
        const { headers } = await secure.issuer.inject(new URL(url).pathname + new URL(url).search)
        expect(headers['set-cookie']).toMatch(/^__Host-vouchsafe-browser=.*; SameSite=Lax; Secure$/)
      } finally {
        await secure.close()
      }
    })
  })

  describe('by the tokens', () => {
    it('has stolen a refresh token: it is bound to the client and to the key', async () => {
      const key = await holderSigner()
      const done = await authorizeForCode(services, { decision: SESSIONS })
      const token = await tokenBody(await redeemCode(services, done.form, key))
      const refresh = { grant_type: 'refresh_token', refresh_token: token.refresh_token ?? '', client_id: CLIENT_ID }
      const other = { ...refresh, client_id: 'com.example.thief' }
      await refuses(() => redeemCode(services, other, key), 'invalid_grant', /another client/)
      await refuses(() => redeemCode(services, without(refresh, 'client_id'), key), 'invalid_request', /client_id/)
      await refuses(() => redeemCode(services, refresh), 'invalid_dpop_proof', /missing/)
      const thief = await holderSigner()
      await refuses(() => redeemCode(services, refresh, thief), 'invalid_grant', /another key/)
      expect(await tokenBody(await redeemCode(services, refresh, key))).toMatchObject({ token_type: 'DPoP' })
    })

    it('has stolen the DPoP key: it opens nothing without the verifier, and a replay ends what it gave', async () => {
      const key = await holderSigner()
      const done = await authorizeForCode(services)
      const wrong = { ...done.form, code_verifier: 'a'.repeat(43) }
      await refuses(() => redeemCode(services, wrong, key), 'invalid_grant', /code_verifier/)
      const token = await tokenBody(await redeemCode(services, done.form, key))
      expect((await redeemCode(services, wrong, key)).status).toBe(400)
      const ready = await readyWith(done, token.access_token, configurationId)
      const answer = await request(ready)
      await expectRefusal(answer, { status: 401, error: 'invalid_token', why: /expired|bound/, challenge: /./ })
    })

    it('finds neither code nor secret nor cookie in the database, nor in the log', async () => {
      const [wallet, browser] = [walletAsking(), newVisitor()]
      const denied = await bring(services, newVisitor(), { requestUri: await push(services, wallet.form) })
      await sendDecision(services, denied, { denied: true, reason: 'No, Ada.' })
      const requestUri = await push(services, wallet.form)
      const interaction = await bring(services, browser, { requestUri })
      const { address } = await sendDecision(services, interaction)
      const { code = '' } = await response(services, browser, address)
      await redeemCode(services, tokenForm(wallet, code))
      await redeemCode(services, tokenForm(wallet, code))
      const secrets = [
        code.split('.')[1] ?? '',
        browser.cookie?.split('=')[1] ?? '',
        new URL(address).searchParams.get('completion') ?? '',
        wallet.codeVerifier,
        requestUri.slice(-40),
      ]
      expect(secrets.every((secret) => secret.length > 20)).toBe(true)
      const all = (await rows()) + services.logLines.join('')
      expect(secrets.filter((secret) => all.includes(secret))).toEqual([])
      expect(services.logLines.join('')).not.toMatch(/No, Ada|state-of-the-wallet/)
    })
  })
})
