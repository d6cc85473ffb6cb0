/** What is common to every endpoint of both services: refusals, headers, CORS, health. Interface section 2. */
import { connect } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { App } from '../../src/http/app-type.ts'
import type { IssuerStore } from '../../src/issuer/collections.ts'
import { readIssuerConfig } from '../../src/issuer/config.ts'
import { createIssuer } from '../../src/issuer/issuer.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { VerifierStore } from '../../src/verifier/collections.ts'
import { readVerifierConfig } from '../../src/verifier/config.ts'
import { createVerifier } from '../../src/verifier/verifier.ts'
import { mdocQuery } from '../support/mdoc.ts'
import {
  API_KEY,
  filesOf,
  ISSUER_URL,
  type Services,
  settings,
  startServices,
  VERIFIER_URL,
} from '../support/services.ts'
import { retryOnConflict } from '../support/store.ts'
import { authorization, configuration, startIssuance, startVerification } from '../support/wire.ts'

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS'

interface Endpoint {
  readonly service: 'issuer' | 'verifier'
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** The media type of its body, where it takes one. */
  readonly body?: 'application/json' | 'application/x-www-form-urlencoded'
  readonly wallet?: true
  /** A person's browser goes there, and no script. */
  readonly browser?: true
  /** The code for a request that cannot be read. */
  readonly malformed?: string
}

