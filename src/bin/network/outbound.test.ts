/** How other servers are asked: against real servers on loopback, and names whose addresses the test gives. */
import type { LookupAddress } from 'node:dns'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import {
  type AddressInfo,
  createServer as createTcpServer,
  isIPv6,
  type Socket,
  type Server as TcpServer,
} from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type Authority, certify, makeAuthority } from '../../../test/support/forge.ts'
import { makeKey, pemOf } from '../../../test/support/services.ts'
import { type HttpClientRequest, OutboundError } from '../../http/outbound.ts'
import { toPem } from '../../keys/make-certificate.ts'
import { createOutbound } from './outbound.ts'

/** The connections that a client opens to one host and port. */
const CONNECTIONS = 32

const running: TcpServer[] = []
const open = new Set<Socket>()
afterEach(async () => {
  for (const socket of open) socket.destroy()
  for (const server of running.splice(0)) await new Promise((resolve) => server.close(resolve))
})

async function listening(server: TcpServer): Promise<number> {
  running.push(server)
  server.on('connection', (socket: Socket) => {
    open.add(socket)
    socket.on('close', () => open.delete(socket))
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return (server.address() as AddressInfo).port
}

const serve = async (listener: RequestListener): Promise<string> =>
  `http://127.0.0.1:${await listening(createServer(listener))}`

const ask = (url: string, more: Partial<HttpClientRequest> = {}, options: Parameters<typeof createOutbound>[0] = {}) =>
  createOutbound(options)({ url, timeoutMs: 2000, maxBytes: 1000, allowPrivateAddresses: true, ...more })

const at = (...addresses: string[]): { resolve: () => Promise<LookupAddress[]> } => ({
  resolve: () => Promise.resolve(addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }))),
})

async function failureOf(answer: Promise<unknown>): Promise<OutboundError> {
  const error: unknown = await answer.then(
    () => undefined,
    (problem: unknown) => problem,
  )
  expect(error).toBeInstanceOf(OutboundError)
  return error as OutboundError
}

async function problemOf(answer: Promise<unknown>): Promise<string> {
  return (await failureOf(answer)).message
}

describe('What is asked and answered', () => {
  it('gives the status, the headers in lower case, and the body', async () => {
    const url = await serve((_, response) => {
      response.writeHead(418, { 'X-Kind': 'Tea', 'Set-Cookie': ['a=1', 'b=2'] }).end('short and stout')
    })
    const { status, headers, body } = await ask(url)
    expect({ status, kind: headers['x-kind'], cookies: headers['set-cookie'] }).toEqual({
      status: 418,
      kind: 'Tea',
      cookies: 'a=1, b=2',
    })
    expect(Buffer.from(body).toString()).toBe('short and stout')
  })

  it('posts a body with its headers', async () => {
    const url = await serve((request, response) => {
      request.on('data', (part: Buffer) => response.write(part)).on('end', () => response.end())
      response.writeHead(200, { seen: `${request.method} ${request.url} ${request.headers['content-type']}` })
    })
    const headers = { 'content-type': 'text/plain' }
    const answer = await ask(`${url}/a?b=c`, { method: 'POST', body: 'grüße', headers })
    expect([answer.headers.seen, Buffer.from(answer.body).toString()]).toEqual(['POST /a?b=c text/plain', 'grüße'])
  })

  it('does not follow a redirect', async () => {
    let asked = 0
    const url = await serve((_, response) => {
      asked += 1
      response.writeHead(302, { location: '/elsewhere' }).end()
    })
    const { status, headers } = await ask(url)
    expect([status, headers.location, asked]).toEqual([302, '/elsewhere', 1])
  })

  it('undoes gzip', async () => {
    const url = await serve((_, response) =>
      response.setHeader('content-encoding', 'gzip').end(gzipSync('a'.repeat(1000))),
    )
    expect((await ask(url)).body).toHaveLength(1000)
  })

  it('uses a connection again, and makes a new one when it was closed meanwhile', async () => {
    const ports = new Set<number | undefined>()
    const url = await serve((request, response) => {
      ports.add(request.socket.remotePort)
      response.end()
    })
    const outbound = createOutbound()
    const request = { url, timeoutMs: 2000, maxBytes: 10, allowPrivateAddresses: true }
    for (let count = 0; count < 5; count++) await outbound(request)
    expect(ports.size).toBe(1)
    let connections = 0
    // Takes a second request on the same connection, and resets it.
    const rude = createTcpServer((socket) => {
      connections += 1
      socket.once('data', () => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
        socket.on('data', () => socket.resetAndDestroy())
      })
    })
    const other = { ...request, url: `http://127.0.0.1:${await listening(rude)}`, method: 'POST' as const, body: '{}' }
    for (let count = 0; count < 3; count++) expect((await outbound(other)).status).toBe(200)
    expect(connections).toBe(3)
  })

  it('asks many at once', async () => {
    // The server answers only once it has as many requests as there are connections.
    const waiting: ServerResponse[] = []
    let requests = 0
    const url = await serve((_, response) => {
      requests += 1
      waiting.push(response)
      if (requests >= CONNECTIONS) for (const each of waiting.splice(0)) each.end('done')
    })
    const outbound = createOutbound()
    const request = { url, timeoutMs: 5000, maxBytes: 10, allowPrivateAddresses: true }
    const answers = await Promise.all(Array.from({ length: 6 * CONNECTIONS }, () => outbound(request)))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
  })
})

