import { type AddressInfo, connect, type Socket } from 'node:net'
import Fastify from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import type { App } from './app-type.ts'
import { limitUnreadResponses } from './unread-responses.ts'

const MIB = 1024 * 1024
/** More than the system takes of one connection that is not read. */
const ANSWER = 16 * MIB
const MAX = 40 * MIB
const PATIENT = { timeout: 20_000 }

const sockets: Socket[] = []
const apps: App[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await Promise.all(apps.splice(0).map((app) => app.close()))
})

async function started() {
  const app = Fastify({ forceCloseConnections: true }) as unknown as App
  apps.push(app)
  limitUnreadResponses(app, MAX)
  app.get('/', () => Buffer.alloc(ANSWER))
  let finish: () => void = () => undefined
  app.get('/slow', async () => {
    await new Promise<void>((resolve) => {
      finish = resolve
    })
    return Buffer.alloc(ANSWER)
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const accepted: Socket[] = []
  app.server.on('connection', (socket: Socket) => accepted.push(socket))
  const isOpen = () => accepted.map(({ destroyed }) => !destroyed)
  return { url: `http://127.0.0.1:${port}`, port, isOpen, finish: () => finish() }
}

/** Asks on a connection of its own, and reads nothing of the answer. */
function ask(port: number, path = '/'): Socket {
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  socket.pause().on('error', () => undefined)
  socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`)
  return socket
}

describe('answers that are not read', () => {
  it('hold so much memory together and no more: the oldest go, and who reads is answered', async () => {
    const { url, port, isOpen } = await started()
    ask(port)
    await expect.poll(isOpen, PATIENT).toEqual([true])
    ask(port)
    await expect.poll(isOpen, PATIENT).toEqual([true, true])
    ask(port)
    await expect.poll(isOpen, PATIENT).toEqual([false, true, true])
    const answer = await fetch(url)
    expect((await answer.arrayBuffer()).byteLength).toBe(ANSWER)
    expect(isOpen()).toEqual([false, false, true, true])
  })

  it('do not count for clients that have gone before the answer', async () => {
    const { port, isOpen, finish } = await started()
    ask(port)
    await expect.poll(isOpen, PATIENT).toEqual([true])
    for (const others of [[false], [false, false], [false, false, false]]) {
      const client = ask(port, '/slow')
      await expect.poll(isOpen, PATIENT).toEqual([true, ...others.slice(1), true])
      client.destroy()
      await expect.poll(isOpen, PATIENT).toEqual([true, ...others])
      finish()
    }
    await fetch(`http://127.0.0.1:${port}/missing`)
    expect(isOpen()[0]).toBe(true)
  })

  it('count no more once they were read', async () => {
    const { url, port, isOpen } = await started()
    ask(port)
    await expect.poll(isOpen, PATIENT).toEqual([true])
    for (let count = 0; count < 5; count++) {
      const answer = await fetch(url)
      expect((await answer.arrayBuffer()).byteLength).toBe(ANSWER)
    }
    expect(isOpen()[0]).toBe(true)
  })
})
