/** The paths, methods and answers that all endpoints of both services have in common. Interface section 2. */
import { connect } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createStatusLists } from '../../src/check/status/status-list-loader.ts'
import type { App } from '../../src/http/app-type.ts'
import type { IssuerStore } from '../../src/issuer/collections.ts'
import { readIssuerConfig } from '../../src/issuer/config.ts'
import { createIssuer } from '../../src/issuer/issuer.ts'
import { openSqlite } from '../../src/store/sqlite.ts'
import type { VerifierStore } from '../../src/verifier/collections.ts'
import { readVerifierConfig } from '../../src/verifier/config.ts'
import { createVerifier } from '../../src/verifier/verifier.ts'
import { endpoints, expectError, expectHeaders, startEndpoints } from '../support/endpoints.ts'
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
import { authorization, configuration } from '../support/wire.ts'

describe('every endpoint', () => {
  const { services, send, expectNoSecretLogged } = startEndpoints()

  it.each(['issuer', 'verifier'] as const)('of the %s is in the table of these tests', async (service) => {
    const { paths } = (await services()[service].inject('/openapi')).json<{ paths: Record<string, object> }>()
    const there = Object.entries(paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/, 'ID')}`),
    )
    const common = ['GET /openapi', 'GET /health/live', 'GET /health/ready']
    const below = endpoints
      .filter((each) => each.service === service)
      .map(({ method, path }) => `${method} ${path.replace('SESSION', 'ID')}`)
    expect([...below, ...common].sort()).toEqual(there.sort())
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

  /** Tests whether a visit uses something up or decides, which only GET may do. */
  const isGoodOnce = ({ path }: { readonly path: string }): boolean =>
    /^\/auth\/(authorize|return|sign-in\/\w+)\b/.test(path)
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

    it('refuses what is not HTTP in the same shape', async () => {
      const app = services()[service]
      await app.listen({ port: 0, host: '127.0.0.1' })
      const { port } = app.server.address() as { port: number }
      const bearer = `Authorization: Bearer ${API_KEY}\r\n`
      for (const [status, text] of [
        [400, 'NONSENSE\r\n\r\n'],
        [400, 'GET / HTTP/9.9\r\n\r\n'],
        [431, `GET / HTTP/1.1\r\nHost: a\r\nA: ${'a'.repeat(20_000)}\r\n\r\n`],
        [400, 'POST /auth/token-endpoint HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n'],
        [400, 'GET /openapi HTTP/1.1\r\nHost: a\r\nhost: b\r\nConnection: close\r\n\r\n'],
        [400, 'GET /%zz HTTP/1.1\r\nHost: a\r\nhost: b\r\nConnection: close\r\n\r\n'],
        [400, 'GET /openapi HTTP/1.1\r\nConnection: close\r\n\r\n'],
        [
          400,
          `GET /audit/records HTTP/1.1\r\nHost: a\r\n${bearer}authorization: Bearer b\r\nConnection: close\r\n\r\n`,
        ],
        [400, 'GET /%zz HTTP/1.1\r\nConnection: close\r\n\r\n'],
      ] as const) {
        const answer = await rawRequest(port, text)
        expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
        expect(answer).toMatch(/\r\n\r\n\{"error":"invalid_request","error_description":"[^"]+"\}$/)
      }
      expect((await send({ service, path: '/health/live' }, 'GET')).statusCode).toBe(200)
    })
  })

  it.each(['issuer', 'verifier'] as const)('of the %s is at its absolute address, too', async (service) => {
    const app = services()[service]
    if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as { port: number }
    const paths =
      service === 'issuer' ? ['/openapi', '/auth/par', '/auth/interaction/a'] : ['/openapi', '/trust-anchors']
    for (const method of ['GET', 'OPTIONS', 'PUT']) {
      for (const path of paths) {
        const [atPath, ...atAddresses] = await Promise.all(
          [path, `http://a.example${path}`, `HTTPS://A.example:443${path}?b=/c`].map(async (target) => {
            const answer = await rawRequest(
              port,
              `${method} ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`,
            )
            const headers = answer.split('\r\n\r\n', 1)[0]?.split('\r\n') ?? []
            return headers.filter((line) => !/^(date|x-request-id|vary|etag):/i.test(line))
          }),
        )
        expect(atPath?.[0]).not.toContain('404')
        for (const atAddress of atAddresses) expect(atAddress).toEqual(atPath)
      }
    }
  })

  it('says 405 with the methods of a path, which is no id of a GET beside it', async () => {
    const answer = await send({ service: 'issuer', path: '/credential-configuration/create' }, 'PUT', authorization)
    expect(String(answer.headers.allow).split(', ').sort()).toEqual(['OPTIONS', 'POST'])
  })

  it('logs who changed or asked for what by the label of the API key, and never the key', async () => {
    const { issuer, logLines } = services()
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

  it('writes no key, code or stack into an error', () => {
    expectNoSecretLogged()
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
        statusLists: createStatusLists(effects, true),
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

/** Returns the answer to `text`, until the server ends the connection. */
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
