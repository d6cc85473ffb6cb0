/**
 * Attacks on the server of the console, which holds API keys: from pages of others, other names, and other programs.
 */
import { createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { createIssuerClient } from '../../../sdk/server/index.ts'
import { listenInTest } from '../../../test/support/local-server.ts'
import { random } from '../effects.ts'
import { openConsole } from './console.ts'
import { createConsoleServer } from './server.ts'

interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

const API_KEY = 'the-key-of-the-issuer'
const ENGINE_KEY = 'the-key-of-an-engine'

/** Starts a console before a service that tells what it was asked. */
async function started() {
  const requests: { readonly target: string; readonly key: string | undefined; readonly body: string }[] = []
  const service = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push({ target: `${request.method} ${request.url}`, key: request.headers.authorization, body })
      response.writeHead(200, { 'content-type': 'application/json', 'set-cookie': 'a=b' }).end('{"from":"service"}')
    })
  })
  const servicePort = await listenInTest(service)
  const clock = { now: new Date() }
  const reports: string[] = []
  const { server, signInPath } = createConsoleServer({
    services: {
      issuer: { url: `http://127.0.0.1:${servicePort}`, apiKey: API_KEY },
      engines: [
        { url: `http://127.0.0.1:${servicePort}`, apiKey: ENGINE_KEY },
        { url: `http://127.0.0.1:${servicePort}` },
      ],
    },
    files: new Map([
      ['/', { type: 'text/html', body: Buffer.from('the page') }],
      ['/style.css', { type: 'text/css', body: Buffer.from('the style') }],
    ]),
    random,
    now: () => clock.now,
    fetch,
    report: (line) => void reports.push(line),
  })
  const port = await listenInTest(server)
  const send = (method: string, path: string, headers: Record<string, string> = {}, body?: string): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, method, path, headers: { host: `localhost:${port}`, ...headers } }
      httpRequest(options, (response) => {
        text(response).then(
          (read) => resolve({ status: response.statusCode ?? 0, headers: response.headers, body: read }),
          reject,
        )
      })
        .on('error', reject)
        .end(body)
    })
  const origin = `http://localhost:${port}`
  const signIn = async (): Promise<{ readonly cookie: string; readonly base: string }> => {
    const { headers } = await send('GET', signInPath)
    const [, cookie = '', base = ''] = /^([^;]*); Path=(\/[^;]+)\//.exec(headers['set-cookie']?.[0] ?? '') ?? []
    return { cookie, base }
  }
  const serviceOrigin = `http://127.0.0.1:${servicePort}`
  return { send, signIn, signInPath, requests, origin, clock, service, serviceOrigin, reports }
}

const STATUS = '/api/issuer/issuance/oid4vci/status/abc'

describe('signing in', () => {
  it('works once, with a cookie that scripts cannot read and other sites cannot send', async () => {
    const { send, signInPath } = await started()
    const first = await send('GET', signInPath)
    expect(first.status).toBe(200)
    expect(first.headers['set-cookie']?.[0]).toMatch(
      /^vouchsafe_console=[\w-]{32}; Path=\/[\w-]{32}\/; .*HttpOnly; SameSite=Strict$/,
    )
    const second = await send('GET', signInPath)
    expect([second.status, second.headers['set-cookie']]).toEqual([401, undefined])
  })

  it('ends: the link after ten minutes, the session after twelve hours', async () => {
    const late = await started()
    late.clock.now = new Date(late.clock.now.getTime() + 601_000)
    expect((await late.send('GET', late.signInPath)).status).toBe(401)
    const { send, signIn, clock } = await started()
    const { cookie, base } = await signIn()
    expect((await send('GET', `${base}/`, { cookie })).status).toBe(200)
    clock.now = new Date(clock.now.getTime() + 12 * 3_600_000 + 1000)
    expect((await send('GET', `${base}/`, { cookie })).status).toBe(401)
  })

  it.each([
    ['GET', '/'],
    ['GET', '/api/services'],
    ['GET', STATUS],
    ['POST', '/api/issuer/issuance/oid4vci/new-session'],
  ])('is needed for %s %s', async (method, path) => {
    const { send, signIn, requests, origin } = await started()
    const { cookie, base } = await signIn()
    for (const wrong of [
      '',
      'vouchsafe_console=',
      'vouchsafe_console=abc',
      `x${cookie}`,
      `${cookie}x`,
      `x; ${cookie}x`,
    ]) {
      expect((await send(method, base + path, { cookie: wrong, origin })).status).toBe(401)
    }
    expect(requests).toEqual([])
  })

  it('gives the cookie to no other port of this machine, whose programs would read it', async () => {
    const { send, signIn, signInPath } = await started()
    const { cookie, base } = await signIn()
    expect([cookie, base]).toEqual([
      expect.stringMatching(/^vouchsafe_console=/),
      expect.stringMatching(/^\/[\w-]{32}$/),
    ])
    expect(signInPath).not.toContain(base)
    for (const path of ['/', STATUS, `${base.slice(0, -1)}/`, `${base}x/`]) {
      const { status, body } = await send('GET', path, { cookie })
      expect([status, body.includes(base)]).toEqual([401, false])
    }
  })

  it('holds although another port sets a cookie of the same name', async () => {
    const { send, signIn } = await started()
    const { cookie, base } = await signIn()
    for (const cookies of [`vouchsafe_console=abc; ${cookie}`, `${cookie}; vouchsafe_console=abc`]) {
      expect((await send('GET', `${base}/`, { cookie: cookies })).status).toBe(200)
    }
  })

  it.each(['/sign-in', '/sign-in?code=', '/sign-in?code=abc'])('is refused by %s', async (path) => {
    const { send } = await started()
    expect((await send('GET', path)).status).toBe(401)
  })

  it.each([
    ['/', /Please sign in.*start it again/],
    ['/sign-in?code=abc', /This link is over.*start it again/],
  ])('is explained at %s, in a page to a person and in JSON to a script', async (path, text) => {
    const { send } = await started()
    const page = await send('GET', path, { accept: 'text/html,application/xhtml+xml' })
    expect([page.status, page.headers['content-type']]).toEqual([401, 'text/html; charset=utf-8'])
    expect(page.body).toMatch(text)
    expect((await send('GET', '/style.css')).body).toBe('the style')
    const answer = await send('GET', path, { accept: '*/*' })
    expect(JSON.parse(answer.body)).toEqual({ error: 'console', error_description: expect.any(String) as string })
  })
})

