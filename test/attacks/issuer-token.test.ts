/**
 * Attacks on the pre-authorized code and the token endpoint. Each is refused and leaves everything as it was: the right
 * code still gives a token afterwards, or the first token still opens its session.
 * OpenID4VCI 1.0, Token Error Response; facts section 5 items 1 to 5.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ACCESS_TOKEN_SECONDS } from '../../src/issuer/access/access-token.ts'
import {
  dump,
  expectIssued,
  expectRefusal,
  expectWithoutEffect,
  readySession,
  type Session,
  startedSession,
  TOKEN_ENDPOINT,
  tokenOf,
} from '../support/issuance.ts'
import { API_KEY, ISSUER_URL, type Services, startServices } from '../support/services.ts'
import {
  authorization,
  call,
  codeOf,
  declare,
  fetchNonce,
  GRANT,
  holderSigner,
  postForm,
  statusOf,
} from '../support/wire.ts'

interface Attack {
  readonly attack: string
  readonly module: string
  readonly form: (session: Session) => Record<string, string> | string | Promise<Record<string, string>>
  readonly error: 'invalid_request' | 'invalid_grant' | 'unsupported_grant_type' | 'invalid_authorization_details'
  readonly why?: RegExp
}

const RFC = 'RFC 6749 3.2 and 5.2'
const CODE = 'facts 5.1'
const encoded = ({ form }: Session): string => new URLSearchParams(form).toString()
const withCode = (change: (code: string) => string) => (session: Session) => ({
  ...session.form,
  'pre-authorized_code': change(session.code),
})

const detail = ({ configurationId }: Session) => ({
  type: 'openid_credential',
  credential_configuration_id: configurationId,
})
const withDetails = (name: string, of: (session: Session) => unknown, why?: RegExp): Attack => ({
  attack: `authorization_details of ${name}`,
  module: 'RFC 9396 5',
  form: (session) => {
    const details = of(session)
    const text = typeof details === 'string' ? details : JSON.stringify(details)
    return { ...session.form, authorization_details: text }
  },
  error: 'invalid_authorization_details',
  ...(why ? { why } : {}),
})
const detailAttacks: readonly Attack[] = [
  withDetails('no JSON', () => '[{', /JSON/),
  withDetails('nothing', () => [], /array/),
  withDetails('one object', detail, /array/),
  withDetails('a hundred objects', (session) => Array.from({ length: 100 }, () => detail(session)), /50/),
  withDetails('a depth of 1,000', () => `${'['.repeat(1000)}${']'.repeat(1000)}`, /deeper/),
  withDetails('null', () => [null], /type/),
  withDetails('no type', (session) => [{ ...detail(session), type: undefined }], /type/),
  withDetails('another type', (session) => [detail(session), { ...detail(session), type: 'payment' }], /type/),
  withDetails('no configuration', () => [{ type: 'openid_credential' }], /credential_configuration_id/),
  withDetails('a format, as drafts had it', () => [{ type: 'openid_credential', format: 'jwt_vc_json-ld' }], /missing/),
  withDetails(
    'an unknown configuration',
    (session) => [{ ...detail(session), credential_configuration_id: 'x' }],
    /offer/,
  ),
  withDetails('a configuration in an array', ({ configurationId }) => [
    { type: 'openid_credential', credential_configuration_id: [configurationId] },
  ]),
  withDetails(
    'another issuer',
    (session) => [{ ...detail(session), locations: ['https://other.example'] }],
    /locations/,
  ),
  withDetails('no issuer', (session) => [{ ...detail(session), locations: [] }], /locations/),
  withDetails(
    'an issuer that is not an array',
    (session) => [{ ...detail(session), locations: ISSUER_URL }],
    /locations/,
  ),
]

const attacks: readonly Attack[] = [
  {
    attack: 'no grant_type',
    module: RFC,
    form: ({ code }) => ({ 'pre-authorized_code': code }),
    error: 'invalid_request',
    why: /grant_type/,
  },
  {
    attack: 'an empty grant_type',
    module: RFC,
    form: ({ form }) => ({ ...form, grant_type: '' }),
    error: 'invalid_request',
    why: /grant_type/,
  },
  {
    attack: 'the authorization code grant',
    module: RFC,
    form: ({ form }) => ({ ...form, grant_type: 'authorization_code' }),
    error: 'unsupported_grant_type',
  },
  {
    attack: 'a grant_type in upper case',
    module: RFC,
    form: ({ form }) => ({ ...form, grant_type: GRANT.toUpperCase() }),
    error: 'unsupported_grant_type',
  },
  {
    attack: 'a grant_type named like a member of every object',
    module: RFC,
    form: ({ form }) => ({ ...form, grant_type: '__proto__' }),
    error: 'unsupported_grant_type',
  },
  {
    attack: 'no code',
    module: RFC,
    form: () => ({ grant_type: GRANT }),
    error: 'invalid_request',
    why: /pre-authorized_code/,
  },
  {
    attack: 'an empty code',
    module: RFC,
    form: withCode(() => ''),
    error: 'invalid_request',
    why: /pre-authorized_code/,
  },
  {
    attack: 'the code under its name in the authorization code flow',
    module: RFC,
    form: ({ code }) => ({ grant_type: GRANT, code }),
    error: 'invalid_request',
  },
  {
    attack: 'the code twice',
    module: RFC,
    form: (session) => `${encoded(session)}&pre-authorized_code=${session.code}`,
    error: 'invalid_request',
  },
  {
    attack: 'a forged code after the right one',
    module: RFC,
    form: (session) => `${encoded(session)}&pre-authorized_code=x`,
    error: 'invalid_request',
  },
  {
    attack: 'grant_type twice',
    module: RFC,
    form: (session) => `${encoded(session)}&grant_type=${GRANT}`,
    error: 'invalid_request',
  },
  { attack: 'an empty body', module: RFC, form: () => '', error: 'invalid_request' },
  { attack: 'a body that is not a form', module: RFC, form: () => '{"grant_type":', error: 'invalid_request' },
  {
    attack: 'percent signs that encode nothing',
    module: RFC,
    form: () => 'grant_type=%zz&%%%=%u0000',
    error: 'invalid_request',
    why: /not percent-encoded UTF-8/,
  },
  {
    attack: 'percent signs that encode Latin-1',
    module: 'RFC 6749 appendix B',
    form: (session) => `${encoded(session)}&a=J%FCrgen`,
    error: 'invalid_request',
    why: /not percent-encoded UTF-8/,
  },
  {
    attack: 'more parameters than anybody needs',
    module: RFC,
    form: (session) => `${encoded(session)}${'&a=1'.repeat(100)}`,
    error: 'invalid_request',
    why: /more than 100 parameters/,
  },
  {
    attack: 'a tx_code that nobody asked for',
    module: 'OpenID4VCI 1.0 6.3',
    form: ({ form }) => ({ ...form, tx_code: '1234' }),
    error: 'invalid_request',
    why: /tx_code/,
  },
  ...detailAttacks,
  { attack: 'a random code', module: CODE, form: withCode(() => 'oaKazRN8I0IbtZ0C7JuMn5'), error: 'invalid_grant' },
  {
    attack: 'the code with its last character changed',
    module: CODE,
    form: withCode((code) => code.slice(0, -1) + (code.endsWith('A') ? 'E' : 'A')),
    error: 'invalid_grant',
  },
  { attack: 'the code shortened', module: CODE, form: withCode((code) => code.slice(0, -1)), error: 'invalid_grant' },
  {
    attack: 'the code with a character more',
    module: CODE,
    form: withCode((code) => `${code}A`),
    error: 'invalid_grant',
  },
  {
    attack: 'the code without its authenticator',
    module: CODE,
    form: withCode((code) => code.split('.')[0] ?? ''),
    error: 'invalid_grant',
  },
  {
    attack: 'the session id and an empty authenticator',
    module: CODE,
    form: withCode((code) => `${code.split('.')[0] ?? ''}.`),
    error: 'invalid_grant',
  },
  {
    attack: 'a code with a space before it',
    module: CODE,
    form: withCode((code) => ` ${code}`),
    error: 'invalid_grant',
  },
  {
    attack: 'a code of 16 KiB less what the form needs',
    module: CODE,
    form: () => ({ grant_type: GRANT, 'pre-authorized_code': 'a.'.repeat(8_000) }),
    error: 'invalid_grant',
  },
  { attack: 'a code with a zero byte', module: CODE, form: withCode((code) => `${code}\0`), error: 'invalid_grant' },
  { attack: 'an SQL text as the code', module: CODE, form: withCode(() => "' or 1=1 --.x"), error: 'invalid_grant' },
  { attack: 'an API key as the code', module: CODE, form: withCode(() => API_KEY), error: 'invalid_grant' },
  {
    attack: 'a code of another issuer',
    module: CODE,
    form: async () => {
      const other = await startServices()
      const code = await codeOf(other, (await startedSession(other)).sessionId)
      await other.close()
      return { grant_type: GRANT, 'pre-authorized_code': code }
    },
    error: 'invalid_grant',
  },
  {
    attack: 'the code of another session',
    module: 'facts 5.2',
    form: async ({ services, configurationId }) => {
      return (await startedSession(services, { credential_configurations: [configurationId] })).form
    },
    error: 'invalid_grant',
  },
]

describe('a token request that is wrong', () => {
  let services: Services
  let configurationId: string
  beforeAll(async () => {
    services = await startServices()
    configurationId = await declare(services)
  })
  afterAll(() => services.close())
  const started = (body = {}) => startedSession(services, { credential_configurations: [configurationId], ...body })
  const endpoint = ({ sessionId }: Session) => `${TOKEN_ENDPOINT}/${sessionId}`

  it.each(attacks)('$attack: $error and without effect ($module)', async ({ form, error, why }) => {
    const session = await started()
    const sent = await form(session)
    await expectWithoutEffect(services, () => postForm(services, endpoint(session), sent), {
      status: 400,
      error,
      ...(why ? { why } : {}),
    })
    expect(await statusOf(services, ISSUER_URL, session.sessionId)).toMatchObject({ status: 'STARTED' })
    await tokenOf(session)
  })

  it.each([
    'application/json',
    'text/plain',
    'multipart/form-data; boundary=a',
    'application/x-www-form-urlencoded-not',
    '',
  ])('refuses a body sent as "%s"', async (type) => {
    const session = await started()
    const response = await services.fetch(endpoint(session), {
      method: 'POST',
      headers: { 'content-type': type },
      body: type.includes('json') ? JSON.stringify(session.form) : new URLSearchParams(session.form).toString(),
    })
    await expectRefusal(response, { status: 400, error: 'invalid_request' })
    await tokenOf(session)
  })

  it('does not read the parameters from the query', async () => {
    const session = await started()
    const response = await postForm(services, `${endpoint(session)}?${encoded(session)}`, '')
    await expectRefusal(response, { status: 400, error: 'invalid_request' })
    await tokenOf(session)
  })

  it('ignores parameters that it does not know, empty ones, scope and resource', async () => {
    const session = await started()
    const more =
      'resource=https%3A%2F%2Fa.example&unknown=1&unknown=2&tx_code=&authorization_details=&client_id=x&scope=x&__proto__=1'
    const response = await postForm(services, endpoint(session), `${encoded(session)}&${more}`)
    expect(response.status).toBe(200)
  })

  it('looks at no other client authentication than attestations', async () => {
    const session = await started()
    const more = 'client_id=x&client_secret=y&client_assertion=z&client_assertion_type=jwt-bearer'
    const response = await services.fetch(endpoint(session), {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: 'Basic eDp5' },
      body: `${encoded(session)}&${more}`,
    })
    expect(response.status).toBe(200)
  })

  it('refuses the code of session A at the endpoint of B, and both still work at their own', async () => {
    const [a, b] = [await started(), await started()]
    await expectRefusal(await postForm(services, endpoint(b), a.form), { status: 400, error: 'invalid_grant' })
    await tokenOf(a)
    await tokenOf(b)
  })

  it('refuses a session in the path that does not exist like a code that does not', async () => {
    const session = await started()
    const response = await postForm(services, `${TOKEN_ENDPOINT}/${'a'.repeat(32)}`, session.form)
    await expectRefusal(response, { status: 400, error: 'invalid_grant' })
    await tokenOf(session)
  })

  it('finds the session of the code at the endpoint without one', async () => {
    const session = await started()
    const response = await postForm(services, TOKEN_ENDPOINT, session.form)
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(response.headers.get('pragma')).toBe('no-cache')
  })

  it('refuses a code that was used, at both endpoints, and the first token stays good', async () => {
    const ready = await readySession(services, { credential_configurations: [configurationId] })
    const before = await dump(services)
    for (const url of [endpoint(ready), TOKEN_ENDPOINT]) {
      const response = await postForm(services, url, ready.form)
      await expectRefusal(response, { status: 400, error: 'invalid_grant', why: /used/ })
    }
    expect(await dump(services)).toBe(before)
    await expectIssued(ready)
  })

  it('gives one token to 50 redemptions at the same time, and that token works', async () => {
    const session = await started()
    const responses = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        postForm(services, at % 2 ? endpoint(session) : TOKEN_ENDPOINT, session.form),
      ),
    )
    const [won, ...others] = responses.filter(({ status }) => status === 200)
    expect(others).toEqual([])
    for (const response of responses.filter(({ status }) => status !== 200)) {
      await expectRefusal(response, { status: 400, error: 'invalid_grant' })
    }
    const { access_token: token = '' } = ((await won?.json()) ?? {}) as { access_token?: string }
    const nonce = await fetchNonce(services, session.sessionId)
    const audience = `${ISSUER_URL}/${session.sessionId}`
    await expectIssued({ ...session, token, nonce, audience, holder: await holderSigner() })
  })

  it('stores neither the code nor the token', async () => {
    const ready = await readySession(services, { credential_configurations: [configurationId] })
    const stored = await dump(services)
    expect(stored).toContain(ready.sessionId)
    expect(stored).not.toContain(ready.code.split('.')[1])
    expect(stored).not.toContain(ready.token)
    expect(services.logLines.join('')).not.toContain(ready.sessionId)
    expect(services.logLines.join('')).not.toContain(API_KEY)
  })

  describe('when the session has expired', () => {
    const at = async (seconds: number, run: () => Promise<void>) => {
      const real = services.clock.now
      services.clock.now = new Date(real.getTime() + seconds * 1000)
      await run().finally(() => {
        services.clock.now = real
      })
    }
    const offerOf = (session: Session) =>
      services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${session.sessionId}`)

    it('answers 410 for the offer, invalid_grant for the code, and EXPIRED as the status', async () => {
      const session = await started({ expires_in: 60 })
      await at(59, async () => {
        expect((await offerOf(session)).status).toBe(200)
        expect(await statusOf(services, ISSUER_URL, session.sessionId)).toMatchObject({ status: 'STARTED' })
      })
      const before = await dump(services)
      await at(60, async () => {
        await expectRefusal(await offerOf(session), { status: 410, error: 'gone', why: /expired/ })
        const response = await postForm(services, endpoint(session), session.form)
        await expectRefusal(response, { status: 400, error: 'invalid_grant', why: /expired/ })
        expect(await statusOf(services, ISSUER_URL, session.sessionId)).toMatchObject({ status: 'EXPIRED' })
      })
      expect(await dump(services)).toBe(before)
    })

    it('lives on for the life of the token when the code was redeemed in time', async () => {
      const ready = await readySession(services, { credential_configurations: [configurationId], expires_in: 1 })
      await at(ACCESS_TOKEN_SECONDS - 1, async () => {
        expect(await statusOf(services, ISSUER_URL, ready.sessionId)).toMatchObject({ status: 'STARTED' })
      })
      await at(ACCESS_TOKEN_SECONDS, async () => {
        expect(await statusOf(services, ISSUER_URL, ready.sessionId)).toMatchObject({ status: 'EXPIRED' })
      })
      await at(ACCESS_TOKEN_SECONDS - 1, async () => {
        await expectIssued(ready)
      })
    })

    it('stays SUCCEEDED for ever once a credential was issued', async () => {
      const ready = await readySession(services, { credential_configurations: [configurationId], expires_in: 1 })
      await expectIssued(ready)
      await at(86_400 * 365, async () => {
        expect(await statusOf(services, ISSUER_URL, ready.sessionId)).toMatchObject({ status: 'SUCCEEDED' })
      })
    })
  })

  it('answers 410 for an offer that was used', async () => {
    const ready = await readySession(services, { credential_configurations: [configurationId] })
    const offer = await services.fetch(`${ISSUER_URL}/issuance/oid4vci/credential-offer/${ready.sessionId}`)
    await expectRefusal(offer, { status: 410, error: 'gone', why: /used/ })
  })

  it('lets sessions of a removed configuration go on, and new ones not begin', async () => {
    const id = await declare(services)
    const before = await readySession(services, { credential_configurations: [id] })
    const started = await startedSession(services, { credential_configurations: [id] })
    const removed = await call(services, `${ISSUER_URL}/credential-configuration/remove/${id}`, {})
    expect([removed.status, await removed.json()]).toEqual([200, {}])
    const refused = await call(services, `${ISSUER_URL}/issuance/oid4vci/new-session`, {
      credential_dataset: { credentialSubject: { a: 1 } },
      credential_configurations: [id],
    })
    await expectRefusal(refused, { status: 400, error: 'invalid_request', why: new RegExp(id) })
    for (const [path, method] of [
      [`/credential-configuration/${id}`, 'GET'],
      [`/credential-configuration/remove/${id}`, 'POST'],
    ] as const) {
      const again = await services.fetch(`${ISSUER_URL}${path}`, { method, headers: authorization })
      await expectRefusal(again, { status: 404, error: 'not_found' })
    }
    const metadata = await services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer/${started.sessionId}`)
    expect(await metadata.json()).toMatchObject({ credential_configurations_supported: { [id]: {} } })
    const base = await services.fetch(`${ISSUER_URL}/.well-known/openid-credential-issuer`)
    expect(JSON.stringify(await base.json())).not.toContain(id)
    await expectIssued(before)
    const nonce = await fetchNonce(services, started.sessionId)
    const audience = `${ISSUER_URL}/${started.sessionId}`
    await expectIssued({ ...started, token: await tokenOf(started), nonce, audience, holder: await holderSigner() })
  })
})
