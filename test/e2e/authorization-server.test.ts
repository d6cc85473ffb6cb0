/**
 * The metadata of a service where another server gives the access tokens, and pre-authorized codes that the service did
 * not make.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { claimsOf, makeTestKey, SERVER, signToken, testServer } from '../support/authorization-server.ts'
import {
  dump,
  expectIssued,
  expectRefusal,
  expectWithoutEffect,
  type Session,
  startedSession,
  TOKEN_ENDPOINT,
  tokenOf,
} from '../support/issuance.ts'
import { restartedIssuer } from '../support/restarted-issuer.ts'
import { ISSUER_URL, type Services, startServices } from '../support/services.ts'
import {
  call,
  codeOf,
  dataset,
  declare,
  fetchNonce,
  GRANT,
  holderSigner,
  postForm,
  startIssuance,
} from '../support/wire.ts'

const CODE = 'a-code-of-the-application'

describe('with an external authorization server', () => {
  let services: Services
  beforeAll(async () => {
    const server = testServer([await makeTestKey('ES256', 'one')])
    services = await startServices({
      issuer: { authorizationServer: { issuer: SERVER } },
      outbound: server.outbound,
    })
    return () => services.close()
  })
  const get = async (path: string) => {
    const response = await services.fetch(`${ISSUER_URL}${path}`)
    return { status: response.status, body: (await response.json()) as Record<string, unknown> }
  }

  it('names it in its metadata, and itself nowhere', async () => {
    const { sessionId } = await startIssuance(services)
    const paths = ['/.well-known/openid-credential-issuer', `/${sessionId}/.well-known/openid-credential-issuer`]
    for (const path of [...paths, `${paths[0]}/${sessionId}`]) {
      expect(await get(path)).toMatchObject({ status: 200, body: { authorization_servers: [SERVER] } })
    }
    const { body } = await get('/openapi')
    expect(Object.keys(body.paths as object).filter((path) => /auth/.test(path))).toEqual([])
  })

  it('has no token endpoint, no keys for tokens and no metadata of an authorization server', async () => {
    const { sessionId } = await startIssuance(services)
    const name = '.well-known/oauth-authorization-server'
    for (const path of [`/${name}`, `/${name}/${sessionId}`, `/${sessionId}/${name}`, '/auth/.well-known/jwks']) {
      expect(await get(path)).toMatchObject({ status: 404, body: { error: 'not_found' } })
    }
    const form = { grant_type: GRANT, 'pre-authorized_code': await codeOf(services, sessionId) }
    for (const path of [TOKEN_ENDPOINT, `${TOKEN_ENDPOINT}/${sessionId}`]) {
      await expectRefusal(await postForm(services, path, form), { status: 404, error: 'not_found' })
    }
  })

  it('says in the offer what the transaction code is like, which it neither makes nor takes itself', async () => {
    const asked = { length: 4, description: 'From the letter' }
    const id = await declare(services)
    const body = { credential_dataset: dataset, credential_configurations: [id] }
    const url = `${ISSUER_URL}/issuance/oid4vci/new-session`
    const response = await call(services, url, { ...body, tx_code: asked })
    const { session_id: sessionId, ...rest } = (await response.json()) as Record<string, string>
    expect(Object.keys(rest)).toEqual(['credential_offer_uri'])
    const offer = await get(`/issuance/oid4vci/credential-offer/${sessionId}`)
    expect(offer.body.grants).toMatchObject({ [GRANT]: { tx_code: { input_mode: 'numeric', ...asked } } })
    const refused = await call(services, url, { ...body, tx_code: { value: '4935' } })
    await expectRefusal(refused, { status: 400, error: 'invalid_request', why: /tx_code.value/ })
  })

  it('leaves offers whose transaction code that server alone knew: no code opens them without it', async () => {
    const { sessionId } = await startIssuance(services, { tx_code: { length: 4 } })
    const alone = await restartedIssuer(services, {})
    const form = { grant_type: GRANT, 'pre-authorized_code': await codeOf(alone, sessionId) }
    const post = (txCode: string) => postForm(alone, TOKEN_ENDPOINT, { ...form, tx_code: txCode })
    await expectRefusal(await post('4935'), { status: 400, error: 'invalid_grant', why: /transaction code/ })
    await expectRefusal(await post(''), { status: 400, error: 'invalid_request', why: /tx_code is missing/ })
    await alone.issuer.close()
  })

  it('offers the code that the application brings, and does not name the only server', async () => {
    const { sessionId } = await startIssuance(services, { 'pre-authorized_code': CODE })
    const { body } = await get(`/issuance/oid4vci/credential-offer/${sessionId}`)
    expect(body.grants).toEqual({ [GRANT]: { 'pre-authorized_code': CODE } })
  })
})

describe('a pre-authorized code that the application brings', () => {
  let services: Services
  let configurationId: string
  beforeAll(async () => {
    services = await startServices()
    configurationId = await declare(services)
  })
  afterAll(() => services.close())
  const body = (code: string) => ({ credential_configurations: [configurationId], 'pre-authorized_code': code })
  const start = (code: string): Promise<Session> => startedSession(services, body(code))
  const post = (code: string) =>
    call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, { credential_dataset: dataset, ...body(code) })

  it.each(['c'.repeat(16), '!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~', 'd'.repeat(512)])(
    'is redeemed once here when it is %s',
    async (code) => {
      const session = await start(code)
      expect(session.code).toBe(code)
      const token = await tokenOf(session)
      const again = await postForm(services, `${TOKEN_ENDPOINT}/${session.sessionId}`, session.form)
      await expectRefusal(again, { status: 400, error: 'invalid_grant', why: /used/ })
      const nonce = await fetchNonce(services, session.sessionId)
      const audience = `${ISSUER_URL}/${session.sessionId}`
      await expectIssued({ ...session, token, nonce, audience, holder: await holderSigner() })
    },
  )

  it('is refused at the token endpoint of another session, and good at that without one', async () => {
    const [mine, other] = [await start('mine-mine-mine-mine'), await start('other-other-other')]
    const response = await postForm(services, `${TOKEN_ENDPOINT}/${other.sessionId}`, mine.form)
    await expectRefusal(response, { status: 400, error: 'invalid_grant', why: /unknown/ })
    expect((await postForm(services, TOKEN_ENDPOINT, mine.form)).status).toBe(200)
  })

  it('is good for one session, however many ask at once, and for none after that one has expired', async () => {
    const responses = await Promise.all(Array.from({ length: 10 }, () => post('raced-raced-raced-raced')))
    const refused = responses.filter(({ status }) => status !== 200)
    expect(refused).toHaveLength(9)
    const refusal = { status: 409, error: 'invalid_state', why: /pre-authorized_code/ } as const
    for (const response of refused) await expectRefusal(response, refusal)
    const real = services.clock.now
    services.clock.now = new Date(real.getTime() + 30 * 86_400_000)
    await services.runTasks()
    await expectWithoutEffect(services, () => post('raced-raced-raced-raced'), refusal)
    services.clock.now = new Date(real.getTime() + 31 * 86_400_000)
    await services.runTasks()
    expect((await post('raced-raced-raced-raced')).status).toBe(200)
    services.clock.now = real
  })

  it('is none that the service made for another session', async () => {
    const { code } = await startedSession(services, { credential_configurations: [configurationId] })
    await expectRefusal(await post(code), { status: 409, error: 'invalid_state' })
  })

  it('repeats the session with its Idempotency-Key', async () => {
    const send = async () => {
      const response = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/new-session`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${'k'.repeat(64)}`,
          'content-type': 'application/json',
          'idempotency-key': 'a',
        },
        body: JSON.stringify({ credential_dataset: dataset, ...body('once-once-once-once') }),
      })
      return [response.status, await response.text()]
    }
    const [first, second] = await Promise.all([send(), send()])
    expect(first[0]).toBe(200)
    expect([second, await send()]).toEqual([first, first])
  })

  it('is in the database neither as it is nor as what can be guessed', async () => {
    const { code, sessionId } = await start('secret-secret-secret')
    const stored = JSON.stringify([await dump(services), await services.issuerStore.list('pre_authorized_code')])
    expect(stored).toContain(sessionId)
    expect(stored).not.toContain(code)
    const { createHash } = await import('node:crypto')
    for (const encoding of ['hex', 'base64url'] as const) {
      expect(stored).not.toContain(createHash('sha256').update(code).digest(encoding))
    }
  })

  it('is not offered any more, and says why, when it was sealed by another key', async () => {
    const { sessionId } = await start('sealed-sealed-sealed')
    const row = await services.issuerStore.get('issuance_session', sessionId)
    if (row === undefined) throw new Error('no session')
    const sealed = Buffer.from(row.value.suppliedCode ?? '', 'base64url')
    sealed[20] = (sealed[20] ?? 0) ^ 1
    const value = { ...row.value, suppliedCode: sealed.toString('base64url') }
    await services.issuerStore.commit([{ update: 'issuance_session', id: sessionId, version: row.version, value }])
    const response = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${sessionId}`)
    await expectRefusal(response, { status: 410, error: 'gone', why: /key of this service/ })
  })

  it('opens nothing as a token of a server that is not configured', async () => {
    const session = await start('token-token-token-token')
    const key = await makeTestKey('ES256', 'one')
    const token = await signToken(key, claimsOf(session.code, services.clock))
    const response = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-request`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{}',
    })
    await expectRefusal(response, {
      status: 401,
      error: 'invalid_token',
      why: /the access token is unknown or was replaced; request a new one/,
    })
  })
})