/** SESSION stands for a session of the service. */
const endpoints: readonly Endpoint[] = [
  ...(['issuer', 'verifier'] as const).flatMap((service): Endpoint[] => [
    { service, method: 'GET', path: '/operations/overview' },
    { service, method: 'GET', path: '/callbacks/waiting' },
    { service, method: 'GET', path: '/callbacks/dead' },
    { service, method: 'POST', path: '/callbacks/redeliver', body: 'application/json' },
    { service, method: 'POST', path: '/callbacks/redeliver/ID' },
    { service, method: 'GET', path: '/audit/records' },
    { service, method: 'GET', path: '/audit/verification' },
  ]),
  { service: 'issuer', method: 'POST', path: '/credential-configuration/create', body: 'application/json' },
  { service: 'issuer', method: 'GET', path: '/credential-configuration/ID' },
  { service: 'issuer', method: 'POST', path: '/credential-configuration/remove/ID' },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/new-session', body: 'application/json' },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/complete/SESSION', body: 'application/json' },
  { service: 'issuer', method: 'GET', path: '/issuance/oid4vci/status/SESSION' },
  // The stream of a session that is there has no end: status-events.test.ts.
  { service: 'issuer', method: 'GET', path: '/issuance/oid4vci/events/ID' },
  { service: 'issuer', method: 'GET', path: '/issuance/oid4vci/sessions' },
  { service: 'issuer', method: 'POST', path: '/credential-status/revoke/SESSION' },
  { service: 'issuer', method: 'POST', path: '/credential-status/suspend/SESSION' },
  { service: 'issuer', method: 'POST', path: '/credential-status/reinstate/SESSION' },
  { service: 'issuer', method: 'GET', path: '/issuance/oid4vci/credential-offer/SESSION', wallet: true },
  { service: 'issuer', method: 'GET', path: '/.well-known/openid-credential-issuer', wallet: true },
  { service: 'issuer', method: 'GET', path: '/.well-known/openid-credential-issuer/SESSION', wallet: true },
  { service: 'issuer', method: 'GET', path: '/SESSION/.well-known/openid-credential-issuer', wallet: true },
  { service: 'issuer', method: 'GET', path: '/.well-known/oauth-authorization-server', wallet: true },
  { service: 'issuer', method: 'GET', path: '/.well-known/oauth-authorization-server/SESSION', wallet: true },
  { service: 'issuer', method: 'GET', path: '/SESSION/.well-known/oauth-authorization-server', wallet: true },
  { service: 'issuer', method: 'GET', path: '/auth/.well-known/jwks', wallet: true },
  { service: 'issuer', method: 'POST', path: '/auth/challenge', wallet: true },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/nonce', wallet: true },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/nonce/SESSION', wallet: true },
  ...['/auth/par', '/auth/par/SESSION'].map((path): Endpoint => {
    const body = 'application/x-www-form-urlencoded'
    return { service: 'issuer', method: 'POST', path, body, wallet: true, malformed: 'invalid_request' }
  }),
  { service: 'issuer', method: 'GET', path: '/auth/authorize', browser: true },
  { service: 'issuer', method: 'GET', path: '/auth/authorize/SESSION', browser: true },
  { service: 'issuer', method: 'GET', path: '/auth/return/ID', browser: true },
  ...['', '/start', '/answer', '/stop', '/presented'].map(
    (step): Endpoint => ({ service: 'issuer', method: 'GET', path: `/auth/sign-in${step}`, browser: true }),
  ),
  { service: 'issuer', method: 'GET', path: '/auth/interaction/ID' },
  { service: 'issuer', method: 'POST', path: '/auth/interaction/complete/ID', body: 'application/json' },
  {
    service: 'issuer',
    method: 'POST',
    path: '/auth/token-endpoint',
    body: 'application/x-www-form-urlencoded',
    wallet: true,
    malformed: 'invalid_request',
  },
  {
    service: 'issuer',
    method: 'POST',
    path: '/auth/token-endpoint/SESSION',
    body: 'application/x-www-form-urlencoded',
    wallet: true,
    malformed: 'invalid_request',
  },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/credential-request', wallet: true },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/deferred-credential', wallet: true },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/draft15/deferred-credential', wallet: true },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/notification', wallet: true },
  { service: 'issuer', method: 'POST', path: '/issuance/oid4vci/notification/SESSION', wallet: true },
  { service: 'issuer', method: 'GET', path: '/type-metadata/ID', wallet: true },
  { service: 'issuer', method: 'GET', path: '/status-list/ID', wallet: true },
  { service: 'issuer', method: 'GET', path: '/status-list/ID/revocation', wallet: true },
  { service: 'issuer', method: 'GET', path: '/status-list/ID/suspension', wallet: true },
  { service: 'verifier', method: 'POST', path: '/verification-query/create', body: 'application/json' },
  { service: 'verifier', method: 'POST', path: '/dcql-query/create', body: 'application/json' },
  { service: 'verifier', method: 'POST', path: '/verification-query/simulate', body: 'application/json' },
  { service: 'verifier', method: 'GET', path: '/verification-query/ID' },
  { service: 'verifier', method: 'GET', path: '/trust-anchors' },
  { service: 'verifier', method: 'POST', path: '/trust-anchors/test', body: 'application/json' },
  { service: 'verifier', method: 'POST', path: '/presentation/oid4vp/new-session', body: 'application/json' },
  {
    service: 'verifier',
    method: 'POST',
    path: '/presentation/oid4vp/static-presentation',
    body: 'application/json',
  },
  { service: 'verifier', method: 'GET', path: '/presentation/oid4vp/status/SESSION' },
  { service: 'verifier', method: 'GET', path: '/presentation/oid4vp/events/ID' },
  { service: 'verifier', method: 'GET', path: '/presentation/oid4vp/sessions' },
  { service: 'verifier', method: 'GET', path: '/presentation/oid4vp/authorization-request/SESSION', wallet: true },
  {
    service: 'verifier',
    method: 'POST',
    path: '/presentation/oid4vp/authorization-response/SESSION',
    body: 'application/x-www-form-urlencoded',
    wallet: true,
    malformed: 'invalid_request',
  },
  {
    service: 'verifier',
    method: 'POST',
    path: '/presentation/oid4vp/encrypted-authorization-response/SESSION',
    body: 'application/x-www-form-urlencoded',
    wallet: true,
    malformed: 'invalid_request',
  },
  {
    service: 'verifier',
    method: 'POST',
    path: '/presentation/oid4vp/authorization-request/SESSION',
    body: 'application/x-www-form-urlencoded',
    wallet: true,
    malformed: 'invalid_request',
  },
]
/** An id or a name with everything that RFC 6749 section 5.2 leaves out. */
const STRANGE = 'a"b\\c\u0000\n\u007f\u00fc\u2028\u{1f600}\ud800'
const admin = endpoints.filter(({ wallet, browser }) => !wallet && !browser)
const wallet = endpoints.filter((endpoint) => endpoint.wallet)
const browser = endpoints.filter((endpoint) => endpoint.browser)

