/**
 * The authorization code flow of this service, from the request to the credential. OpenID4VCI 1.0, RFC 9126, RFC 7636,
 * RFC 9207.
 */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  AUTHORIZE,
  authorizeForCode,
  authorizeUrl,
  bring,
  CLIENT_ID,
  type CodeFlow,
  decide,
  declareWithScope,
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
} from '../support/code-flow.ts'
import { dpopNonce, dpopProof, expectIssuedBound } from '../support/dpop.ts'
import { expectIssued, expectRefusal, request, TOKEN_ENDPOINT } from '../support/issuance.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { call, dataset, declare, fetchNonce, holderSigner, postForm, statusOf } from '../support/wire.ts'

const detail = (id: string) => ({ type: 'openid_credential', credential_configuration_id: id })
const details = (...ids: string[]) => ({ authorization_details: JSON.stringify(ids.map(detail)) })

describe('the authorization code flow', () => {
  let services: Services
  let configurationId: string
  beforeAll(async () => {
    services = await startCodeFlow()
    configurationId = await declareWithScope(services)
  })
  afterAll(() => services.close())
  const claimsOf = (token: string) =>
    JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>
  const interactionOf = async (id: string) => {
    const answer = await call(services, `${ISSUER_URL}/auth/interaction/${id}`)
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  }

  it('issues by a scope what the application gives to the person that it asked', async () => {
    const wallet = walletAsking()
    const browser = newVisitor()
    const interaction = await bring(services, browser, { requestUri: await push(services, wallet.form) })
    expect(await interactionOf(interaction)).toEqual({
      status: 200,
      body: {
        interaction_id: interaction,
        client_id: CLIENT_ID,
        redirect_uri: REDIRECT_URI,
        credential_configurations: [configurationId],
        needs_dataset: true,
        expires_at: Math.floor(services.clock.now.getTime() / 1000) + 600,
      },
    })
    const { sessionId, address } = await sendDecision(services, interaction)
    const given = await response(services, browser, address)
    expect(given).toEqual({
      code: expect.stringMatching(/^[\w-]{32}\.[\w-]{43}$/) as string,
      state: 'state-of-the-wallet',
      iss: ISSUER_URL,
    })
    const token = await tokenBody(await redeemCode(services, tokenForm(wallet, given.code ?? '')))
    expect(token).toEqual({
      access_token: expect.any(String) as string,
      token_type: 'Bearer',
      expires_in: 300,
      scope: SCOPE,
    })
    expect(claimsOf(token.access_token)).toMatchObject({ client_id: CLIENT_ID, sub: sessionId })
    const all = { services, sessionId } as CodeFlow
    const credential = await expectIssued(await readyWith(all, token.access_token, configurationId))
    expect(credential).toContain('~')
    expect(await statusOf(services, ISSUER_URL, sessionId)).toMatchObject({ status: 'SUCCEEDED' })
  })

  it('issues by authorization details, and names the credentials in the token response', async () => {
    const done = await authorizeForCode(services, { parameters: details(configurationId) })
    const token = await tokenBody(await redeemCode(services, done.form))
    expect(token).not.toHaveProperty('scope')
    const [named] = token.authorization_details as { credential_identifiers: string[] }[]
    expect(token.authorization_details).toEqual([
      { ...detail(configurationId), credential_identifiers: [expect.any(String)] },
    ])
    const ready = await readyWith(done, token.access_token, configurationId)
    const body = { credential_configuration_id: undefined, credential_identifier: named?.credential_identifiers[0] }
    expect((await request(ready, body)).status).toBe(200)
  })

  it('takes a request that was not pushed', async () => {
    const [wallet, browser] = [walletAsking(), newVisitor()]
    const address = await sentTo(await visit(services, browser, authorizeUrl(wallet.form)))
    const interaction = address.searchParams.get('interaction') ?? ''
    const given = await response(services, browser, (await sendDecision(services, interaction)).address)
    await tokenBody(await redeemCode(services, tokenForm(wallet, given.code ?? '')))
  })

  it('answers an offer whose session has its dataset when the application approves', async () => {
    const { sessionId, issuerState } = await offerFor(services, configurationId)
    const [wallet, browser] = [walletAsking({ scope: SCOPE, issuer_state: issuerState }), newVisitor()]
    const interaction = await bring(services, browser, { requestUri: await push(services, wallet.form) })
    const { body } = await interactionOf(interaction)
    expect(body).toMatchObject({ session_id: sessionId, needs_dataset: false })
    const decision = await sendDecision(services, interaction, { approved: true })
    expect(decision.sessionId).toBe(sessionId)
    const given = await response(services, browser, decision.address)
    const token = await tokenBody(await redeemCode(services, tokenForm(wallet, given.code ?? '')))
    await expectIssued(await readyWith({ services, sessionId } as CodeFlow, token.access_token, configurationId))
    const offer = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`)
    await expectRefusal(offer, { status: 410, error: 'gone', why: /has been used/ })
  })

  it('names the issuer of the session where its endpoints have the session in their path', async () => {
    const { sessionId, issuerState } = await offerFor(services, configurationId)
    const path = `/${sessionId}`
    const done = await authorizeForCode(services, {
      parameters: { scope: SCOPE, issuer_state: issuerState },
      decision: { approved: true },
      path,
    })
    expect(done.response.iss).toBe(`${ISSUER_URL}/${sessionId}`)
    const token = await tokenBody(await redeemCode(services, done.form, undefined, `${TOKEN_ENDPOINT}/${sessionId}`))
    const ready = await readyWith(done, token.access_token, configurationId)
    await expectIssued({ ...ready, audience: `${ISSUER_URL}/${sessionId}` })
  })

  it('gives the dataset of the person to a session that was started without one', async () => {
    const later = { deferred: true, credential_dataset: undefined }
    const { sessionId, issuerState } = await offerFor(services, configurationId, later)
    const done = await authorizeForCode(services, { parameters: { scope: SCOPE, issuer_state: issuerState } })
    expect([done.sessionId, done.response.iss]).toEqual([sessionId, ISSUER_URL])
    expect(await statusOf(services, ISSUER_URL, sessionId)).toMatchObject({ deferred: { state: 'COMPLETED' } })
    const token = await tokenBody(await redeemCode(services, done.form))
    await expectIssued(await readyWith(done, token.access_token, configurationId))
  })

  it('gives a refresh token where the reuse policy of the credential lets wallets ask for new ones', async () => {
    const option = { details: ['once_only'], batch_size: 10, reissue_trigger_unused: 2 }
    const renewing = await startCodeFlow()
    onTestFinished(() => renewing.close())
    await declare(renewing, {
      format: 'dc+sd-jwt',
      vct: 'urn:example:renewed-card',
      scope: SCOPE,
      batch_size: 10,
      validity_seconds: 86_400,
      credential_metadata: { credential_reuse_policy: { id: 'arf_annex_ii', options: [option] } },
    })
    const done = await authorizeForCode(renewing)
    const { refresh_token: token } = await tokenBody(await redeemCode(renewing, done.form))
    expect(token).toEqual(expect.any(String))
    const row = await renewing.issuerStore.get('issuance_session', done.sessionId)
    expect(row?.value.refreshSeconds).toBe(86_400)
  })

  it('lets the wallet wait for data that comes later, and refresh its token meanwhile', async () => {
    const done = await authorizeForCode(services, { decision: { deferred: true } })
    const token = await tokenBody(await redeemCode(services, done.form))
    const first = await request(await readyWith(done, token.access_token, configurationId))
    expect([first.status, await first.json()]).toMatchObject([202, { interval: 5 }])
    const body = { credential_dataset: dataset }
    await call(services, `${ISSUER_URL}/issuance/oid4vci/complete/${done.sessionId}`, body)
    const form = { grant_type: 'refresh_token', refresh_token: token.refresh_token ?? '', client_id: CLIENT_ID }
    const next = await tokenBody(await postForm(services, TOKEN_ENDPOINT, form))
    await expectIssued(await readyWith(done, next.access_token, configurationId))
  })

  it('tells the wallet that the application has said no, and why', async () => {
    const [wallet, browser] = [walletAsking(), newVisitor()]
    const interaction = await bring(services, browser, { requestUri: await push(services, wallet.form) })
    const { address, sessionId } = await sendDecision(services, interaction, { denied: true, reason: 'Not a student.' })
    expect(sessionId).toBe('')
    expect(await response(services, browser, address)).toEqual({
      error: 'access_denied',
      error_description: 'Not a student.',
      state: 'state-of-the-wallet',
      iss: ISSUER_URL,
    })
    const again = await visit(services, browser, address)
    await expectRefusal(again, { status: 410, error: 'gone' })
    expect(JSON.stringify(await services.issuerStore.list('authorization_request'))).not.toContain('Not a student')
  })

  it('binds the token to the key of the proof that came with the pushed request', async () => {
    const [wallet, browser, key] = [walletAsking(), newVisitor(), await holderSigner()]
    const nonce = await dpopNonce(services)
    const dpop = await dpopProof({ services, key, url: PAR, nonce })
    const pushed = await services.fetch(PAR, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', dpop },
      body: new URLSearchParams(wallet.form).toString(),
    })
    const { request_uri: requestUri } = (await pushed.json()) as { request_uri: string }
    const { sessionId, address } = await sendDecision(services, await bring(services, browser, { requestUri }))
    const { code = '' } = await response(services, browser, address)
    const form = tokenForm(wallet, code)
    await expectRefusal(await redeemCode(services, form), { status: 400, error: 'invalid_dpop_proof' })
    const other = await redeemCode(services, form, await holderSigner())
    await expectRefusal(other, { status: 400, error: 'invalid_grant', why: /another key/ })
    const token = await tokenBody(await redeemCode(services, form, key))
    expect(token.token_type).toBe('DPoP')
    const ready = await readyWith({ services, sessionId } as CodeFlow, token.access_token, configurationId)
    await expectIssuedBound({ ...ready, key, dpop: nonce, response: token })
  })

  it('goes through without asking anybody where the operator trusts offers, and asks without an offer', async () => {
    const authentication = { interactionUrl: INTERACTION_URL, offers: 'trusted' }
    const trusting = await startCodeFlow({ authentication, redirectUris: [REDIRECT_URI] })
    try {
      const id = await declareWithScope(trusting)
      const { sessionId, issuerState } = await offerFor(trusting, id)
      const [wallet, browser] = [walletAsking({ scope: SCOPE, issuer_state: issuerState }), newVisitor()]
      const url = authorizeUrl({ client_id: CLIENT_ID, request_uri: await push(trusting, wallet.form) })
      const { code = '' } = await response(trusting, browser, url)
      const token = await tokenBody(await redeemCode(trusting, tokenForm(wallet, code)))
      await expectIssued(await readyWith({ services: trusting, sessionId } as CodeFlow, token.access_token, id))
      await bring(trusting, browser, { requestUri: await push(trusting, walletAsking().form) })
    } finally {
      await trusting.close()
    }
  })

  it('wants each request pushed where the operator says so, and its metadata says it', async () => {
    const strict = await startCodeFlow({ pushedAuthorizationRequests: 'required' })
    try {
      await declareWithScope(strict)
      const refused = await visit(strict, newVisitor(), authorizeUrl(walletAsking().form))
      await expectRefusal(refused, { status: 400, error: 'invalid_request', why: /push/ })
      await bring(strict, newVisitor(), { requestUri: await push(strict, walletAsking().form) })
      const metadata = await strict.fetch(`${ISSUER_URL}/.well-known/oauth-authorization-server`)
      expect(await metadata.json()).toMatchObject({ require_pushed_authorization_requests: true })
    } finally {
      await strict.close()
    }
  })

  it('is in the metadata of the authorization server, of the service and of a session', async () => {
    const { sessionId } = await offerFor(services, configurationId)
    for (const path of ['', `/${sessionId}`]) {
      const metadata = await services.fetch(`${ISSUER_URL}/.well-known/oauth-authorization-server${path}`)
      expect(await metadata.json()).toMatchObject({
        issuer: ISSUER_URL + path,
        authorization_endpoint: AUTHORIZE + path,
        pushed_authorization_request_endpoint: PAR + path,
        require_pushed_authorization_requests: false,
        scopes_supported: [SCOPE],
        response_types_supported: ['code'],
        response_modes_supported: ['query'],
        grant_types_supported: ['authorization_code', expect.stringContaining('pre-authorized'), 'refresh_token'],
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
      })
    }
  })

  it('has no empty list of scopes in the metadata of a session whose configurations have none', async () => {
    const { sessionId } = await offerFor(services, await declare(services))
    const metadata = await services.fetch(`${ISSUER_URL}/.well-known/oauth-authorization-server/${sessionId}`)
    expect(await metadata.json()).not.toHaveProperty('scopes_supported')
  })

  it('lets scripts push and redeem, and keeps them from the addresses of browsers', async () => {
    const origin = 'access-control-allow-origin'
    const pushed = await postForm(services, PAR, walletAsking().form)
    expect(pushed.headers.get(origin)).toBe('*')
    for (const method of ['GET', 'OPTIONS']) {
      for (const path of ['authorize', 'return/x']) {
        const answer = await services.fetch(`${ISSUER_URL}/auth/${path}`, { method })
        expect([method, path, answer.headers.get(origin)]).toEqual([method, path, null])
      }
    }
  })

  it('ignores scopes and parameters that nobody here knows', async () => {
    const done = await authorizeForCode(services, {
      parameters: { scope: `openid ${SCOPE} profile`, prompt: 'login', nonce: 'x' },
    })
    expect(await tokenBody(await redeemCode(services, done.form))).toMatchObject({ scope: SCOPE })
  })

  it('narrows the token to what the wallet asked for of an offer', async () => {
    const other = await declare(services)
    const { issuerState } = await offerFor(services, configurationId, {
      credential_configurations: [configurationId, other],
    })
    const done = await authorizeForCode(services, {
      parameters: { scope: SCOPE, issuer_state: issuerState },
      decision: { approved: true },
    })
    const token = await tokenBody(await redeemCode(services, done.form))
    const ready = await readyWith(done, token.access_token, other)
    await expectRefusal(await request(ready), { status: 403, error: 'insufficient_scope' })
    const nonce = await fetchNonce(services, done.sessionId)
    await expectIssued({ ...ready, nonce, configurationId })
  })

  it('narrows the token to what the wallet asks for with the code, and names no scope that it does not have', async () => {
    const other = await declareWithScope(services, 'other')
    const done = await authorizeForCode(services, { parameters: { scope: `${SCOPE} other` } })
    const token = await tokenBody(await redeemCode(services, { ...done.form, ...details(other) }))
    expect(token.authorization_details).toMatchObject([detail(other)])
    expect(token).not.toHaveProperty('scope')
  })

  it('keeps a session without an offer from having one', async () => {
    const done = await authorizeForCode(services)
    const offer = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${done.sessionId}`)
    await expectRefusal(offer, { status: 404, error: 'not_found' })
  })

  it('leaves no personal data of an authorization that nobody finishes', async () => {
    const [wallet, browser] = [walletAsking(), newVisitor()]
    const interaction = await bring(services, browser, { requestUri: await push(services, wallet.form) })
    const { sessionId } = await sendDecision(services, interaction)
    const real = services.clock.now
    services.clock.now = new Date(real.getTime() + 3_600_000)
    await services.runTasks()
    await services.runTasks()
    expect((await services.issuerStore.get('issuance_dataset', sessionId))?.value).toBe(null)
    expect(await services.issuerStore.get('authorization_request', interaction)).toBeUndefined()
    expect(await statusOf(services, ISSUER_URL, sessionId)).toMatchObject({ status: 'EXPIRED' })
    services.clock.now = real
  })

  it.each<[string, object, number, string, RegExp]>([
    ['nothing', {}, 400, 'invalid_request', /exactly one/],
    ['two decisions', { denied: true, credential_dataset: dataset }, 400, 'invalid_request', /exactly one/],
    ['approval of nothing', { approved: true }, 409, 'invalid_state', /no offer/],
    ['a reason without a refusal', { credential_dataset: dataset, reason: 'x' }, 400, 'invalid_request', /reason/],
    [
      'a dataset that does not fit',
      { credential_dataset: { nothing: 'x' } },
      400,
      'invalid_request',
      /credential_dataset/,
    ],
  ])('refuses %s as a decision, and takes a right one', async (_, body, status, error, why) => {
    const interaction = await bring(services, newVisitor(), { requestUri: await push(services, walletAsking().form) })
    await expectRefusal(await decide(services, interaction, body), { status, error, why })
    await sendDecision(services, interaction)
    const again = await decide(services, interaction, { denied: true })
    await expectRefusal(again, { status: 410, error: 'gone', why: /has been completed/ })
    expect((await interactionOf(interaction)).status).toBe(410)
  })

  it('is named with the other grants where a request asks for another', async () => {
    const form = { ...tokenForm(walletAsking(), 'x'), grant_type: 'authorisation_code' }
    const why = /^grant_type must be authorization_code or \S+:pre-authorized_code or refresh_token$/
    await expectRefusal(await redeemCode(services, form), { status: 400, error: 'unsupported_grant_type', why })
  })

  it('is nowhere without the setting, and nothing else changes', async () => {
    const plain = await startServices()
    try {
      const refused = await postForm(plain, PAR, walletAsking().form)
      await expectRefusal(refused, { status: 404, error: 'not_found', why: /authentication/ })
      const visited = await visit(plain, newVisitor(), authorizeUrl(walletAsking().form))
      await expectRefusal(visited, { status: 404, error: 'not_found', why: /authentication/ })
      const token = await redeemCode(plain, tokenForm(walletAsking(), 'x'))
      await expectRefusal(token, { status: 400, error: 'unsupported_grant_type' })
      const metadata = await plain.fetch(`${ISSUER_URL}/.well-known/oauth-authorization-server`)
      expect(Object.keys((await metadata.json()) as object)).toEqual([
        'issuer',
        'token_endpoint',
        'jwks_uri',
        'grant_types_supported',
        'pre-authorized_grant_anonymous_access_supported',
        'token_endpoint_auth_methods_supported',
        'authorization_details_types_supported',
        'dpop_signing_alg_values_supported',
      ])
    } finally {
      await plain.close()
    }
  })

  it('answers an unknown interaction with 404, and asks for the API key', async () => {
    expect((await interactionOf('x')).status).toBe(404)
    const path = `${ISSUER_URL}/auth/interaction/x`
    expect((await services.fetch(path)).status).toBe(401)
  })
})
