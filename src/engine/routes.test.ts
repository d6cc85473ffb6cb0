import { createHash } from 'node:crypto'
import { METHODS } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { CONTRACT, ENGINE, serving, startEngine, type TestEngine, text } from '../../test/support/engine.ts'
import { closeAfterTest } from '../../test/support/engine-calls.ts'
import { evmAddress } from '../offchain/address.ts'
import {
  type Endorsement,
  parseEngineSignature,
  verifyEndorsement,
  verifyResponse,
} from '../offchain/response-signature.ts'
import { openApi } from './openapi.ts'
import { makeProblem, type ProblemCode, problems } from './problem.ts'

/** Answers with what it saw. */
const echo = () =>
  closeAfterTest(
    serving({
      http: ({ call: { hook } }) => {
        if (hook.kind !== 'http') throw new Error('no request')
        const { method, uri, headers, body } = hook.request
        const seen = { method, uri, headers, body: Buffer.from(body).toString('base64') }
        return Promise.resolve(text(JSON.stringify(seen)))
      },
    }),
  )

async function listening({ engine }: TestEngine): Promise<number> {
  await engine.app.listen({ port: 0, host: '127.0.0.1' })
  return (engine.app.server.address() as AddressInfo).port
}

/** Returns everything that the server says to these bytes. */
async function raw(port: number, bytes: string | Buffer): Promise<string> {
  return answerOn(await opened(port), bytes)
}

function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket)).once('error', reject)
  })
}

function answerOn(socket: Socket, bytes: string | Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    socket.write(bytes)
    socket.on('data', (part) => {
      answer += part.toString('latin1')
    })
    socket.on('close', () => resolve(answer))
    socket.on('error', (error) => (answer === '' ? reject(error) : resolve(answer)))
  })
}

interface Seen {
  readonly method: string
  readonly uri: string
  readonly headers: readonly { readonly name: string; readonly values: readonly string[] }[]
  readonly body: string
}

/** Reads what the echo said, in a whole answer. */
const seenIn = (answer: string): Seen => JSON.parse(answer.split('\r\n\r\n')[1] ?? '') as Seen

