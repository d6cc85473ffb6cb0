import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate as immediately } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import type { App } from './app-type.ts'
import { acceptInOnePass } from './close-listener.ts'
import { addCommonRoutes } from './common-routes.ts'
import { createServer } from './server.ts'

const apps: App[] = []
afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())))

function makeServer(): App {
  const app = createServer({
    random: randomBytes,
    requestTimeoutMs: 1000,
    describeBrokenRequest: ({ code }) => ({
      status: 400,
      title: 'Bad Request',
      headers: { 'x-code': code },
      body: '¿what is this?',
    }),
    answerUnroutableRequest: (_request, reply) => void reply.code(404).send('unreadable'),
  })
  apps.push(app)
  return app
}

/** Stands between two parts of what is sent: the second is sent when something was answered. */
const ANSWERED = Symbol('answered')
type Part = string | typeof ANSWERED

/**
 * Starts the server, and returns everything that it answers to these bytes until it closes the connection. Each part is
 * sent when the server has read the one before.
 */
async function answerTo(app: App, parts: readonly Part[], onSent = (): void => undefined): Promise<string> {
  await app.listen({ port: 0, host: '127.0.0.1' })
  const accepted = once(app.server, 'connection')
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  let text = ''
  socket
    .on('error', () => undefined)
    .on('data', (bytes) => {
      text += String(bytes)
    })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  const [peer] = (await accepted) as [Socket]
  let sent = 0
  for (const part of parts) {
    if (part !== ANSWERED) {
      socket.write(part)
      sent += part.length
    }
    const isAwaited = () => (part === ANSWERED ? text === '' : peer.bytesRead < sent)
    while (isAwaited() && !peer.destroyed) await immediately()
  }
  onSent()
  await closed
  return text
}

describe('the frame of a server', () => {
  it('runs none of the requests that were read together with the one for which the connection was ended', async () => {
    const app = makeServer()
    let runs = 0
    app.get('/', async () => {
      runs += 1
      await new Promise((resolve) => setImmediate(resolve))
      return { status: 'ok' }
    })
    expect(await answerTo(app, ['GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(40)])).toBe('')
    await app.close()
    expect(runs).toBeLessThanOrEqual(1)
  })

  it.each([
    [16, 16],
    [17, 0],
  ])('of %i requests that were read together answers %i', async (count, answered) => {
    const app = makeServer()
    app.get('/', async () => {
      await immediately()
      return 'answered'
    })
    const request = (header = '') => `GET / HTTP/1.1\r\nHost: a\r\n${header}\r\n`
    const text = await answerTo(app, [request().repeat(count - 1) + request('Connection: close\r\n')])
    expect(text.match(/HTTP\/1\.1 200 /g) ?? []).toHaveLength(answered)
  })

  it('has a service say what it answers to bytes that are not a request, and closes the connection', async () => {
    expect(await answerTo(makeServer(), ['hello\r\n\r\n'])).toEqual(
      expect.stringMatching(
        /^HTTP\/1\.1 400 Bad Request\r\nx-code: HPE_INVALID_METHOD\r\nx-request-id: [\w-]{16}\r\nx-content-type-options: nosniff\r\ncache-control: no-store\r\ncontent-length: 15\r\nconnection: close\r\n\r\n¿what is this\?$/,
      ),
    )
  })

  it.each([
    ['without a Host header', 'GET / HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['that expects what no server has', 'GET / HTTP/1.1\r\nHost: a\r\nExpect: x\r\nConnection: close\r\n\r\n'],
  ])('has a service answer a request %s', async (_, request) => {
    const app = makeServer()
    app.get('/', () => 'answered')
    expect(await answerTo(app, [request])).toMatch(/^HTTP\/1\.1 200 .*answered$/s)
  })

  describe('with bytes that are not a request behind others', () => {
    const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
    const post = (body: string) =>
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n${body}`
    /** Returns the statuses of everything that the server answers; it answers GET when all parts were sent. */
    const statusesOf = async (parts: readonly Part[]) => {
      let onSent = (): void => undefined
      const allSent = new Promise<void>((resolve) => {
        onSent = resolve
      })
      const app = makeServer()
      app.get('/', () => allSent.then(() => 'slow'))
      app.post('/', () => 'posted')
      app.post('/early', { onRequest: (_request, reply) => void reply.code(401).send('no') }, () => '')
      const text = await answerTo(app, parts, onSent)
      return [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))
    }

    it.each([
      ['after one request', [`${GET}hello\r\n\r\n`], [200, 400]],
      ['after several', [`${GET}${GET}${GET}hello\r\n\r\n`], [200, 200, 200, 400]],
      ['and are followed by more', [`${GET}hello\r\n\r\n`, GET, 'hello'], [200, 400]],
      ['in the body of a request', [post('what\r\n')], [400]],
      ['in the body of a later request', [GET + post('what\r\n')], [200, 400]],
      ['behind a request that closes the connection', [`${GET.trim()}\r\nConnection: close\r\n\r\nhello`], [200]],
      ['in the body of a request that has its answer', [post('').replace('/', '/early'), ANSWERED, 'what\r\n'], [401]],
      ['in the body of a request that gets its answer in turn', [GET + post('what').replace('/', '/%zz')], [200, 404]],
    ] as const)('answers in turn, once, and closes the connection: %s', async (_, parts, statuses) => {
      expect(await statusesOf(parts)).toEqual(statuses)
    })
  })

  it('has a service answer a target that the router cannot read', async () => {
    const { statusCode, body } = await makeServer().inject('/%zz')
    expect([statusCode, body]).toEqual([404, 'unreadable'])
  })
})

describe('a server that stops listening', () => {
  it('takes in the connections that wait, holds their requests, answers them, and lets no other in', async () => {
    const app = makeServer()
    app.get('/', () => ({ isListening: app.server.listening }))
    await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as AddressInfo
    const answers = Array.from({ length: 20 }, async () => {
      const socket = connect(port, '127.0.0.1')
      socket.write('GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
      return Buffer.concat((await socket.toArray()) as Buffer[]).toString()
    })
    // The system has made the connections, and the event loop has not seen them yet.
    await app.connections.closeListener(acceptInOnePass)
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/^HTTP\/1.1 200 .*{"isListening":false}$/s)
    const error = (await once(connect(port, '127.0.0.1'), 'error')) as NodeJS.ErrnoException[]
    expect(error[0]?.code).toBe('ECONNREFUSED')
  })
})

describe('the routes of every server', () => {
  it('say whether it can do its work, and refuse as the service does while it stops', async () => {
    const app = makeServer()
    const state = { problem: '' }
    addCommonRoutes(app, {
      checkReady: () => (state.problem === '' ? Promise.resolve() : Promise.reject(new Error(state.problem))),
      makeStoppingRefusal: () => new Error('stopping'),
      makeOpenApiText: () => '{"openapi":"3.1.0"}',
    })
    app.setErrorHandler((error: Error, _request, reply) => reply.code(503).send(error.message))
    const answers = async () => {
      const all = await Promise.all(['/health/live', '/health/ready'].map((url) => app.inject(url)))
      return all.map(({ statusCode, body }) => [statusCode, body])
    }
    const ok = [200, '{"status":"ok"}']
    expect(await answers()).toEqual([ok, ok])
    state.problem = 'no room'
    expect(await answers()).toEqual([ok, [503, 'no room']])
    app.connections.endAfterAnswers()
    expect(await answers()).toEqual([ok, [503, 'stopping']])
    expect((await app.inject('/openapi')).json()).toEqual({ openapi: '3.1.0' })
  })
})