describe('What is bounded', () => {
  it.each<[string, RequestListener]>([
    ['never answers', () => undefined],
    ['never ends its answer', (_, response) => void response.writeHead(200).write('a')],
    [
      'sends a byte now and then',
      (_, response) => {
        const timer = setInterval(() => response.write('a'), 10)
        response.on('close', () => clearInterval(timer))
      },
    ],
  ])('a server that %s', async (_, listener) => {
    const url = await serve(listener)
    expect(await problemOf(ask(url, { timeoutMs: 100 }))).toBe('127.0.0.1 gave no whole answer within 0.1 s')
  })

  it('tells the look-up whether a stranger chose the name', async () => {
    const lookUps: (readonly [string, boolean | undefined])[] = []
    const resolve = (hostname: string, { isHostUntrusted }: { readonly isHostUntrusted?: boolean }) => {
      lookUps.push([hostname, isHostUntrusted])
      return Promise.resolve([{ address: '127.0.0.1', family: 4 }])
    }
    await problemOf(ask('https://a.example:1', { isHostUntrusted: true }, { resolve }))
    await problemOf(ask('https://b.example:1', {}, { resolve }))
    expect(lookUps).toEqual([
      ['a.example', true],
      ['b.example', undefined],
    ])
  })

  it('a name that is never resolved', async () => {
    const resolve = () => new Promise<LookupAddress[]>(() => undefined)
    expect(await problemOf(ask('https://a.example', { timeoutMs: 50 }, { resolve }))).toMatch(/within 0.05 s$/)
  })

  it.each<[string, RequestListener]>([
    ['says that it sends more', (_, response) => void response.writeHead(200, { 'content-length': 1001 }).write('a')],
    ['sends more', (_, response) => response.end('a'.repeat(1001))],
    [
      'sends without end',
      (_, response) => {
        const more = (): void => {
          while (response.write('a'.repeat(65_536)));
        }
        response.on('drain', more)
        more()
      },
    ],
    [
      'sends more after it is unpacked',
      (_, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync('a'.repeat(1001))),
    ],
  ])('a server that %s', async (_, listener) => {
    expect(await problemOf(ask(await serve(listener)))).toBe('the answer of 127.0.0.1 is larger than 1000 bytes')
  })

  it('a server that gives interim answers without end', async () => {
    const server = createTcpServer((socket) => {
      const more = (): void => {
        while (!socket.destroyed && socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(1000)));
      }
      socket.on('error', () => undefined).on('drain', more)
      socket.once('data', more)
    })
    const answer = ask(`http://127.0.0.1:${await listening(server)}/`, { timeoutMs: 60_000 })
    expect(await problemOf(answer)).toMatch(/gave more than 10 interim answers$/)
  })

  it('a gigabyte that came as a megabyte is not unpacked', async () => {
    // Members of gzip may follow each other.
    const bomb = Buffer.concat(Array<Buffer>(16).fill(gzipSync(Buffer.alloc(64 * 1024 * 1024))))
    expect(bomb.length).toBeLessThan(1_100_000)
    const url = await serve((_, response) => response.setHeader('content-encoding', 'gzip').end(bomb))
    const before = process.memoryUsage().rss
    expect(await problemOf(ask(url, { maxBytes: 2_000_000 }))).toMatch(/larger than 2000000 bytes$/)
    expect(process.memoryUsage().rss - before).toBeLessThan(256 * 1024 * 1024)
  })

  it.each([
    ['gzip', 'the answer of 127.0.0.1 is not the gzip that it says it is'],
    ['br', 'the answer of 127.0.0.1 has a content encoding that was not asked for'],
    ['gzip, gzip', 'the answer of 127.0.0.1 has a content encoding that was not asked for'],
  ])('a body that is not encoded as it says: %s', async (encoding, problem) => {
    const url = await serve((_, response) => response.setHeader('content-encoding', encoding).end('plain'))
    expect(await problemOf(ask(url))).toBe(problem)
  })
})