describe('every endpoint', () => {
  let services: Services
  const sessions = { issuer: '', verifier: '', encrypted: '' }
  beforeAll(async () => {
    services = await startServices()
    sessions.issuer = (await startIssuance(services)).sessionId
    sessions.verifier = (await startVerification(services)).sessionId
    sessions.encrypted = (await startVerification(services, mdocQuery)).sessionId
  })
  afterAll(() => services.close())

  const send = (
    { service, path }: Pick<Endpoint, 'service' | 'path'>,
    method: Method,
    headers: Record<string, string> = {},
    payload?: string | Buffer,
  ) =>
    services[service].inject({
      method,
      url: path.replace('SESSION', sessions[path.includes('/encrypted-') ? 'encrypted' : service]),
      headers,
      ...(payload === undefined ? {} : { payload }),
    })
  type Answer = Awaited<ReturnType<typeof send>>

  function expectError(answer: Answer, status: number, error: string): void {
    expect([answer.statusCode, answer.body]).toEqual([status, expect.stringContaining(`{"error":"${error}",`)])
    const body = answer.json<Record<string, unknown>>()
    expect(Object.keys(body)).toEqual(['error', 'error_description'])
    // RFC 6749 section 5.2.
    expect(body.error_description).toMatch(/^[A-Za-z][ !#-[\]-~]+$/)
    expect(answer.headers['content-type']).toMatch(/^application\/json\b/)
    expectHeaders(answer)
  }

  function expectHeaders({ headers }: Answer): void {
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers['x-request-id']).toMatch(/^[\w-]{16}$/)
    expect(headers['cache-control']).toMatch(/^(no-store|no-cache|max-age=300)$/)
    expect(headers['x-powered-by'] ?? headers.server).toBe(undefined)
  }

  function expectChallenge(answer: Answer): void {
    expectError(answer, 401, 'unauthorized')
    expect(answer.headers['www-authenticate']).toBe('Bearer')
    expect(answer.headers['access-control-allow-origin']).toBe(undefined)
  }

  it.each(['issuer', 'verifier'] as const)('of the %s is among those below', async (service) => {
    const { paths } = (await services[service].inject('/openapi')).json<{ paths: Record<string, object> }>()
    const there = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/, 'ID')}`),
    )
    const common = ['GET /openapi', 'GET /health/live', 'GET /health/ready']
    const below = endpoints
      .filter((each) => each.service === service)
      .map(({ method, path }) => `${method} ${path.replace('SESSION', 'ID')}`)
    expect([...below, ...common].sort()).toEqual(there.sort())
  })

  describe.each(admin)('$service $method $path', (endpoint) => {
    const { method } = endpoint
    const json = { 'content-type': 'application/json' }

    it.each([
      ['none', undefined],
      ['an empty one', ''],
      ['Bearer alone', 'Bearer'],
      ['another key', `Bearer ${'x'.repeat(64)}`],
      ['a part of the key', `Bearer ${API_KEY.slice(1)}`],
      ['the key and more', `Bearer ${API_KEY}k`],
      ['the label', 'Bearer test'],
      ['the key by Basic', `Basic ${Buffer.from(`user:${API_KEY}`).toString('base64')}`],
      ['the key without a scheme', API_KEY],
      ['two keys', `Bearer ${API_KEY}, Bearer ${API_KEY}`],
      ['a member of every object', 'Bearer __proto__'],
      ['a function of every object', 'Bearer constructor'],
    ])('refuses %s as the API key with 401', async (_, header) => {
      expectChallenge(await send(endpoint, method, header === undefined ? {} : { authorization: header }))
    })

    it('decides 401 before anything else about the request', async () => {
      const { path } = endpoint
      const attempts: Promise<Answer>[] = [
        send(endpoint, method, json, '{"a":'),
        send(endpoint, method, json, `{"a":"${'a'.repeat(2 ** 20)}"}`),
        send(endpoint, method, { 'content-type': 'text/html' }, 'a'),
        send(endpoint, method, { 'content-type': 'none' }, 'a'),
        send({ ...endpoint, path: `${path}?api_key=${API_KEY}&access_token=${API_KEY}` }, method),
        send(endpoint, method, { 'x-api-key': API_KEY, cookie: `Authorization=${API_KEY}` }),
        ...(['PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const).map((wrong) => send(endpoint, wrong)),
        send(endpoint, 'PUT', json, '{"a":'),
        send(endpoint, 'PUT', json, `{"a":"${'a'.repeat(2 ** 20)}"}`),
        send(endpoint, 'DELETE', { 'content-type': 'text/html' }, 'a'),
        send({ ...endpoint, path: path.replace('credential', '%63redential').replace('oid4', '%6fid4') }, 'PUT'),
      ]
      if (/ID|SESSION/.test(path)) {
        for (const id of ['%zz', '%00', 'a%2Fb', 'a'.repeat(5000), '%F0%9F']) {
          attempts.push(send({ ...endpoint, path: path.replace(/ID|SESSION/, id) }, method))
        }
      }
      for (const answer of await Promise.all(attempts)) expectChallenge(answer)
    })

    it('takes the key, whatever the case of Bearer', async () => {
      for (const scheme of ['Bearer', 'bearer', 'BEARER ']) {
        const answer = await send(endpoint, method, { authorization: `${scheme} ${API_KEY}` })
        expect(answer.statusCode).not.toBe(401)
        expectHeaders(answer)
      }
    })

    it('lets no other origin call it', async () => {
      const origin = { origin: 'https://a.example', ...authorization }
      const preflight = { ...origin, 'access-control-request-method': method }
      for (const answer of [
        await send(endpoint, method, origin),
        await send(endpoint, 'OPTIONS', preflight),
        await send(endpoint, 'DELETE', origin),
      ]) {
        const names = Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))
        expect(names).toEqual([])
      }
    })

    it('answers another method with 405 and Allow', async () => {
      const answer = await send(endpoint, 'DELETE', { ...authorization, ...json }, '{')
      expectError(answer, 405, 'method_not_allowed')
      expect(String(answer.headers.allow).split(', ')).toContain(method)
    })
  })

  describe.each(browser)('$service $method $path', (endpoint) => {
    it('lets no script of another origin call it, and no other method', async () => {
      const origin = { origin: 'https://a.example' }
      for (const method of ['GET', 'OPTIONS', 'DELETE'] as const) {
        const answer = await send(endpoint, method, origin)
        const names = Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))
        expect([method, names]).toEqual([method, []])
        if (method === 'DELETE') expectError(answer, 405, 'method_not_allowed')
      }
    })
  })

  describe.each(wallet)('$service $method $path', (endpoint) => {
    const { method, path } = endpoint

    it('may be called from any origin, also when it refuses', async () => {
      const answer = await send(endpoint, method, { origin: 'https://a.example' })
      expect(answer.headers['access-control-allow-origin']).toBe('*')
      expect(answer.headers['access-control-expose-headers']).toMatch(/WWW-Authenticate, DPoP-Nonce, Retry-After/)
      expect(answer.headers['access-control-allow-credentials']).toBe(undefined)
      expectHeaders(answer)
    })

    it('answers the preflight of a browser', async () => {
      const answer = await send(endpoint, 'OPTIONS', {
        origin: 'https://a.example',
        'access-control-request-method': method,
        'access-control-request-headers': 'authorization, content-type, dpop',
      })
      expect([answer.statusCode, answer.body]).toEqual([204, ''])
      expect(answer.headers['access-control-allow-origin']).toBe('*')
      expect(String(answer.headers['access-control-allow-methods']).split(', ')).toContain(method)
      expect(answer.headers['access-control-allow-headers']).toMatch(/Authorization, Content-Type.*DPoP/)
      expectHeaders(answer)
    })

    it('answers another method with 405 and Allow', async () => {
      const answer = await send(endpoint, 'DELETE')
      expectError(answer, 405, 'method_not_allowed')
      const allowed = String(answer.headers.allow).split(', ')
      expect(allowed).toContain(method)
      expect(allowed).not.toContain('DELETE')
    })

    it('needs no API key, and one does no harm', async () => {
      // These take an access token there.
      if (/credential|notification/.test(path) && method === 'POST') return
      const without = await send(endpoint, method)
      const withKey = await send(endpoint, method, authorization)
      expect(withKey.statusCode).toBe(without.statusCode)
    })

    it('is not found under an id that nobody has, however it is written', async () => {
      if (!path.includes('SESSION')) return
      const ids = [
        'unknown',
        '%00',
        'a%2Fb',
        '%2e%2e%2fx',
        '%F0%9F%92%A9',
        "'--",
        'a'.repeat(5000),
        '__proto__',
        '%zz',
        '%F0%9F',
      ]
      for (const id of ids) {
        const type = endpoint.body === undefined ? {} : { 'content-type': endpoint.body }
        const answer = await send({ ...endpoint, path: path.replace('SESSION', id) }, method, type, endpoint.body && '')
        expect([id, answer.statusCode < 500 && answer.statusCode >= 400]).toEqual([id, true])
        // A session is asked for after the access token, and an id that cannot be one before.
        const isAsked = path.includes('/notification/') && answer.statusCode === 401
        if (isAsked) expectError(answer, 401, 'invalid_token')
        else if (!/token-endpoint|auth\/par/.test(path)) expectError(answer, 404, 'not_found')
        expect(answer.json<{ error_description: string }>().error_description).toMatch(/^[ !#-[\]-~]+$/)
      }
    })
  })

  it.each(endpoints)(
    '$service $method $path has another path with a slash at its end',
    async ({ service, method, path }) => {
      const answer = await send({ service, path: `${path}/` }, method, authorization)
      // An empty id is one that no session has, and a code can be for no such session.
      if (/^\/auth\/(token-endpoint|par)$/.test(path)) expectError(answer, 400, 'invalid_request')
      // A session is asked for after the access token.
      else if (path.endsWith('/notification')) expectError(answer, 401, 'invalid_token')
      else expectError(answer, 404, 'not_found')
    },
  )

  /** What a visit uses up, and is asked for by GET alone. */
  const isGoodOnce = ({ path }: { readonly path: string }): boolean => /^\/auth\/(authorize|return)\b/.test(path)
  const read = endpoints.filter(({ method }) => method === 'GET')
  it.each(read.filter(isGoodOnce))('$service does not take HEAD for $path', async (endpoint) => {
    const { statusCode, body } = await send(endpoint, 'HEAD', authorization)
    expect([statusCode, body]).toEqual([405, ''])
  })

  it.each(read.filter((each) => !isGoodOnce(each)))('$service answers HEAD for $path', async (endpoint) => {
    const [head, get] = [await send(endpoint, 'HEAD', authorization), await send(endpoint, 'GET', authorization)]
    expect([head.statusCode, head.body]).toEqual([get.statusCode, ''])
    expectHeaders(head)
  })

  const typed = endpoints.filter(({ body }) => body !== undefined)
  it.each(typed)('$service $path takes no other media type', async (endpoint) => {
    const { body, method, malformed } = endpoint
    for (const type of [
      'text/plain',
      'text/html',
      'application/xml',
      'application/jwt',
      'multipart/form-data; boundary=a',
      'none',
      'a/b;;',
      body === 'application/json' ? 'application/x-www-form-urlencoded' : 'application/json',
    ]) {
      const answer = await send(endpoint, method, { ...authorization, 'content-type': type }, '{}')
      if (malformed === undefined) expectError(answer, 415, 'unsupported_media_type')
      else expectError(answer, 400, malformed)
    }
  })

  it.each(typed)('$service $path takes no more than a megabyte', async (endpoint) => {
    const { body = '', method } = endpoint
    const large = body === 'application/json' ? `{"a":"${'a'.repeat(2 ** 20)}"}` : `a=${'a'.repeat(2 ** 20)}`
    expectError(
      await send(endpoint, method, { ...authorization, 'content-type': body }, large),
      413,
      'request_too_large',
    )
  })

  const jsonEndpoints = typed.filter(({ body }) => body === 'application/json')
  it.each(jsonEndpoints)('$service $path refuses what is no JSON object', async (endpoint) => {
    const headers = { ...authorization, 'content-type': 'application/json' }
    const deep = (open: string, close: string) => open.repeat(1e5) + close.repeat(1e5)
    for (const body of [
      '',
      ' ',
      '{',
      '[]',
      'null',
      '1',
      '"a"',
      'true',
      '{"a":1,}',
      "{'a':1}",
      '{"a":NaN}',
      '\ufffe{}',
      deep('[', ']'),
      deep('{"a":[', ']}'),
      '{"__proto__":{}}',
      '{"a":{"b":[{"__proto__":null}]}}',
      '{"a\\u0000":1}',
      '{"constructor":{"prototype":{}}}',
    ]) {
      expectError(await send(endpoint, endpoint.method, headers, body), 400, 'invalid_request')
    }
  })

  it.each(jsonEndpoints)('$service $path refuses what JSON.parse would change, with its path', async (endpoint) => {
    const headers = { ...authorization, 'content-type': 'application/json' }
    for (const [body, why] of [
      [
        '{"verification_query_id":"a","verification_query_id":"b"}',
        'verification_query_id: this member is there twice',
      ],
      ['{"a":[{"b":{"c":1,"\\u0063":1}}]}', 'a[0].b.c: this member is there twice'],
      ['{"a":{"b":[0,12345678901234567890]}}', 'a.b[1]: this number loses digits; send it as text'],
      ['{"a":1e400}', 'a: this number loses digits; send it as text'],
      ['{"a":0.10000000000000000001}', 'a: this number loses digits; send it as text'],
      [Buffer.from('{"a":"J\u00fcrgen"}', 'latin1'), 'a text is not UTF-8'],
    ] as const) {
      const answer = await send(endpoint, endpoint.method, headers, body)
      expectError(answer, 400, 'invalid_request')
      expect(answer.json<{ error_description: string }>().error_description).toBe(`the request cannot be read: ${why}`)
    }
  })

  it.each<[string, string, unknown, Endpoint['service']?]>([
    ['an id', '/issuance/oid4vci/new-session', { credential_dataset: {}, credential_configurations: [STRANGE] }],
    ['a name', '/issuance/oid4vci/new-session', { [STRANGE]: 1 }],
    ['a format', '/credential-configuration/create', { format: STRANGE }],
    ['a member', '/credential-configuration/create', { ...configuration, [STRANGE]: 1 }],
    ['a claim', '/credential-configuration/create', { ...configuration, selective_disclosure: [[STRANGE]] }],
    ['an id', '/presentation/oid4vp/new-session', { verification_query_id: STRANGE }, 'verifier'],
    ['a query', '/dcql-query/create', { credentials: [{ id: 'a', format: STRANGE, meta: {} }] }, 'verifier'],
    ['a member', '/verification-query/create', { dcql_query: {}, [STRANGE]: 1 }, 'verifier'],
  ])('tells %s back to %s in plain characters', async (_, path, body, service = 'issuer') => {
    const headers = { ...authorization, 'content-type': 'application/json' }
    const answer = await send({ service, path }, 'POST', headers, JSON.stringify(body))
    expect(answer.statusCode).toBeGreaterThanOrEqual(400)
    expect(answer.json<{ error_description: string }>().error_description).toMatch(/^[ !#-[\]-~]+$/)
  })

  const formEndpoints = typed.filter(({ body }) => body === 'application/x-www-form-urlencoded')
  it.each(formEndpoints)('$service $path refuses a form that is not UTF-8', async (endpoint) => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    for (const body of [Buffer.from('state=J\u00fcrgen', 'latin1'), 'state=J%FCrgen', 'state=%', 'st%ate=', '%C3=1']) {
      const answer = await send(endpoint, endpoint.method, headers, body)
      expectError(answer, 400, 'invalid_request')
      expect(answer.body).toMatch(/UTF-8/)
    }
  })

  it('has no prototype to pollute', async () => {
    const headers = { ...authorization, 'content-type': 'application/json' }
    for (const { service, path } of jsonEndpoints) {
      await send(
        { service, path },
        'POST',
        headers,
        '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
      )
    }
    const form = { 'content-type': 'application/x-www-form-urlencoded' }
    await send(
      { service: 'issuer', path: '/auth/token-endpoint' },
      'POST',
      form,
      '__proto__=polluted&__proto__[polluted]=1',
    )
    expect((Object.prototype as Record<string, unknown>).polluted).toBe(undefined)
  })

  it.each(['/issuance/oid4vci/nonce', '/issuance/oid4vci/nonce/SESSION', '/credential-configuration/remove/ID'])(
    'POST %s takes no body, and leaves whatever comes',
    async (path) => {
      const bare = await send({ service: 'issuer', path }, 'POST', authorization)
      for (const [type, body] of [
        ['application/json', ''],
        ['application/json', '{}'],
        ['application/json', '{"a":'],
        ['application/x-www-form-urlencoded', ''],
        ['text/plain', 'a'],
      ] as const) {
        const answer = await send({ service: 'issuer', path }, 'POST', { ...authorization, 'content-type': type }, body)
        expect([type, answer.statusCode]).toEqual([type, bare.statusCode])
      }
      const large = await send({ service: 'issuer', path }, 'POST', authorization, 'a'.repeat(2 ** 20 + 1))
      expectError(large, 413, 'request_too_large')
    },
  )

  describe.each(['issuer', 'verifier'] as const)('of the %s', (service) => {
    it.each([
      '/',
      '/unknown',
      '/openapi/',
      '//openapi',
      '/OPENAPI',
      '/%',
      '/%zz',
      '/a/b/c',
      '/auth',
      '/.well-known',
      '/health',
      '/..%2fopenapi',
      '/*',
      `/${'a/'.repeat(2000)}`,
    ])('has nothing at %s, and says so in the one shape', async (path) => {
      for (const method of ['GET', 'POST', 'PUT', 'OPTIONS'] as const) {
        const headers = method === 'POST' ? { 'content-type': 'application/json' } : {}
        expectError(
          await send({ service, path }, method, headers, method === 'POST' ? '{' : undefined),
          404,
          'not_found',
        )
      }
    })

    it('lives, and is ready', async () => {
      for (const path of ['/health/live', '/health/ready']) {
        const answer = await send({ service, path }, 'GET')
        expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ok' }])
        expectHeaders(answer)
      }
    })

    it('gives each request its own id, whatever the caller proposes', async () => {
      const headers = { 'x-request-id': 'mine', 'request-id': 'mine' }
      const ids = new Set<unknown>()
      for (let i = 0; i < 10; i++)
        ids.add((await send({ service, path: '/health/live' }, 'GET', headers)).headers['x-request-id'])
      expect(ids.size).toBe(10)
      expect(ids).not.toContain('mine')
    })

    it('refuses what is no HTTP in the same shape', async () => {
      const app = services[service]
      await app.listen({ port: 0, host: '127.0.0.1' })
      const { port } = app.server.address() as { port: number }
      for (const text of [
        'NONSENSE\r\n\r\n',
        'GET / HTTP/9.9\r\n\r\n',
        `GET / HTTP/1.1\r\nHost: a\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`,
        'POST /auth/token-endpoint HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n',
        'GET /openapi HTTP/1.1\r\nHost: a\r\nhost: b\r\nConnection: close\r\n\r\n',
        'GET /%zz HTTP/1.1\r\nHost: a\r\nhost: b\r\nConnection: close\r\n\r\n',
      ]) {
        const answer = await rawRequest(port, text)
        expect(answer).toMatch(/^HTTP\/1\.1 4\d\d /)
        expect(answer).toMatch(/\r\n\r\n\{"error":"invalid_request","error_description":"[^"]+"\}$/)
      }
      expect((await send({ service, path: '/health/live' }, 'GET')).statusCode).toBe(200)
    })
  })

  it('says 405 with the methods of every route that a path has', async () => {
    const answer = await send({ service: 'issuer', path: '/credential-configuration/create' }, 'PUT', authorization)
    expect(String(answer.headers.allow).split(', ').sort()).toEqual(['GET', 'HEAD', 'OPTIONS', 'POST'])
  })

  it('logs who changed or asked for what by the label of the API key, and never the key', async () => {
    const { issuer, logLines } = services
    const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
    const url = '/credential-configuration/create'
    const before = logLines.length
    await issuer.inject({ method: 'POST', url, headers, payload: JSON.stringify(configuration) })
    await issuer.inject({ method: 'POST', url, headers, payload: '{}' })
    const lines = logLines.slice(before).map((line) => JSON.parse(line) as object)
    expect(lines).toMatchObject([
      { event: 'administered', caller: 'test', route: url },
      { event: 'refused', caller: 'test', route: url },
    ])
    expect(logLines.join('')).not.toContain(API_KEY)
  })

  it('logs which library refused a body, and nothing of the body', async () => {
    const { issuer, logLines } = services
    const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
    const before = logLines.length
    await issuer.inject({ method: 'POST', url: '/credential-configuration/create', headers, payload: 'claim' })
    const [line = ''] = logLines.slice(before)
    expect(JSON.parse(line)).toMatchObject({ event: 'refused', cause: { name: 'SyntaxError' } })
    expect(line).not.toContain('claim')
  })

  it('writes no key, code or stack into an error', () => {
    expect(services.logLines.join('')).not.toContain(API_KEY)
    expect(services.logLines.join('')).not.toContain(sessions.issuer)
  })
})

describe('when the database fails', () => {
  const log = pino({ level: 'silent' })
  const outbound = () => Promise.reject(new Error('no other server is asked'))
  const effects = {
    retryOnConflict,
    outbound,
    now: () => new Date(),
    random: (bytes: number) => new Uint8Array(bytes),
    log,
  }
  const rejecting = new Proxy({}, { get: () => () => Promise.reject(new Error('disk /dev/secret is gone')) })
  let services: Services
  beforeAll(async () => {
    services = await startServices()
  })
  afterAll(() => services.close())

  const configOf = <T>(result: { config: T } | object): T => (result as { config: T }).config
  const issuerOn = (store: unknown): Promise<App> =>
    createIssuer(configOf(readIssuerConfig(settings('issuer', ISSUER_URL), filesOf(services.files), new Date())), {
      ...effects,
      store: store as IssuerStore,
    })
  const verifierOn = (store: unknown): Promise<App> =>
    createVerifier(
      configOf(readVerifierConfig(settings('verifier', VERIFIER_URL), filesOf(services.files), new Date())),
      {
        ...effects,
        store: store as VerifierStore,
      },
    )

  it.each([
    ['the issuer', issuerOn],
    ['the verifier', verifierOn],
  ])('%s lives, is not ready, and says nothing of the reason', async (_, serviceOn) => {
    const closed = await openSqlite(':memory:', [])
    await closed.close()
    for (const store of [rejecting, closed]) {
      const app = await serviceOn(store)
      expect((await app.inject('/health/live')).statusCode).toBe(200)
      const ready = await app.inject('/health/ready')
      expect([ready.statusCode, ready.json<{ error: string }>().error]).toEqual([503, 'temporarily_unavailable'])
      const paths = ['/issuance/oid4vci/status/a', '/presentation/oid4vp/status/a']
      for (const answer of await Promise.all(paths.map((url) => app.inject({ url, headers: authorization })))) {
        expect([404, 500]).toContain(answer.statusCode)
        expect(answer.body).not.toMatch(/secret|not open|node:|\.ts/)
        if (answer.statusCode === 500) expect(answer.json<{ error: string }>().error).toBe('server_error')
      }
      await app.close()
    }
  })
})

/** What comes back for `text`, until the server ends the connection. */
function rawRequest(port: number, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.on('data', (chunk) => {
      answer += String(chunk)
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', reject)
  })
}
