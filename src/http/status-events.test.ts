/** Tests the limits of streams of events with sockets and a status that the test holds. */
import { randomBytes } from 'node:crypto'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { pino } from 'pino'
import { afterEach, describe, expect, it } from 'vitest'
import { openEvents } from '../../test/support/event-stream.ts'
import { refuse } from '../protocol/error.ts'
import type { App } from './app-type.ts'
import { describeBrokenRequest, sendError, toProtocolError } from './error-response.ts'
import { createServer } from './server.ts'
import { createStatusEventHandler } from './status-events.ts'
import { limitUnreadResponses } from './unread-responses.ts'

const MIB = 1024 * 1024
const LIMITS = { streams: 3, pollMs: 10, milliseconds: 60_000, heartbeatMs: 60_000, unsentBytes: 64 * 1024 }
const SESSIONS: readonly string[] = ['there', 'elsewhere']
const PATIENT = { timeout: 20_000, interval: 10 }

const apps: App[] = []
const sockets: Socket[] = []
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy()
  await Promise.all(apps.splice(0).map((app) => app.close()))
})

/** Starts a service with the sessions, whose status is `status.value`. */
async function started(changes: Partial<typeof LIMITS> = {}, maxUnread?: number) {
  const status = { value: '' }
  const counts: number[] = []
  const reads: string[] = []
  const app = createServer({
    random: randomBytes,
    requestTimeoutMs: 30_000,
    describeBrokenRequest,
    answerUnroutableRequest: (_request, reply) => void reply.send(),
  })
  apps.push(app)
  limitUnreadResponses(app, maxUnread)
  app.setErrorHandler((error, request, reply) => sendError(toProtocolError(error, request), request, reply))
  const observer = {
    recordAnswer: () => undefined,
    recordRefusal: () => undefined,
    setOpenStreams: (open: number) => counts.push(open),
  }
  const read = (id: string) => {
    reads.push(id)
    if (!SESSIONS.includes(id) || status.value === 'gone') refuse('not_found', 'there is no such session')
    return Promise.resolve(status.value)
  }
  const source = { read, isFinal: (value: string) => value.startsWith('over') }
  const effects = { log: pino({ level: 'silent' }), observer }
  app.get('/:session_id', createStatusEventHandler(app, effects, source, { ...LIMITS, ...changes }))
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  return { app, status, counts, reads, port, url: `${url}/there`, elsewhere: `${url}/elsewhere`, other: `${url}/other` }
}

/** Opens a stream and never reads it. */
function openUnread(port: number): Socket {
  const socket = connect(port, '127.0.0.1').pause()
  sockets.push(socket)
  socket.on('error', () => undefined).write('GET /there HTTP/1.1\r\nhost: a\r\n\r\n')
  return socket
}

