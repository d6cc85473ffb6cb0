/**
 * Attacks on the wire of an engine: a client wants to be taken for somebody else, or to keep the engine busy, each
 * against a server that listens.
 */
import { createHash } from 'node:crypto'
import type { Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { parseEngineSignature, verifyResponse } from '../../src/offchain/response-signature.ts'
import { CONTRACT, ENGINE, serving, text } from '../support/engine.ts'
import { closedAfterwards } from '../support/engine-calls.ts'

interface Wire {
  /** The requests that the component got, as `METHOD URI BODY`. */
  readonly asked: readonly string[]
  readonly url: string
  readonly open: () => Socket
}

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

async function listening(prepare: (server: Server) => void = () => undefined): Promise<Wire> {
  const asked: string[] = []
  const started = await serving({
    http: ({ call: { hook } }) => {
      if (hook.kind !== 'http') throw new Error('another hook')
      const { method, uri, body } = hook.request
      asked.push(`${method} ${uri} ${Buffer.from(body).toString()}`)
      return Promise.resolve(text(`you asked ${uri}`))
    },
  })
  closedAfterwards(started)
  const { app } = started.engine
  prepare(app.server)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  return {
    asked,
    url: started.url,
    open: () => {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      sockets.push(socket)
      return socket
    },
  }
}

/** Returns all that comes until the other side closes. */
async function untilClosed(socket: Socket): Promise<string> {
  let all = ''
  socket.on('data', (chunk: Buffer) => {
    all += chunk.toString('latin1')
  })
  await new Promise((resolve) => socket.once('close', resolve))
  return all
}

interface Answer {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** Answers with a `content-length`, one after another. */
function answersIn(all: string): Answer[] {
  const answers: Answer[] = []
  for (let rest = all; rest !== ''; ) {
    const end = rest.indexOf('\r\n\r\n')
    const [line = '', ...fields] = rest.slice(0, end).split('\r\n')
    const headers = new Map(
      fields.map((field) => [field.slice(0, field.indexOf(':')).toLowerCase(), field.slice(field.indexOf(':') + 2)]),
    )
    const after = end + 4 + Number(headers.get('content-length') ?? 0)
    answers.push({ status: Number(line.split(' ')[1]), headers, body: rest.slice(end + 4, after) })
    rest = rest.slice(after)
  }
  return answers
}

const lines = (...all: readonly string[]): string => all.map((line) => `${line}\r\n`).join('')

describe('a request in a request', () => {
  it.each<[string, string[], string]>([
    ['two lengths of the body', ['Content-Length: 0', 'Content-Length: 60'], ''],
    ['a list of lengths', ['Content-Length: 0, 60'], ''],
    ['a length and chunks', ['Content-Length: 5', 'Transfer-Encoding: chunked'], '0\r\n\r\n'],
    ['chunks and a length', ['Transfer-Encoding: chunked', 'Content-Length: 5'], '0\r\n\r\n'],
    ['a length with a sign', ['Content-Length: +5'], 'hello'],
    ['a negative length', ['Content-Length: -1'], ''],
    ['a length in hexadecimal', ['Content-Length: 0x5'], 'hello'],
    ['chunks that are not the last encoding', ['Transfer-Encoding: chunked, identity'], '0\r\n\r\n'],
    ['an encoding that nobody knows', ['Transfer-Encoding: xchunked'], '0\r\n\r\n'],
    ['a name with a space behind it', ['Transfer-Encoding : chunked', 'Content-Length: 5'], '0\r\n\r\n'],
    ['a field over two lines', ['X-One: a', ' b', 'Content-Length: 0'], ''],
    ['a carriage return alone', ['X-One: a\rContent-Length: 60'], ''],
    ['a zero byte', ['X-One: a\0b'], ''],
    ['a chunk with a sign', ['Transfer-Encoding: chunked'], '-1\r\nhello\r\n0\r\n\r\n'],
    ['a chunk longer than a number', ['Transfer-Encoding: chunked'], 'fffffffffffffffff\r\nhello\r\n0\r\n\r\n'],
    ['a chunk that does not end', ['Transfer-Encoding: chunked'], '3\r\nhello\r\n0\r\n\r\n'],
  ])('is not seen behind %s: the connection ends', async (_, fields, body) => {
    const { asked, url, open: connected } = await listening()
    const socket = connected()
    const hidden = lines(`GET ${url}/hidden HTTP/1.1`, 'Host: a', '')
    socket.write(lines(`POST ${url}/seen HTTP/1.1`, 'Host: a', ...fields, '') + body + hidden)
    const [answer, ...others] = answersIn(await untilClosed(socket))
    expect([answer?.status, others]).toEqual([400, []])
    expect(asked.filter((each) => each.includes('hidden'))).toEqual([])
  })

  it('is seen where one may be: requests behind each other are answered in order, each answer signed for its own', async () => {
    const { asked, url, open: connected } = await listening()
    const socket = connected()
    const chunked = lines(`POST ${url}/2 HTTP/1.1`, 'Host: a', 'Transfer-Encoding: chunked', '')
    socket.write(
      [
        lines(`POST ${url}/1?a=%41 HTTP/1.1`, 'Host: a', 'Content-Length: 5', ''),
        'hello',
        `${chunked}3;ignored=yes\r\nwor\r\n2\r\nld\r\n0\r\nX-Trailer: b\r\n\r\n`,
        lines(`GET http://another.example${url}/3?b HTTP/1.1`, 'Host: a', 'Connection: close', ''),
      ].join(''),
    )
    const answers = answersIn(await untilClosed(socket))
    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [200, 'you asked /1?a=%41'],
      [200, 'you asked /2'],
      [200, 'you asked /3?b'],
    ])
    expect([...asked].sort()).toEqual(['GET /3?b ', 'POST /1?a=%41 hello', 'POST /2 world'])
    const sent = [
      { method: 'POST', uri: '/1?a=%41', body: 'hello' },
      { method: 'POST', uri: '/2', body: 'world' },
      { method: 'GET', uri: '/3?b', body: '' },
    ]
    for (const [index, { headers, body }] of answers.entries()) {
      const signature = parseEngineSignature(headers.get('x-engine-signature') ?? '')
      const isSignedFor = sent.map(({ body: asked, ...request }) => {
        const { contentType, block } = {
          contentType: headers.get('content-type') ?? '',
          block: Number(headers.get('x-engine-block')),
        }
        const parts = { chainId: '31337', contract: CONTRACT, engine: ENGINE, block }
        const response = { status: 200, contentType, bodyDigest: digest(body) }
        const asWas = { ...request, authorization: '', bodyDigest: digest(asked) }
        return signature !== undefined && verifyResponse({ ...parts, request: asWas, response }, signature)
      })
      expect(isSignedFor).toEqual(sent.map((_, other) => other === index))
    }
  })
})

