/**
 * Tests that the console passes on as fast as the browser reads, as soon as it comes, and not beyond the end of either
 * side.
 */
import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect } from 'node:net'
import { expect, it } from 'vitest'
import { listenInTest } from '../../../test/support/local-server.ts'
import { random } from '../effects.ts'
import { createConsoleServer } from './server.ts'

/** Starts a console before an issuer, with somebody signed in. */
async function signedIn(issuerPort: number, fetchFrom: typeof fetch = fetch) {
  const { server, signInPath } = createConsoleServer({
    services: { issuer: { url: `http://127.0.0.1:${issuerPort}`, apiKey: 'a-key' } },
    files: new Map(),
    random,
    now: () => new Date(),
    fetch: fetchFrom,
    report: () => undefined,
  })
  const port = await listenInTest(server)
  const entered = await fetch(`http://127.0.0.1:${port}${signInPath}`)
  const [, cookie = '', base = ''] = /^([^;]*); Path=(\/[^;]+)\//.exec(entered.headers.get('set-cookie') ?? '') ?? []
  await entered.text()
  const ask = (path: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path: `${base}/api/issuer${path}`, headers: { cookie } }
      httpRequest(options, resolve).on('error', reject).end()
    })
  return { server, port, base, cookie, ask }
}

const CHUNK = new Uint8Array(64 * 1024)
const CHUNKS = 500

it('says what to do when the service refuses its key', async () => {
  const service = await listenInTest(
    createServer((_, response) => response.writeHead(401).end('{"error":"unauthorized"}')),
  )
  const { ask } = await signedIn(service)
  const response = await ask('/operations/overview')
  let text = ''
  for await (const chunk of response) text += String(chunk)
  expect([response.statusCode, JSON.parse(text)]).toEqual([
    401,
    {
      error: 'unauthorized',
      error_description: expect.stringMatching(
        /refuses the API key of this console; start the console again .*VOUCHSAFE_ISSUER_API_KEY$/,
      ) as string,
    },
  ])
})

it('passes on the key by which a service knows a repeated request again', async () => {
  const keys: unknown[] = []
  const service = await listenInTest(
    createServer((request, response) => {
      keys.push(request.headers['idempotency-key'])
      response.end('{}')
    }),
  )
  const { port, base, cookie } = await signedIn(service)
  const url = `http://127.0.0.1:${port}${base}/api/issuer/issuance/oid4vci/new-session`
  for (const headers of [{ 'idempotency-key': 'order-4711' }, {}]) {
    const origin = `http://127.0.0.1:${port}`
    const init = {
      method: 'POST',
      body: '{}',
      headers: { cookie, origin, 'content-type': 'application/json', ...headers },
    }
    expect((await fetch(url, init)).status).toBe(200)
  }
  expect(keys).toEqual(['order-4711', undefined])
})

it('keeps no more of an answer than one step while the browser does not read', async () => {
  let sent = 0
  let unsent = 0
  let answer: ServerResponse | undefined
  const endless = (): Promise<Response> => {
    const pull = (controller: ReadableStreamDefaultController): void => {
      unsent = Math.max(unsent, answer?.writableLength ?? 0)
      if (sent === CHUNKS) controller.close()
      else controller.enqueue(CHUNK)
      sent += 1
    }
    return Promise.resolve(new Response(new ReadableStream({ pull }, { highWaterMark: 0 })))
  }
  const { server, ask } = await signedIn(1, endless)
  server.on('request', (_, response: ServerResponse) => (answer = response))
  const response = await ask('/issuance/oid4vci/sessions')
  let length = 0
  for await (const chunk of response as AsyncIterable<Uint8Array>) length += chunk.length
  expect(length).toBe(CHUNK.length * CHUNKS)
  expect(unsent).toBeLessThan(4 * CHUNK.length)
})

/** Starts an issuer that sends the first event of a stream, and leaves it open. */
async function streaming() {
  const streams = new Set<ServerResponse>()
  const issuer = createServer((_, response) => {
    streams.add(response)
    response.on('close', () => streams.delete(response))
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('event: status\ndata: {}\n\n')
  })
  return { streams, ...(await signedIn(await listenInTest(issuer))) }
}

it('passes an event on while the stream stays open, and ends the stream of the service when the browser leaves', async () => {
  const { ask, streams } = await streaming()
  const response = await ask('/issuance/oid4vci/events/abc')
  const first = await new Promise<Buffer>((resolve) => response.once('data', resolve))
  expect([response.headers['content-type'], first.toString()]).toEqual([
    'text/event-stream',
    'event: status\ndata: {}\n\n',
  ])
  expect(streams.size).toBe(1)
  response.destroy()
  await expect.poll(() => streams.size).toBe(0)
})

it('tells the browser at once that a stream is open, before any event', async () => {
  const silent = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  })
  const { ask } = await signedIn(await listenInTest(silent))
  expect((await ask('/issuance/oid4vci/events/abc')).statusCode).toBe(200)
})

it('ends although a browser follows a session and another keeps its request back', async () => {
  const { server, ask, streams, port, base, cookie } = await streaming()
  await ask('/issuance/oid4vci/events/abc')
  const half = connect(port, '127.0.0.1')
  half.on('error', () => undefined)
  half.write(`POST ${base}/api/issuer/issuance/oid4vci/new-session HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\n`)
  half.write(`origin: http://127.0.0.1:${port}\r\ncookie: ${cookie}\r\ncontent-length: 10\r\n\r\n`)
  const closed = new Promise((resolve) => server.close(resolve))
  server.closeAllConnections()
  await closed
  await expect.poll(() => streams.size).toBe(0)
})