describe('streams of events', () => {
  it('are limited in number, and one that ends makes room for another', async () => {
    const { url, other, counts } = await started()
    const streams = await Promise.all([openEvents(url), openEvents(url), openEvents(url)])
    const refused = await openEvents(url)
    await refused.closed
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5'])
    expect(refused.text()).toMatch(/^\{"error":"temporarily_unavailable","error_description":"too many event streams/)
    streams[0].close()
    await expect.poll(() => counts.at(-1), PATIENT).toBe(2)
    for (let n = 0; n < 5; n += 1) {
      const unknown = await openEvents(other)
      await unknown.closed
      expect(unknown.status).toBe(404)
    }
    await expect.poll(() => counts.at(-1), PATIENT).toBe(2)
    const again = await openEvents(url)
    expect(again.status).toBe(200)
    for (const stream of [...streams, again]) stream.close()
    await expect.poll(() => counts.at(-1), PATIENT).toBe(0)
    expect(Math.max(...counts)).toBe(3)
  })

  it('of one session share their reads, and none is read when no stream is open', async () => {
    const pollMs = 50
    const { url, elsewhere, reads, counts } = await started({ pollMs })
    const began = performance.now()
    const streams = await Promise.all([openEvents(url), openEvents(url), openEvents(url)])
    const before = reads.length
    await expect.poll(() => reads.length - before, PATIENT).toBeGreaterThan(5)
    // A timer may fire a millisecond early.
    expect(reads.length - before).toBeLessThanOrEqual((performance.now() - began) / (pollMs - 1))
    for (const stream of streams) stream.close()
    await expect.poll(() => counts.at(-1), PATIENT).toBe(0)
    const readsOf = (id: string) => reads.filter((each) => each === id).length
    // A read may have been on its way; the stream of another session counts the rounds.
    const stream = await openEvents(elsewhere)
    await expect.poll(() => readsOf('elsewhere'), PATIENT).toBeGreaterThan(1)
    const [after, begin] = [readsOf('there'), readsOf('elsewhere')]
    await expect.poll(() => readsOf('elsewhere') - begin, PATIENT).toBeGreaterThan(3)
    expect(readsOf('there')).toBe(after)
    stream.close()
  })

  it('have a comment now and then, and close at their time limit without the event end', async () => {
    const { url } = await started({ heartbeatMs: 50, milliseconds: 300 })
    const stream = await openEvents(url)
    await stream.closed
    expect(stream.text()).toMatch(/^retry: 2000\nevent: status\ndata: ""\n\n(:\n\n){1,6}$/)
  })

  it('end when the session is over or gone', async () => {
    const { url, status } = await started()
    for (const value of ['over', 'gone']) {
      status.value = ''
      const stream = await openEvents(url)
      await stream.next(0)
      status.value = value
      await stream.closed
      expect(stream.events().at(-1)?.event).toBe('end')
    }
  })

  it('send a final status that is larger than what may be unsent, and then the end', async () => {
    const { url, status } = await started()
    const streams = [await openEvents(url)]
    await streams[0]?.next(0)
    status.value = `over ${'a'.repeat(MIB)}`
    streams.push(await openEvents(url))
    for (const stream of streams) {
      await stream.closed
      expect(
        stream
          .events()
          .map(({ event }) => event)
          .slice(-2),
      ).toEqual(['status', 'end'])
      expect(stream.text()).toContain(status.value)
    }
  })

  it('are closed for a client that does not read, while others go on', async () => {
    const { url, port, status, counts } = await started({ unsentBytes: 64 * 1024 })
    openUnread(port)
    const reader = await openEvents(url)
    await expect.poll(() => counts.at(-1), PATIENT).toBe(2)
    for (let n = 0; n < 40 && counts.at(-1) === 2; n += 1) {
      status.value = `${n} ${'a'.repeat(MIB)}`
      await reader.next(n + 1)
    }
    await expect.poll(() => counts.at(-1), PATIENT).toBe(1)
    expect(reader.response.destroyed).toBe(false)
    reader.close()
  })

  it('make room in the memory of unread answers', async () => {
    const { port, status, counts, reads } = await started({ unsentBytes: 100 * MIB }, 20 * MIB)
    openUnread(port)
    openUnread(port)
    await expect.poll(() => counts.at(-1), PATIENT).toBe(2)
    // The system takes some of each.
    for (let n = 0; n < 30 && counts.at(-1) === 2; n += 1) {
      status.value = `${n} ${'a'.repeat(2 * MIB)}`
      const before = reads.length
      await expect.poll(() => reads.length - before > 1 || counts.at(-1) === 1, PATIENT).toBe(true)
    }
    expect(counts.at(-1)).toBe(1)
  })

  it('end at once when the server stops, also those that are not read', async () => {
    const { app, url, port, status, counts } = await started({ unsentBytes: 100 * MIB, milliseconds: 600_000 })
    openUnread(port)
    const reader = await openEvents(url)
    await expect.poll(() => counts.at(-1), PATIENT).toBe(2)
    for (let n = 0; n < 8; n += 1) {
      status.value = `${n} ${'a'.repeat(2 * MIB)}`
      await reader.next(n + 1)
    }
    // Without a limit of their own, the close would wait for longer than a test may take.
    await app.close()
    apps.pop()
    await reader.closed
  })

  it('that were asked for on one connection are answered one after the other', async () => {
    const { port, status, counts, reads } = await started()
    const socket = openUnread(port)
    socket.write('GET /there HTTP/1.1\r\nhost: a\r\n\r\n')
    let text = ''
    socket.on('data', (part) => (text += String(part))).resume()
    await expect.poll(() => text, PATIENT).toContain('event: status')
    // The second request is with the server long before the first stream has been read ten times more.
    const before = reads.length
    await expect.poll(() => reads.length - before, PATIENT).toBeGreaterThan(10)
    expect(counts).toEqual([1])
    status.value = 'over'
    await expect.poll(() => socket.destroyed || socket.readableEnded, PATIENT).toBe(true)
    expect(text.match(/HTTP\/1\.1 200/g)).toHaveLength(1)
  })
})