describe('what the component sees', () => {
  it.each([
    ['', '/'],
    ['/', '/'],
    ['/shares/1', '/shares/1'],
    ['?a=1', '/?a=1'],
    ['/a?b=c&d=%20', '/a?b=c&d=%20'],
    ['/%2e%2e/%zz/%', '/%2e%2e/%zz/%'],
    ['/a//b/../c', '/a//b/../c'],
    ['/trailing/', '/trailing/'],
    [`/${'x'.repeat(2000)}`, `/${'x'.repeat(2000)}`],
  ])('is the target after the address as it was sent: %s', async (sent, seen) => {
    const port = await listening(await echo())
    const answer = await raw(port, `GET /offchain/${CONTRACT}${sent} HTTP/1.1\r\nHost: e\r\nConnection: close\r\n\r\n`)
    expect(seenIn(answer)).toMatchObject({ method: 'GET', uri: seen })
  })

  it.each([
    ['lower case', CONTRACT],
    ['upper case', CONTRACT.toUpperCase()],
    ['20 bytes', CONTRACT.slice(2)],
    ['0x', `0x${CONTRACT.slice(2)}`],
  ])('is the same whatever the form of the address: %s', async (_, address) => {
    const { engine } = await echo()
    for (const prefix of ['offchain', 'executioncontainer']) {
      const { statusCode, json } = await engine.app.inject(`/${prefix}/${address}/x`)
      expect([statusCode, json<Seen>().uri]).toEqual([200, '/x'])
    }
  })

  it('has every method that the parser knows, and the body of each as it was given', async () => {
    const port = await listening(await echo())
    const methods = METHODS.filter((method) => !['CONNECT', 'OPTIONS', 'HEAD'].includes(method))
    expect(methods.length).toBeGreaterThan(30)
    for (const method of methods) {
      const head = `${method} /offchain/${CONTRACT}/x HTTP/1.1\r\nHost: e\r\nConnection: close\r\nContent-Type: b/ad; ;;\r\n`
      const answer = await raw(port, Buffer.from(`${head}Content-Length: 3\r\n\r\n\xff\x00a`, 'latin1'))
      const seen = seenIn(answer)
      expect([method, seen.method, seen.body]).toEqual([method, method, '/wBh'])
    }
  })

  it('has bodies that come in chunks, and headers with all their values', async () => {
    const port = await listening(await echo())
    const head = `POST /offchain/${CONTRACT}/x HTTP/1.1\r\nHost: e\r\nConnection: close\r\nX-A: 1\r\nx-a: 2\r\n`
    const answer = await raw(port, `${head}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n`)
    const seen = seenIn(answer)
    expect(Buffer.from(seen.body, 'base64').toString()).toBe('abcde')
    expect(seen.headers).toContainEqual({ name: 'x-a', values: ['1', '2'] })
    expect(JSON.stringify(seen.headers)).not.toMatch(/transfer-encoding|connection/)
  })

  it('is GET for HEAD, which gets the head of the answer alone', async () => {
    const port = await listening(await echo())
    const answer = await raw(port, `HEAD /offchain/${CONTRACT}/x HTTP/1.1\r\nHost: e\r\nConnection: close\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1.1 200/)
    expect(answer).toMatch(/content-length: [1-9]/)
    expect(answer.split('\r\n\r\n')[1]).toBe('')
  })
})

describe('what goes out', () => {
  const answering = (response: object) => closeAfterTest(serving({ http: () => Promise.resolve(response) }))
  const header = (name: string, ...values: string[]) => ({ name, values })

  it('is the answer of the component, with nothing invented but what the engine says', async () => {
    const { engine, url } = await answering({
      status: 418,
      headers: [header('X-Own', 'a', 'b')],
      body: Buffer.from([255]),
    })
    const { statusCode, headers, rawPayload } = await engine.app.inject(url)
    expect([statusCode, headers['x-own'], rawPayload]).toEqual([418, ['a', 'b'], Buffer.from([255])])
    expect(headers['content-type']).toBeUndefined()
    expect(headers['cache-control']).toBe('no-store')
    expect(headers['x-engine-block']).toBe('1')
    expect(headers['x-engine-error']).toBeUndefined()
  })

  it.each([
    ['nothing', [], 'sandbox'],
    [
      'a policy of its own, which adds to it',
      [header('Content-Security-Policy', "default-src 'self'")],
      ["default-src 'self'", 'sandbox'],
    ],
    [
      'one that would undo it',
      [header('content-security-policy', 'sandbox allow-same-origin')],
      ['sandbox allow-same-origin', 'sandbox'],
    ],
    ['that types are to be guessed', [header('X-Content-Type-Options', 'no')], 'sandbox'],
  ])('is not a page of the origin that all contracts share, if the component says %s', async (_, headers, policy) => {
    const { engine, url } = await answering({ headers: [...headers, header('content-type', 'text/html')] })
    expect((await engine.app.inject(url)).headers).toMatchObject({
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'content-type': 'text/html',
    })
  })

  it('leaves out what is not the component’s to say', async () => {
    const names = [
      'X-Engine-Error',
      'x-engine-signature',
      'Connection',
      'Transfer-Encoding',
      'Content-Length',
      'Set-Cookie',
    ]
    const all = [...names, 'Access-Control-Allow-Credentials', 'x-hop'].map((name) => header(name, 'x-hop'))
    const { engine, url } = await answering({
      headers: [...all, header('cache-control', 'max-age=5')],
      body: Buffer.from('abc'),
    })
    const { headers, body } = await engine.app.inject(url)
    expect(body).toBe('abc')
    expect(headers).toMatchObject({
      'content-length': '3',
      'cache-control': 'max-age=5',
      'access-control-allow-origin': '*',
    })
    expect(headers['x-engine-signature']).toMatch(/^ed25519 /)
    for (const name of [
      'x-engine-error',
      'set-cookie',
      'x-hop',
      'access-control-allow-credentials',
      'transfer-encoding',
    ]) {
      expect(headers[name]).toBeUndefined()
    }
  })

  it.each([
    ['X-Accel-Redirect', '/priv/secret'],
    ['x-accel-expires', '86400'],
    ['X-Sendfile', '/etc/passwd'],
    ['X-LIGHTTPD-send-file', '/etc/passwd'],
    ['X-LiteSpeed-Location', '/priv/secret'],
    ['X-LiteSpeed-Purge', '*'],
    ['X-Reproxy-URL', 'http://127.0.0.1:9000/'],
    ['x-envoy-immediate-health-check-fail', 'true'],
    ['Surrogate-Control', 'content="ESI/1.0"'],
    ['Edge-Control', 'dca=esi'],
  ])('does not steer the reverse proxy of the engine by %s', async (name, value) => {
    const { engine, url } = await answering({ headers: [header(name, value), header('x-else', 'yes')] })
    const { headers } = await engine.app.inject(url)
    expect([headers[name.toLowerCase()], headers['x-else']]).toEqual([undefined, 'yes'])
  })

  it.each([
    ['Accept-CH', 'Sec-CH-UA-Model'],
    ['Clear-Site-Data', '"*"'],
    ['Set-Login', 'logged-in'],
    ['Sec-Session-Registration', '(ES256);path="/"'],
    ['Use-As-Dictionary', 'match="/*"'],
    ['WWW-Authenticate', 'Basic realm="engine"'],
    ['www-authenticate', 'Bearer, basic'],
    ['WWW-Authenticate', 'Negotiate'],
  ])('tells a browser nothing about the origin of all contracts by %s: %s', async (name, value) => {
    const { engine, url } = await answering({ status: 401, headers: [header(name, value), header('x-else', 'yes')] })
    const { headers } = await engine.app.inject(url)
    expect([headers[name.toLowerCase()], headers['x-else']]).toEqual([undefined, 'yes'])
  })

  it('may ask for authentication that no browser has a dialog for', async () => {
    const headers = [header('WWW-Authenticate', 'Bearer realm="basics"'), header('www-authenticate', 'offchain-v2')]
    const { engine, url } = await answering({ status: 401, headers })
    expect((await engine.app.inject(url)).headers['www-authenticate']).toEqual(['Bearer realm="basics"', 'offchain-v2'])
  })

  it.each([204, 205, 304])('has no body with %i, which is also what its signature covers', async (status) => {
    const { engine, url } = await answering({ status, body: Buffer.from('abc') })
    const { headers, rawPayload } = await engine.app.inject(`${url}/x`)
    expect(rawPayload).toHaveLength(0)
    const signature = parseEngineSignature(String(headers['x-engine-signature']))
    const digest = (data: string) => createHash('sha256').update(data).digest()
    const request = { method: 'GET', uri: '/x', authorization: '', bodyDigest: digest('') }
    const response = { status, contentType: '', bodyDigest: digest('') }
    const parts = { chainId: '31337', contract: CONTRACT, engine: ENGINE, request, response, block: 1 }
    if (signature === undefined) throw new Error('no signature')
    expect(verifyResponse(parts, signature)).toBe(true)
  })

  it('has no body for HEAD, which the component sees as GET and the signature covers as it came', async () => {
    const { engine, url } = await closeAfterTest(
      serving({
        http: ({ call: { hook } }) => {
          const method = hook.kind === 'http' ? hook.request.method : ''
          return Promise.resolve({ status: 200, headers: [header('x-method', method)], body: Buffer.from('abc') })
        },
      }),
    )
    const { headers, rawPayload } = await engine.app.inject({ method: 'HEAD', url: `${url}/x` })
    expect([headers['x-method'], rawPayload]).toEqual(['GET', Buffer.alloc(0)])
    const signature = parseEngineSignature(String(headers['x-engine-signature']))
    const bodyDigest = createHash('sha256').digest()
    const request = { method: 'HEAD', uri: '/x', authorization: '', bodyDigest }
    const response = { status: 200, contentType: '', bodyDigest }
    const parts = { chainId: '31337', contract: CONTRACT, engine: ENGINE, request, response, block: 1 }
    if (signature === undefined) throw new Error('no signature')
    expect(verifyResponse(parts, signature)).toBe(true)
    expect(verifyResponse({ ...parts, request: { ...request, method: 'GET' } }, signature)).toBe(false)
  })

  it('is signed, by a key that the engine endorses', async () => {
    const { engine, url, chain } = await answering({
      status: 201,
      headers: [header('content-type', 'a/b')],
      body: Buffer.from('abc'),
    })
    const digest = (data: string) => createHash('sha256').update(data).digest()
    const { headers } = await engine.app.inject({
      method: 'PUT',
      url: `${url}/x?y`,
      payload: 'body',
      headers: { authorization: 'me' },
    })
    const signature = parseEngineSignature(String(headers['x-engine-signature']))
    const request = { method: 'PUT', uri: '/x?y', authorization: 'me', bodyDigest: digest('body') }
    const response = { status: 201, contentType: 'a/b', bodyDigest: digest('abc') }
    const parts = { chainId: '31337', contract: CONTRACT, engine: ENGINE, request, response, block: 1 }
    if (signature === undefined) throw new Error('no signature')
    expect(verifyResponse(parts, signature)).toBe(true)
    expect(verifyResponse({ ...parts, block: 2 }, signature)).toBe(false)
    const { endorsement, address } = (await engine.app.inject('/engine')).json<{
      endorsement: Endorsement
      address: string
    }>()
    expect(address).toBe(evmAddress(parts.engine))
    expect(endorsement.public_key).toBe(Buffer.from(signature.publicKey).toString('hex'))
    expect(chain.id).toBe(parts.chainId)
    expect(verifyEndorsement(endorsement, ENGINE, chain)).toEqual(signature.publicKey)
    expect(verifyEndorsement(endorsement, CONTRACT, chain)).toBeUndefined()
  })
})

describe('the answers of the engine itself', () => {
  const problemOf = async ({ engine }: TestEngine, url: string, method: 'GET' | 'POST' = 'GET') => {
    const { statusCode, headers, json } = await engine.app.inject({ method, url })
    expect(headers['content-type']).toBe('application/problem+json')
    expect(headers['cache-control']).toBe('no-store')
    expect(json()).toMatchObject({ status: statusCode, code: headers['x-engine-error'] })
    return [statusCode, headers['x-engine-error']]
  }

  it.each(['', '/', '/xyz', '/1234/x', `/${'a'.repeat(44)}/x`, '/%30%30/x', '?x', `/0x${'a'.repeat(42)}`])(
    '400 for an address that is none: %s',
    async (address) => {
      expect(await problemOf(await echo(), `/offchain${address}`)).toEqual([400, 'bad-address'])
    },
  )

  it('400 for a request with several Host headers or none', async () => {
    const port = await listening(await echo())
    for (const target of [`/offchain/${CONTRACT}/`, '/engine', '/%zz']) {
      const answer = await raw(port, `GET ${target} HTTP/1.1\r\nHost: a\r\nhost: b\r\nConnection: close\r\n\r\n`)
      expect(answer).toMatch(/^HTTP\/1.1 400 .*x-engine-error: bad-request.*several Host headers; send one/is)
      const without = await raw(port, `GET ${target} HTTP/1.1\r\nConnection: close\r\n\r\n`)
      expect(without).toMatch(/^HTTP\/1.1 400 .*x-engine-error: bad-request.*no Host header; send one/is)
    }
  })

  it.each([
    ['Authorization', 'Bearer'],
    ['Content-Type', 'text/'],
  ])('400 for a request with several %s headers', async (field, value) => {
    const port = await listening(await echo())
    const fields = `${field}: ${value} a\r\n${field.toLowerCase()}: ${value} b`
    const head = `Host: a\r\n${fields}\r\nConnection: close\r\n\r\n`
    for (const target of [`/offchain/${CONTRACT}/`, `/engine/contracts/${CONTRACT}`, '/engine', '/%zz']) {
      const answer = await raw(port, `GET ${target} HTTP/1.1\r\n${head}`)
      expect(answer).toMatch(/^HTTP\/1.1 400 .*x-engine-error: bad-request/is)
      expect(answer).toContain(`several ${field} headers; send one`)
    }
  })

  it('404 for a contract that is not served, and where a component takes no requests', async () => {
    expect(await problemOf(await echo(), `/offchain/${'ab'.repeat(20)}/x`)).toEqual([404, 'unknown-contract'])
    const silent = await closeAfterTest(serving({ stateChange: () => Promise.resolve() }))
    expect(await problemOf(silent, silent.url)).toEqual([404, 'no-http-hook'])
    expect(await problemOf(silent, '/offchains')).toEqual([404, 'not-found'])
    expect(await problemOf(silent, `/engine/contracts/${CONTRACT}/b`)).toEqual([404, 'not-found'])
  })

  it.each(['/engine', '/openapi?x', '/health/ready'])(
    '405 with Allow for another method at a path of the engine itself: %s',
    async (path) => {
      const engine = await echo()
      expect(await problemOf(engine, path, 'POST')).toEqual([405, 'method-not-allowed'])
      // RFC 9110 section 15.5.6
      expect((await engine.engine.app.inject({ method: 'POST', url: path })).headers.allow).toBe('GET, HEAD')
    },
  )

  it('421 when the contract does not list this engine', async () => {
    const engine = await echo()
    engine.chain.set({ address: CONTRACT, engines: [{ address: `00${'aa'.repeat(20)}`, endpoint: '' }] })
    await engine.rounds()
    expect(await problemOf(engine, engine.url)).toEqual([421, 'not-this-engine'])
  })

  it('500 for a trap, without a word of it; 502 and 504 for what else goes wrong', async () => {
    let kind: 'bad-response' | 'deadline' | undefined
    const engine = await closeAfterTest(
      serving({ http: () => (kind === undefined ? Promise.reject(new Error('secret words')) : Promise.resolve(kind)) }),
    )
    const { statusCode, body, headers } = await engine.engine.app.inject(engine.url)
    expect([statusCode, headers['x-engine-error']]).toEqual([500, 'component-trap'])
    expect(body).not.toContain('secret')
    expect(engine.logLines.join('')).toContain('secret words')
    kind = 'bad-response'
    expect(await problemOf(engine, engine.url)).toEqual([502, 'bad-component-response'])
    kind = 'deadline'
    expect(await problemOf(engine, engine.url)).toEqual([504, 'deadline'])
  })

  it('whose reason is in the log, under the id of the request', async () => {
    const answers: ('bad-response' | 'deadline' | undefined)[] = [undefined, 'bad-response', 'deadline']
    const engine = await closeAfterTest(
      serving({
        http: () => {
          const answer = answers.shift()
          return answer === undefined ? Promise.reject(new Error('why')) : Promise.resolve(answer)
        },
      }),
    )
    const lines: unknown[] = []
    while (answers.length > 0) {
      const { headers, body } = await engine.engine.app.inject(engine.url)
      expect((JSON.parse(body) as { detail: string }).detail).toContain(
        '; the log of this engine has the reason, under',
      )
      const line = engine.logLines.find((each) => each.includes(`"request":"${String(headers['x-request-id'])}"`))
      lines.push((JSON.parse(line ?? '{}') as { event?: string }).event)
    }
    expect(lines).toEqual(['component_trap', 'bad_component_response', 'component_deadline'])
  })

  it('503 while the database takes no writes, and the log says what the database said', async () => {
    const engine = await echo()
    engine.store.commit = () => Promise.reject(Object.assign(new Error('a value'), { code: 'ERR_SQLITE_ERROR' }))
    expect(await problemOf(engine, '/health/ready')).toEqual([503, 'overloaded'])
    const [line] = engine.logLines.filter((each) => each.includes('"event":"refused"'))
    expect(JSON.parse(line ?? '{}')).toMatchObject({ error: 'overloaded', err: { code: 'ERR_SQLITE_ERROR' } })
  })

  it('503 before the first look, and when the chain was not seen for too long', async () => {
    const fresh = await closeAfterTest(startEngine())
    expect(await problemOf(fresh, `/offchain/${CONTRACT}/`)).toEqual([503, 'starting'])
    expect(await problemOf(fresh, '/health/ready')).toEqual([503, 'starting'])
    const engine = await echo()
    engine.chain.isDown = true
    engine.clock.now = new Date(engine.clock.now.getTime() + 59_000)
    await engine.rounds()
    expect((await engine.engine.app.inject(engine.url)).statusCode).toBe(200)
    engine.clock.now = new Date(engine.clock.now.getTime() + 2000)
    expect(await problemOf(engine, engine.url)).toEqual([503, 'stale-chain'])
    expect(await problemOf(engine, '/health/ready')).toEqual([503, 'stale-chain'])
    engine.chain.isDown = false
    await engine.rounds()
    expect((await engine.engine.app.inject(engine.url)).statusCode).toBe(200)
  })

  it('429 with Retry-After for one address that asks too much', async () => {
    const settings = { limits: { requestsPerSecond: 2, requestBurst: 3 } }
    const engine = await closeAfterTest(serving({ http: () => Promise.resolve(text('')) }, { settings }))
    const answers = []
    for (let asked = 0; asked < 4; asked++) answers.push(await engine.engine.app.inject(engine.url))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 429])
    expect(answers[3]?.headers).toMatchObject({ 'retry-after': '1', 'x-engine-error': 'too-many-requests' })
    expect(answers[3]?.json()).toMatchObject({
      detail: expect.stringContaining('limits.requestsPerSecond of this engine (2)') as string,
    })
    engine.clock.now = new Date(engine.clock.now.getTime() + 500)
    expect((await engine.engine.app.inject(engine.url)).statusCode).toBe(200)
  })

  it('414 and 431 as problems, up to what the parser itself refuses', async () => {
    const port = await listening(await echo())
    const start = `GET /offchain/${CONTRACT}`
    for (const size of [9000, 60_000]) {
      const long = await raw(port, `${start}/${'x'.repeat(size)} HTTP/1.1\r\nHost: e\r\nConnection: close\r\n\r\n`)
      expect(long).toMatch(
        /^HTTP\/1.1 414 .*x-engine-error: target-too-long.*limits\.targetBytes of this engine \(8192\)/is,
      )
    }
    for (const size of [17_000, 60_000]) {
      const large = await raw(
        port,
        `${start}/ HTTP/1.1\r\nHost: e\r\nConnection: close\r\nX: ${'x'.repeat(size)}\r\n\r\n`,
      )
      expect(large).toMatch(
        /^HTTP\/1.1 431 .*x-engine-error: headers-too-large.*limits\.headerBytes of this engine \(16384\)/is,
      )
    }
    expect(await raw(port, 'nonsense\r\n\r\n')).toMatch(/^HTTP\/1.1 400 .*application\/problem\+json/is)
  })

  it('413 for a body that says it is too large, before any of it was read', async () => {
    const engine = await echo()
    const port = await listening(engine)
    const before = engine.runtime.runs
    const answer = await raw(
      port,
      `PUT /offchain/${CONTRACT}/ HTTP/1.1\r\nHost: e\r\nExpect: 100-continue\r\nContent-Length: 1099511627776\r\n\r\n`,
    )
    expect(answer).toMatch(
      /^HTTP\/1.1 413 .*x-engine-error: body-too-large.*limits\.bodyBytes of this engine \(1048576\)/is,
    )
    expect(engine.runtime.runs).toBe(before)
  })

  it('413 for chunks without an end, in memory that stays flat', async () => {
    const port = await listening(await echo())
    const chunk = Buffer.concat([Buffer.from('10000\r\n'), Buffer.alloc(65_536), Buffer.from('\r\n')])
    const before = process.memoryUsage().rss
    let sent = 0
    const answer = await new Promise<string>((resolve) => {
      let said = ''
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(`PUT /offchain/${CONTRACT}/ HTTP/1.1\r\nHost: e\r\nTransfer-Encoding: chunked\r\n\r\n`)
        const more = (): void => {
          for (let isTaken = true; socket.writable && isTaken; sent += chunk.length) isTaken = socket.write(chunk)
        }
        socket.on('drain', more)
        more()
      })
      socket.on('data', (part) => {
        said += part.toString()
      })
      socket.on('error', () => undefined)
      socket.on('close', () => resolve(said))
    })
    expect(answer).toMatch(/^HTTP\/1.1 413 /)
    // The sender is in this process too, and what either let go is collected when Node sees fit: the more came, the
    // later.
    expect(process.memoryUsage().rss - before).toBeLessThan(100_000_000 + sent / 8)
  })

  it('asks for a body that it will take: 100 Continue', async () => {
    const port = await listening(await echo())
    const answer = await new Promise<string>((resolve) => {
      let said = ''
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(
          `PUT /offchain/${CONTRACT}/ HTTP/1.1\r\nHost: e\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n`,
        )
      })
      socket.on('data', (part) => {
        said += part.toString()
        if (/^HTTP\/1.1 100 Continue\r\n\r\n$/.test(said)) socket.write('abc')
      })
      socket.on('close', () => resolve(said))
    })
    expect(answer).toMatch(/^HTTP\/1.1 100 Continue\r\n\r\nHTTP\/1.1 200 OK/)
  })
})

describe('browsers', () => {
  const preflight = (method: string) => ({
    'access-control-request-method': method,
    'access-control-request-headers': 'authorization, x-own',
    origin: 'https://app.example',
  })

  it('are answered by the engine, and may read what it says', async () => {
    const { engine, url, runtime } = await echo()
    const before = runtime.runs
    const { statusCode, headers } = await engine.app.inject({ method: 'OPTIONS', url, headers: preflight('PUT') })
    expect([statusCode, headers['access-control-allow-origin']]).toEqual([204, '*'])
    expect(headers['access-control-allow-methods']).toContain('PUT')
    expect(headers['access-control-allow-headers']).toContain('authorization')
    expect(headers['access-control-allow-credentials']).toBeUndefined()
    expect(runtime.runs).toBe(before)
    const answered = await engine.app.inject(url)
    expect(answered.headers['access-control-expose-headers']).toContain('X-Engine-Signature')
  })

  it('learn from the engine’s own routes that these are only read', async () => {
    const { engine } = await echo()
    const { headers } = await engine.app.inject({ method: 'OPTIONS', url: '/engine', headers: preflight('DELETE') })
    expect(headers['access-control-allow-methods']).toBe('GET, HEAD')
  })

  it('are the component’s own affair where the operator says so', async () => {
    const headers = [{ name: 'Access-Control-Allow-Origin', values: ['https://one.example'] }]
    const { engine, url } = await closeAfterTest(
      serving({ http: () => Promise.resolve({ status: 204, headers }) }, { settings: { cors: false } }),
    )
    const answer = await engine.app.inject({ method: 'OPTIONS', url, headers: preflight('PUT') })
    expect([answer.statusCode, answer.headers['access-control-allow-origin']]).toEqual([204, 'https://one.example'])
  })
})

describe('a thousand connections', () => {
  it('are answered, one request each, and the first is still served', async () => {
    const port = await listening(await echo())
    const request = `GET /offchain/${CONTRACT}/x HTTP/1.1\r\nHost: e\r\nConnection: close\r\n\r\n`
    const sockets: Socket[] = []
    // No more connections begin at a time than the system queues for a server.
    while (sockets.length < 1000) sockets.push(...(await Promise.all(Array.from({ length: 250 }, () => opened(port)))))
    const answers = await Promise.all(sockets.map((socket) => answerOn(socket, request)))
    const statuses = answers.map((answer) => answer.slice(9, 12))
    expect(statuses.filter((status) => status !== '200' && status !== '503')).toEqual([])
    expect(statuses).toContain('200')
    expect(await raw(port, request)).toMatch(/^HTTP\/1.1 200/)
  })
})

it('keeps a connection open for as long as its limits let a call take, the call that runs again included', async () => {
  const timeoutOf = async (limits: object): Promise<number> =>
    (await closeAfterTest(serving({}, { settings: { limits } }))).engine.app.server.timeout
  expect(await timeoutOf({})).toBe(70_000)
  expect(await timeoutOf({ httpSeconds: 120, queueSeconds: 30 })).toBe(310_000)
})

describe('answers of components that nobody reads', () => {
  it('hold so much memory together and no more', async () => {
    const MIB = 1024 * 1024
    const { engine } = await closeAfterTest(serving({ http: () => Promise.resolve({ body: Buffer.alloc(16 * MIB) }) }))
    await engine.app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = engine.app.server.address() as AddressInfo
    const accepted: Socket[] = []
    engine.app.server.on('connection', (socket: Socket) => accepted.push(socket))
    const sockets = Array.from({ length: 6 }, () => {
      const socket = connect(port, '127.0.0.1')
      socket.pause().on('error', () => undefined)
      socket.write(`GET /offchain/${CONTRACT}/ HTTP/1.1\r\nHost: e\r\n\r\n`)
      return socket
    })
    const countClosed = () => accepted.filter(({ destroyed }) => destroyed).length
    await expect.poll(countClosed, { timeout: 20_000 }).toBe(2)
    for (const socket of sockets) socket.destroy()
  })
})

describe('GET /engine', () => {
  it('is where an answer points to that is about a contract', async () => {
    const { engine } = await echo()
    const { json } = await engine.app.inject(`/offchain/${'ab'.repeat(20)}/x`)
    expect(json<{ detail: string }>().detail).toMatch(/; GET \/engine says which$/)
  })

  it('says who it is and what it serves', async () => {
    const { engine } = await echo()
    const { json } = await engine.app.inject('/engine')
    expect(json()).toMatchObject({
      chain: { id: '31337', addresses: 'evm' },
      block: { number: 1 },
      stale: false,
      contracts: [{ address: evmAddress(CONTRACT), state: 'served', hooks: ['off_chain_on_http_request'] }],
    })
    expect((await engine.app.inject('/health/live')).statusCode).toBe(200)
    expect((await engine.app.inject('/health/ready')).statusCode).toBe(200)
    expect((await engine.app.inject('/openapi')).json<{ openapi: string }>().openapi).toBe('3.1.0')
  })
})

describe('the contracts in GET /engine', () => {
  interface Page {
    readonly endorsement: Endorsement
    readonly contracts: readonly { readonly address: string; readonly why?: string; readonly hooks: string[] }[]
    readonly next?: string
  }

  /** Reads all pages, each of which a client of any version can read. */
  async function readPages({ engine, chain }: TestEngine): Promise<readonly Page[]> {
    const pages: Page[] = []
    for (let query = ''; ; query = `?after=${pages.at(-1)?.next}`) {
      const { body, json } = await engine.app.inject(`/engine${query}`)
      expect(Buffer.byteLength(body)).toBeLessThan(65_536)
      const page = json<Page>()
      expect(verifyEndorsement(page.endorsement, ENGINE, chain)).toHaveLength(32)
      pages.push(page)
      if (page.next === undefined) return pages
    }
  }

  const addressAt = (at: number) => `00${at.toString(16).padStart(40, '0')}`

  it('come in pages, all of them, each once, however many there are', async () => {
    const engine = await closeAfterTest(startEngine())
    const addresses = Array.from({ length: 600 }, (_, at) => addressAt(at * 7919))
    for (const address of addresses.toReversed()) engine.chain.set({ address, engines: [] })
    await engine.task('chain')
    const pages = await readPages(engine)
    expect(pages.length).toBeGreaterThan(1)
    const listed = pages.flatMap(({ contracts }) => contracts.map(({ address }) => address))
    expect(listed).toEqual(addresses.map(evmAddress))
  })

  it('are not sorted for each request, which would take long for many', async () => {
    const engine = await closeAfterTest(startEngine())
    const add = async (...places: readonly number[]) => {
      for (const at of places) engine.chain.set({ address: addressAt(at), engines: [] })
      await engine.task('chain')
    }
    await add(...Array.from({ length: 100 }, (_, at) => 400 - at * 4))
    await add(2, 3, 401)
    engine.chain.remove(addressAt(8))
    await engine.task('chain')
    const sort = vi.spyOn(Array.prototype, 'sort')
    onTestFinished(() => sort.mockRestore())
    const listed = (await readPages(engine)).flatMap(({ contracts }) => contracts.map(({ address }) => address))
    const longest = Math.max(0, ...sort.mock.contexts.map((list) => (list as readonly unknown[]).length))
    expect(longest).toBeLessThan(100)
    expect(listed).toHaveLength(102)
    expect(listed).toEqual(listed.toSorted())
  })

  it('do not make it longer than clients read, whatever their components are', async () => {
    const engine = await closeAfterTest(startEngine())
    const hooks = Array.from({ length: 4000 }, (_, at) => `off_chain_thread_${at.toString(16)}`)
    const { sha256, bytes } = engine.runtime.add('many timers', {})
    engine.files.set(sha256, bytes)
    engine.runtime.describe = () => Promise.resolve({ kind: 'wasm', hooks: ['off_chain_on_http_request', ...hooks] })
    engine.chain.set({ address: addressAt(0), component: { sha256, uri: '' } })
    const uri = `https://example.com/${'\u0000'.repeat(2000)}`
    for (let at = 1; at <= 60; at += 1) {
      engine.chain.set({ address: addressAt(at), component: { sha256: 'ab'.repeat(32), uri } })
    }
    await engine.rounds()
    const [manyTimers, ...failed] = (await readPages(engine)).flatMap(({ contracts }) => contracts)
    expect(manyTimers?.hooks.slice(0, 2)).toEqual(['off_chain_on_http_request', 'off_chain_thread_0'])
    expect(manyTimers?.hooks.length).toBe(20)
    expect(failed).toHaveLength(60)
    expect(failed[0]?.why).toMatch(/^the component ab.{484}…$/s)
  })

  it.each(['?after=', '?after=0x12', '?after=0x12&after=0x13'])('begin after no such address: %s', async (query) => {
    const { engine } = await closeAfterTest(startEngine())
    const { statusCode, headers, json } = await engine.app.inject(`/engine${query}`)
    expect([statusCode, headers['x-engine-error']]).toEqual([400, 'bad-address'])
    expect(json<{ detail: string }>().detail).toContain('`next` of the page before')
  })
})

describe('the OpenAPI document', () => {
  it.each([
    ['/health/ready', ['200', '503']],
    ['/health/live', ['200']],
    ['/engine', ['200', '400', '429']],
  ] as const)('has the statuses of %s', async (path, described) => {
    const { get } = openApi.paths[path]
    expect(Object.keys(get.responses)).toEqual(described)
    const engine = await closeAfterTest(startEngine({ settings: { limits: { requestBurst: 1 } } }))
    for (let requests = 0; requests < 2; requests++) {
      const { statusCode } = await engine.engine.app.inject(path)
      expect(described).toContain(String(statusCode))
    }
  })
})

describe('the headers that callers act on', () => {
  const ENGINE_HEADERS = ['allow', 'etag', 'retry-after', 'www-authenticate', 'x-engine-block', 'x-engine-error']
  type Described = Readonly<Record<string, { readonly description: string; readonly headers?: object }>>
  const paths: Readonly<
    Record<string, { readonly parameters?: unknown; readonly get?: { readonly responses: Described } }>
  > = openApi.paths
  const describedHeaders = (path: string, status: number | 'default'): string[] =>
    Object.keys(paths[path]?.get?.responses[status]?.headers ?? {})

  it.each([
    ['/openapi', '/openapi', {}, 200, ['etag']],
    ['/openapi', '/openapi', { 'if-none-match': '*' }, 304, ['etag']],
    ['/engine', '/engine?after=x', {}, 400, ['x-engine-block', 'x-engine-error']],
    [
      '/engine/contracts/{contract}',
      `/engine/contracts/${CONTRACT}`,
      {},
      401,
      ['www-authenticate', 'x-engine-block', 'x-engine-error'],
    ],
    ['/offchain/{contract}/{path}', `/offchain/${'ab'.repeat(20)}/x`, {}, 404, ['x-engine-block', 'x-engine-error']],
  ] as const)('are those that the document names: %s', async (path, url, headers, status, names) => {
    const { engine } = await echo()
    const answer = await engine.app.inject({ url, headers })
    expect(answer.statusCode).toBe(status)
    expect(ENGINE_HEADERS.filter((name) => answer.headers[name] !== undefined)).toEqual(names)
    expect(
      describedHeaders(path, status)
        .map((name) => name.toLowerCase())
        .sort(),
    ).toEqual(names)
  })

  it('are those that the document names where a request comes too early or too often', () => {
    for (const status of [429, 503]) {
      expect(describedHeaders('/offchain/{contract}/{path}', status)).toEqual([
        'Retry-After',
        'X-Engine-Block',
        'X-Engine-Error',
      ])
    }
    expect(describedHeaders('/offchain/{contract}/{path}', 'default')).toEqual(['X-Engine-Block', 'X-Engine-Signature'])
  })

  it('are told of every status for which a problem has them', () => {
    for (const code of Object.keys(problems) as ProblemCode[]) {
      const { status, headers } = makeProblem(code)
      const described = describedHeaders('/offchain/{contract}/{path}', status).map((name) => name.toLowerCase())
      expect([code, described]).toEqual([
        code,
        expect.arrayContaining(ENGINE_HEADERS.filter((name) => name in headers)),
      ])
    }
  })
})

describe('an answer of a route of the engine itself', () => {
  it.each([
    ['GET', '/engine', 'no-store'],
    ['GET', '/openapi', 'no-cache'],
    ['GET', '/health/live', 'no-store'],
    ['OPTIONS', `/offchain/${CONTRACT}/a`, 'no-store'],
  ] as const)('has the headers of every answer: %s %s', async (method, url, caching) => {
    const { engine } = await echo()
    const { headers } = await engine.app.inject({
      method,
      url,
      headers: { origin: 'https://app.example', 'access-control-request-method': 'PUT' },
    })
    expect(headers).toMatchObject({
      'x-request-id': expect.stringMatching(/^[\w-]{16}$/) as string,
      'x-content-type-options': 'nosniff',
      'cache-control': caching,
      'access-control-allow-origin': '*',
    })
  })
})