describe('What goes wrong is told without what may be secret', () => {
  it.each<[string, (socket: Socket) => void, RegExp]>([
    [
      'reset',
      (socket) => socket.resetAndDestroy(),
      /^127\.0\.0\.1:\d+ ended the connection before its answer was whole$/,
    ],
    ['closed', (socket) => socket.end(), /ended the connection before its answer was whole$/],
    [
      'half an answer',
      (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab'),
      /ended the connection before its answer was whole$/,
    ],
    [
      'no HTTP',
      (socket) => socket.end('SSH-2.0-nothing\r\n\r\n'),
      /^the answer of 127\.0\.0\.1:\d+ is not HTTP \(HPE_\w+\)$/,
    ],
  ])('%s', async (_, behave, problem) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined).once('data', () => behave(socket))
    })
    const url = `http://127.0.0.1:${await listening(server)}/secret-path?token=secret`
    const told = await problemOf(ask(url))
    expect(told).toMatch(problem)
    expect(told).not.toContain('secret')
  })

  it('nobody there', async () => {
    const port = await listening(createTcpServer())
    await new Promise((resolve) => void running.pop()?.close(resolve))
    const { message, cause } = await failureOf(ask(`http://127.0.0.1:${port}`))
    expect(message).toBe(`127.0.0.1:${port} takes no connections: nobody listens there, or a firewall is in between`)
    expect(cause).toMatchObject({ code: 'ECONNREFUSED' })
  })

  it('no such name', async () => {
    const resolve = () => Promise.reject(Object.assign(new Error('x'), { code: 'ENOTFOUND' }))
    expect(await problemOf(ask('https://a.example', {}, { resolve }))).toMatch(/^a\.example has no address/)
  })
})

describe('TLS', () => {
  let ca: Authority
  beforeAll(async () => {
    ca = await makeAuthority('TLS CA')
  })
  const tls = async (dnsNames: string[]): Promise<number> => {
    const key = await makeKey()
    const cert = toPem(certify(ca, key, { dnsNames }))
    return listening(createTlsServer({ key: pemOf(key), cert }, (_, response) => response.end('hello')))
  }

  it('takes a certificate of an authority, for the name that was asked', async () => {
    const port = await tls(['a.example'])
    const { status } = await ask(`https://a.example:${port}`, {}, { ...at('127.0.0.1'), ca: toPem(ca.der) })
    expect(status).toBe(200)
  })

  it('takes none of an authority that is not known', async () => {
    const port = await tls(['a.example'])
    expect(await problemOf(ask(`https://a.example:${port}`, {}, at('127.0.0.1')))).toMatch(
      /^the TLS certificate of a\.example:\d+ is not accepted \(UNABLE_TO_\w+\); to trust an authority .* NODE_EXTRA_CA_CERTS to its PEM file$/,
    )
  })

  it('takes none of another name', async () => {
    const port = await tls(['b.example'])
    const options = { ...at('127.0.0.1'), ca: toPem(ca.der) }
    expect(await problemOf(ask(`https://a.example:${port}`, {}, options))).toMatch(/ERR_TLS_CERT_ALTNAME_INVALID/)
  })

  it('says when there is none', async () => {
    const { port } = new URL(await serve((_, response) => response.end()))
    expect(await problemOf(ask(`https://127.0.0.1:${port}`))).toMatch(/does not speak TLS there/)
  })

  it('does not lend a connection to a private address to those who may not make one', async () => {
    const port = await tls(['a.example'])
    const outbound = createOutbound({ ...at('127.0.0.1'), ca: toPem(ca.der) })
    const request = { url: `https://a.example:${port}`, timeoutMs: 2000, maxBytes: 10, allowPrivateAddresses: true }
    expect((await outbound(request)).status).toBe(200)
    expect(await problemOf(outbound({ ...request, allowPrivateAddresses: false }))).toMatch(
      /to which no request is sent$/,
    )
  })
})

