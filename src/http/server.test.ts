import { randomBytes } from 'node:crypto'
import { type AddressInfo, connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { App } from './app-type.ts'
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
      body: 'what is this?',
    }),
    answerUnreadableRequest: (_request, reply) => void reply.code(404).send('unreadable'),
  })
  apps.push(app)
  return app
}

async function listen(app: App): Promise<number> {
  await app.listen({ port: 0, host: '127.0.0.1' })
  return (app.server.address() as AddressInfo).port
}

/** Returns everything that the server answers to these bytes, sent part by part, until it closes the connection. */
function answerTo(port: number, ...parts: string[]): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const sendAll = async () => {
      for (const part of parts) {
        socket.write(part)
        await setTimeout(5)
      }
    }
    const socket = connect(port, '127.0.0.1', () => void sendAll())
    socket.on('data', (part) => {
      text += String(part)
    })
    socket.on('error', () => undefined).on('close', () => resolve(text))
  })
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
    const port = await listen(app)
    expect(await answerTo(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(40))).toBe('')
    await app.close()
    expect(runs).toBeLessThanOrEqual(1)
  })

  it('has a service say what it answers to bytes that are not a request, and closes the connection', async () => {
    const port = await listen(makeServer())
    expect(await answerTo(port, 'hello\r\n\r\n')).toBe(
      'HTTP/1.1 400 Bad Request\r\nx-code: HPE_INVALID_METHOD\r\ncontent-length: 13\r\nconnection: close\r\n\r\nwhat is this?',
    )
  })

  describe('with bytes that are not a request behind others', () => {
    const GET = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'
    const post = (body: string) =>
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n${body}`
    /** The statuses of everything that the server answers. */
    const statusesOf = async (port: number, ...parts: string[]) =>
      [...(await answerTo(port, ...parts)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status))

    let port = 0
    beforeEach(async () => {
      const app = makeServer()
      app.get('/', async () => {
        await setTimeout(20)
        return 'slow'
      })
      app.post('/', () => 'posted')
      app.post('/early', { onRequest: (_request, reply) => void reply.code(401).send('no') }, () => '')
      port = await listen(app)
    })

    it.each([
      ['after one request', [`${GET}hello\r\n\r\n`], [200, 400]],
      ['after several', [`${GET}${GET}${GET}hello\r\n\r\n`], [200, 200, 200, 400]],
      ['and are followed by more', [`${GET}hello\r\n\r\n`, GET, 'hello'], [200, 400]],
      ['in the body of a request', [post('what\r\n')], [400]],
      ['in the body of a later request', [GET + post('what\r\n')], [200, 400]],
      ['behind a request that closes the connection', [`${GET.trim()}\r\nConnection: close\r\n\r\nhello`], [200]],
      ['in the body of a request that has its answer', [post('').replace('/', '/early'), 'what\r\n'], [401]],
      ['in the body of a request that gets its answer in turn', [GET + post('what').replace('/', '/%zz')], [200, 404]],
    ] as const)('answers in turn, once, and closes the connection: %s', async (_, parts, statuses) => {
      expect(await statusesOf(port, ...parts)).toEqual(statuses)
    })
  })

  it('has a service answer a target that the router cannot read', async () => {
    const { statusCode, body } = await makeServer().inject('/%zz')
    expect([statusCode, body]).toEqual([404, 'unreadable'])
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