describe('somebody who sends a byte now and then', () => {
  it.each([
    ['of the header', 'GET / HTTP/1.1\r\nHost: a\r\nX-One: '],
    ['of the body', `POST /offchain/${CONTRACT}/slow HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n`],
  ])('%s is not waited for longer than the time that a request has; others are served meanwhile', async (_, begin) => {
    const {
      asked,
      url,
      open: connected,
    } = await listening((server) => {
      expect(server.requestTimeout).toBe(60_000)
      expect(server.headersTimeout).toBeLessThanOrEqual(60_000)
      // The limits as configured, in seconds of this test.
      Object.assign(server, { requestTimeout: 1500, headersTimeout: 1500, connectionsCheckingInterval: 50 })
    })
    const slow = Array.from({ length: 20 }, () => connected())
    const ends = slow.map((socket) => untilClosed(socket))
    for (const socket of slow) socket.write(begin)
    const dripping = setInterval(() => {
      for (const socket of slow) if (socket.writable) socket.write('a')
    }, 20)
    try {
      const quick = connected()
      quick.write(lines(`GET ${url}/quick HTTP/1.1`, 'Host: a', 'Connection: close', ''))
      expect(answersIn(await untilClosed(quick))).toMatchObject([{ status: 200, body: 'you asked /quick' }])
      for (const all of await Promise.all(ends)) expect(all).toMatch(/^(HTTP\/1.1 408 |$)/)
    } finally {
      clearInterval(dripping)
    }
    expect(asked).toEqual(['GET /quick '])
  })
})

function digest(value: string): Uint8Array {
  return createHash('sha256').update(value).digest()
}