const INWARD = [
  '127.0.0.1',
  '10.1.2.3',
  '169.254.169.254',
  '::1',
  'fd00::1',
  '::ffff:127.0.0.1',
  '100.64.0.1',
  '0.0.0.0',
]

describe('Where it may go', () => {
  it.each(INWARD)('not to a name at %s', async (address) => {
    const problem = await problemOf(ask('https://a.example', { allowPrivateAddresses: false }, at(address)))
    expect(problem).toBe('a.example is a private or reserved address, to which no request is sent')
  })

  it.each([
    ...['https://127.0.0.1', 'https://[::1]', 'https://[::ffff:7f00:1]', 'https://2130706433', 'https://0x7f.1'],
    ...['https://0177.0.0.1', 'https://10.0.0.1', 'https://[fe80::1]', 'https://169.254.169.254/latest', 'https://0'],
    ...['https://[64:ff9b::a00:1]', 'https://[2002:7f00:1::]', 'https://127.1', 'https://１２７.0.0.1'],
  ])('not to %s', async (url) => {
    expect(await problemOf(ask(url, { allowPrivateAddresses: false }))).toMatch(/to which no request is sent$/)
  })

  it.each([
    ['http://a.example', false, 'the address is not https'],
    ['http://1.1.1.1', true, '1.1.1.1 is a public address, to which requests are sent by https only'],
    ['http://a.example', true, 'a.example is a public address, to which requests are sent by https only'],
    ['https://user:secret@a.example', true, 'the address has a user name or a password in it'],
    ['ftp://a.example', true, 'the address is neither https nor http'],
    ['file:///etc/passwd', true, 'the address is neither https nor http'],
    ['not a url', true, 'the address is not a URL of at most 2048 characters'],
  ])('not to %s (private: %s)', async (url, allowPrivateAddresses, problem) => {
    expect(await problemOf(ask(url, { allowPrivateAddresses }, at('1.1.1.1')))).toBe(problem)
  })

  it('only to the addresses that it may go to, whatever others the name has', async () => {
    const { port } = new URL(await serve((_, response) => response.end('inside')))
    const url = `https://a.example:${port}`
    // 192.0.2.0/24 is nobody's, and 127.0.0.1 is there: of neither is a connection made.
    const refused = problemOf(ask(url, { allowPrivateAddresses: false }, at('192.0.2.1', '127.0.0.1')))
    expect(await refused).toMatch(/to which no request is sent$/)
    const clear = await ask(`http://a.example:${port}`, {}, at('1.1.1.1', '127.0.0.1'))
    expect(Buffer.from(clear.body).toString()).toBe('inside')
  })

  it('to the address that was looked at, not to what the name means a moment later', async () => {
    let inside = 0
    const { port } = new URL(
      await serve((_, response) => {
        inside += 1
        response.end()
      }),
    )
    let times = 0
    const resolve = (): Promise<LookupAddress[]> => {
      times += 1
      return Promise.resolve([{ address: times === 1 ? '127.0.0.2' : '127.0.0.1', family: 4 }])
    }
    await problemOf(ask(`http://a.example:${port}`, { timeoutMs: 500 }, { resolve }))
    expect({ times, inside }).toEqual({ times: 1, inside: 0 })
  })
})
