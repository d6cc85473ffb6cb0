import { type AddressInfo, connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import type { App } from './app-type.ts'
import { createMetricsServer } from './metrics-server.ts'

const apps: App[] = []
afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())))

/** Starts a server of metrics, whose limits of time are those of this test. */
async function listening(): Promise<number> {
  const app = await createMetricsServer({
    contentType: 'text/plain',
    metrics: () => Promise.resolve('a'.repeat(4_000_000)),
  })
  apps.push(app)
  expect(app.server.requestTimeout).toBe(10_000)
  expect(app.server.timeout).toBe(70_000)
  Object.assign(app.server, { requestTimeout: 300, headersTimeout: 300, connectionsCheckingInterval: 50, timeout: 300 })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return (app.server.address() as AddressInfo).port
}

describe('the connection of somebody', () => {
  it.each([
    ['who sends nothing', '', false],
    ['who sends no body', 'POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\na', false],
    ['who sends a body now and then', 'POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 9999\r\n\r\na', true],
    ['who does not read', 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(30), false],
  ])('%s is closed', async (_, bytes, goesOn) => {
    const socket = connect(await listening(), '127.0.0.1')
    const closed = new Promise((resolve) => socket.on('error', () => undefined).once('close', resolve))
    socket.write(bytes)
    if (!bytes.startsWith('GET')) socket.resume()
    // A client that does not read only notices that it was disconnected when it writes.
    const more = setInterval(() => {
      if (goesOn || bytes.startsWith('GET')) socket.write('a')
    }, 50)
    try {
      await closed
    } finally {
      clearInterval(more)
      socket.destroy()
    }
  })
})

it('many requests at once read the metrics once', async () => {
  let reads = 0
  const app = await createMetricsServer({
    contentType: 'text/plain',
    metrics: async () => {
      reads++
      await setTimeout(200)
      return `reads ${reads}`
    },
  })
  apps.push(app)
  const scrapeAll = () => Promise.all(Array.from({ length: 20 }, () => app.inject('/metrics')))
  expect(new Set((await scrapeAll()).map(({ body }) => body))).toEqual(new Set(['reads 1']))
  expect(new Set((await scrapeAll()).map(({ body }) => body))).toEqual(new Set(['reads 2']))
})