describe('a browser that is signed in', () => {
  it('reaches the service with the key, which it never sees', async () => {
    const { send, signIn, requests, origin } = await started()
    const { cookie, base } = await signIn()
    const read = await send('GET', base + STATUS, { cookie, authorization: 'Bearer of-the-page' })
    expect([read.status, read.body, read.headers['set-cookie']]).toEqual([200, '{"from":"service"}', undefined])
    const path = '/api/issuer/issuance/oid4vci/new-session'
    expect((await send('POST', base + path, { cookie, origin }, '{"a":1}')).status).toBe(200)
    expect(requests).toEqual([
      { target: 'GET /issuance/oid4vci/status/abc', key: `Bearer ${API_KEY}`, body: '' },
      { target: 'POST /issuance/oid4vci/new-session', key: `Bearer ${API_KEY}`, body: '{"a":1}' },
    ])
    const services = await send('GET', `${base}/api/services`, { cookie })
    expect(services.body).not.toContain(API_KEY)
  })

  it('reaches each engine with the key of that engine alone, and one without a key as anybody does', async () => {
    const { send, signIn, requests } = await started()
    const { cookie, base } = await signIn()
    for (const at of [0, 1]) await send('GET', `${base}/api/engine/${at}/engine/contracts/0x12`, { cookie })
    await send('GET', `${base}/api/engine/1/engine?after=0x12`, { cookie })
    expect(requests.map(({ target, key }) => [target, key])).toEqual([
      ['GET /engine/contracts/0x12', `Bearer ${ENGINE_KEY}`],
      ['GET /engine/contracts/0x12', undefined],
      ['GET /engine?after=0x12', undefined],
    ])
    const { body } = await send('GET', `${base}/api/services`, { cookie })
    expect(JSON.parse(body)).toMatchObject({ engines: [{ has_key: true }, { has_key: false }] })
    expect(body).not.toContain(ENGINE_KEY)
  })

  it.each([
    ['GET', '/callbacks/waiting'],
    ['GET', '/callbacks/dead?cursor=abc'],
    ['POST', '/callbacks/redeliver'],
    ['POST', '/callbacks/redeliver/abc'],
    ['GET', '/operations/overview'],
    ['GET', '/audit/records?limit=50'],
    ['GET', '/audit/verification?from=start'],
  ])('operates by %s %s', async (method, path) => {
    const { send, signIn, requests, origin } = await started()
    const { cookie, base } = await signIn()
    expect((await send(method, `${base}/api/issuer${path}`, { cookie, origin })).status).toBe(200)
    expect(requests.map(({ target }) => target)).toEqual([`${method} ${path}`])
  })

  it.each([
    ['another site', 'https://attacker.example'],
    ['a sandboxed page', 'null'],
    ['another port of this machine', 'http://localhost:1'],
    ['no page at all', undefined],
  ])('changes nothing for %s', async (_, origin) => {
    const { send, signIn, requests } = await started()
    const { cookie, base } = await signIn()
    const headers = { cookie, ...(origin === undefined ? {} : { origin }) }
    expect((await send('POST', `${base}/api/issuer/credential-status/revoke/abc`, headers)).status).toBe(403)
    expect(requests).toEqual([])
  })

  it.each(['attacker.example', 'localhost.attacker.example:80', '127.0.0.1.nip.io', 'localhost:80@attacker.example'])(
    'sees nothing under the name %s',
    async (host) => {
      const { send, signIn } = await started()
      const { cookie, base } = await signIn()
      expect((await send('GET', `${base}/`, { cookie, host })).status).toBe(421)
    },
  )

  it.each([
    ['GET', '/api/issuer/openapi'],
    ['GET', '/api/issuer/issuance/oid4vci/status/..%2f..%2fopenapi'],
    ['GET', '/api/issuer/issuance/oid4vci/status/../../../openapi'],
    ['GET', '/api/issuer/callbacks/redeliver'],
    ['POST', '/api/issuer/callbacks/dead'],
    ['POST', '/api/issuer/audit/records'],
    ['GET', '/api/issuer/trust-anchors'],
    ['POST', '/api/issuer/trust-anchors/test'],
    ['POST', '/api/issuer/callbacks/redeliver/../../openapi'],
    ['GET', '/api/issuer//attacker.example/'],
    ['GET', '/api/issuer@attacker.example/health/ready'],
    ['GET', '/api/verifier/health/ready'],
    ['GET', '/api/engine/2/engine'],
    ['GET', '/api/engine/engine'],
    ['GET', '/api/engine/0/offchain/0x12/shares'],
    ['GET', '/api/engine/0/engine/contracts/../../metrics'],
    ['POST', '/api/engine/0/engine'],
    ['GET', '/api/issuer/0/health/ready'],
    ['DELETE', STATUS],
    ['POST', '/api/services'],
    ['GET', '/nothing'],
  ])('finds nothing at %s %s', async (method, path) => {
    const { send, signIn, requests, origin } = await started()
    const { cookie, base } = await signIn()
    expect((await send(method, base + path, { cookie, origin })).status).toBe(404)
    expect(requests).toEqual([])
  })

  it('is told when the service is gone, and when it sends too much', async () => {
    const { send, signIn, origin, service, serviceOrigin, reports } = await started()
    const { cookie, base } = await signIn()
    const large = await send(
      'POST',
      `${base}/api/issuer/issuance/oid4vci/new-session`,
      { cookie, origin },
      'a'.repeat(1_048_577),
    )
    expect(large.status).toBe(413)
    service.close()
    service.closeAllConnections()
    const gone = await send('GET', base + STATUS, { cookie })
    const told = `The issuer at ${serviceOrigin} could not be reached`
    expect([gone.status, gone.body]).toEqual([502, expect.stringContaining(told)])
    expect(gone.body).not.toContain(API_KEY)
    expect(reports).toEqual([`GET ${serviceOrigin} failed: fetch failed (ECONNREFUSED).`])
  })

  it('hears at once that a service is gone, and a watched session goes on when the service is back', async () => {
    const { send, signIn, service, serviceOrigin } = await started()
    const { cookie, base } = await signIn()
    service.close()
    service.closeAllConnections()
    let asked = 0
    const sendThere = async (path: unknown): Promise<Response> => {
      asked += 1
      const { status, headers, body } = await send('GET', `${base}${path as string}`, { cookie })
      return new Response(body, { status, headers: headers as Record<string, string> })
    }
    const client = createIssuerClient({ url: '/api/issuer', apiKey: 'none', fetch: sendThere })
    const told = `The issuer at ${serviceOrigin} could not be reached`
    await expect(client.getOverview()).rejects.toThrow(told)
    expect(asked).toBe(1)
    const stream = await send('GET', `${base}/api/issuer/issuance/oid4vci/events/abc`, { cookie })
    expect([stream.status, stream.headers['retry-after']]).toEqual([502, undefined])
  })

  it('is told when the console itself fails, and its operator why', async () => {
    const reports: string[] = []
    const { server } = createConsoleServer({
      services: {},
      files: {
        get: () => {
          throw new TypeError('a mistake')
        },
      } as unknown as ReadonlyMap<string, never>,
      ...{ random, now: () => new Date(), fetch, report: (line) => void reports.push(line) },
    })
    const response = await fetch(`http://127.0.0.1:${await listenInTest(server)}/`)
    expect([response.status, await response.text()]).toEqual([500, expect.stringContaining('mistake of the console')])
    expect(reports).toEqual(['The console failed to answer a request: a mistake.'])
  })

  it('gets a policy with every answer that lets nothing of others run', async () => {
    const { send, signIn, serviceOrigin } = await started()
    const { cookie, base } = await signIn()
    for (const path of ['/', '/nothing', STATUS]) {
      const { headers } = await send('GET', base + path, { cookie })
      expect(headers['content-security-policy']).toMatch(
        /^default-src 'none'; script-src 'self'; .*frame-ancestors 'none'$/,
      )
      // The wallet of the page talks to the services, and nothing else to anybody.
      expect(headers['content-security-policy']).toContain(`; connect-src 'self' ${serviceOrigin}; `)
      expect(headers).toMatchObject({ 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' })
    }
  })
})

describe('the link of the console', () => {
  it('names the address that it listens at: whoever listens at ::1 is localhost for a browser', async () => {
    const console = await openConsole({ issuer: { url: 'http://127.0.0.1:1', apiKey: API_KEY } }, 0)
    await console.close()
    expect(console.link).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/sign-in\?code=[\w-]{32}$/)
  })
})
