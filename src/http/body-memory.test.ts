import { type AddressInfo, connect } from 'node:net'
import Fastify from 'fastify'
import { afterEach, describe, expect, it } from 'vitest'
import type { App } from './app-type.ts'
import { type BodyMemory, createBodyMemory, limitBodyMemory, MIN_PART_WEIGHT } from './body-memory.ts'

const MIB = 1024 * 1024
const apps: App[] = []
afterEach(() => Promise.all(apps.splice(0).map((app) => app.close())))

describe('the memory of bodies', () => {
  it.each([
    ['a stranger', ''],
    ['an application', 'app'],
  ])('keeps nothing of %s that went away while its session was looked up', async (_, label) => {
    const { port, memory, owners, lookedUp, arrived, errors } = await started(label)
    const socket = connect(port, '127.0.0.1')
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: 9\r\n\r\nhalf')
    const request = await arrived
    const closed = new Promise((resolve) => request.once('close', resolve))
    socket.destroy()
    await closed
    lookedUp()
    await new Promise((resolve) => setImmediate(resolve))
    expect([owners, memory.countBytes(), errors]).toEqual([[], 0, []])
  })

  it('takes the reset of a connection, whose address is then unknown, for no error', async () => {
    const { port, owners, lookedUp, errors } = await started('')
    lookedUp()
    for (let count = 0; count < 50; count++) {
      const socket = connect(port, '127.0.0.1')
      await new Promise<void>((resolve) => socket.once('connect', resolve))
      socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ncontent-length: 4\r\n\r\nbody')
      socket.resetAndDestroy()
    }
    await expect.poll(() => owners.length + errors.length).toBeGreaterThan(0)
    expect(errors).toEqual([])
  })

  it('is shared out by API key, also where several keys have one label', async () => {
    const { port, owners, lookedUp } = await started('app')
    lookedUp()
    for (const key of ['first', 'second', 'first']) {
      const socket = connect(port, '127.0.0.1')
      const type = 'content-type: text/plain\r\ncontent-length: 9'
      socket.write(`POST / HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${key}\r\n${type}\r\n\r\nhalf`)
    }
    await expect.poll(() => owners.length).toBe(3)
    expect(new Set(owners).size).toBe(2)
  })

  it('counts the parts of a body beside their bytes, and refuses thousands of parts of a byte', async () => {
    const { port, memory, lookedUp } = await started('', 16 * MIB)
    lookedUp()
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    socket.on('data', (text) => {
      answer += String(text)
    })
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const head = 'POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n'
    socket.write(head + '1\r\na\r\n'.repeat(2000))
    await expect.poll(() => memory.countBytes()).toBe(2000 * 512)
    socket.write('1\r\na\r\n')
    await closed
    expect(answer).toMatch(/^HTTP\/1.1 400 .*send larger chunks/s)
    expect(memory.countBytes()).toBe(0)
  })

  it('keeps nothing of a body whose rest comes after its refusal', async () => {
    const { port, memory, lookedUp, errors } = await started('', MIB, 20_000)
    lookedUp()
    const socket = connect(port, '127.0.0.1')
    const closed = new Promise((resolve) => socket.once('close', resolve))
    const refused = new Promise((resolve) => socket.once('data', resolve))
    socket.write('POST / HTTP/1.1\r\nhost: a\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n')
    socket.end(`${chunk(15_000).repeat(70)}0\r\n\r\n`)
    expect(String(await refused)).toMatch(/^HTTP\/1.1 413 /)
    await closed
    expect([errors.length, memory.countBytes()]).toEqual([1, 0])
  })

  it('gives no room of a body that has come whole to another, as long as its request is answered', async () => {
    const { port, memory, lookedUp, answerSlowly } = await started('app', 16 * 1024)
    lookedUp()
    const post = (key: string, path: string, length: number) =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'text/plain' },
        body: 'a'.repeat(length),
      })
    const first = post('first', '/slow', 12 * 1024)
    await expect.poll(() => memory.countBytes()).toBe(12 * 1024)
    const second = await post('second', '/', 8 * 1024)
    expect(await second.json()).toMatchObject({ message: expect.stringMatching(/too many requests/) as string })
    expect(memory.countBytes()).toBe(12 * 1024)
    answerSlowly()
    expect((await first).status).toBe(200)
    await expect.poll(() => memory.countBytes()).toBe(0)
  })

  it('makes room for a sender over its share by the stalled bodies of that sender alone', () => {
    const clock = { at: 0 }
    const memory = createBodyMemory(bounds(64, 16), () => new Date(clock.at))
    const dropped: string[] = []
    for (const owner of ['a', 'b']) memory.begin(owner, () => dropped.push(owner)).addPart(part(16))
    clock.at = 3000
    expect([memory.begin('a', () => undefined).addPart(part(1)), dropped]).toEqual([undefined, ['a']])
  })

  it('takes no body for stalled of which parts still arrive', () => {
    const clock = { at: 0 }
    const memory = createBodyMemory(bounds(16, 16), () => new Date(clock.at))
    const dropped: string[] = []
    const [slow, stalled] = ['slow', 'stalled'].map((name) => memory.begin(name, () => dropped.push(name)))
    slow?.addPart(part(8))
    stalled?.addPart(part(4))
    clock.at = 1500
    slow?.addPart(part(1))
    clock.at = 3000
    expect([memory.begin('next', () => undefined).addPart(part(7)), dropped]).toEqual([undefined, ['stalled']])
  })

  it('that two senders fill by drops has room for a third, and drops the oldest body of the one with the most', () => {
    const memory = createBodyMemory(bounds(64, 32), () => new Date(0))
    const dropped: string[] = []
    const begin = (owner: string, name: string) => memory.begin(owner, () => dropped.push(name))
    begin('a', 'a1').addPart(part(16))
    begin('a', 'a2').addPart(part(16))
    begin('b', 'b1').addPart(part(8))
    begin('b', 'b2').addPart(part(23))
    const third = begin('c', 'c1')
    expect([third.addPart(part(1)), dropped]).toEqual([undefined, []])
    expect([third.addPart(part(1)), dropped]).toEqual([undefined, ['a1']])
    third.addPart(part(15))
    // A sender makes no room for itself at the cost of those that have less.
    expect([begin('a', 'a3').addPart(part(16)), dropped]).toEqual(['share', ['a1']])
  })

  it('is full for senders that each have little of it, and tells those that have much of it that they have', () => {
    const clock = { at: 0 }
    const memory = createBodyMemory(bounds(64, 32), () => new Date(clock.at))
    const reasons: string[] = []
    const begin = (owner: string) => memory.begin(owner, (reason) => reasons.push(`${owner} ${reason}`))
    for (const owner of ['a', 'b', 'c', 'd']) begin(owner).addPart(part(16))
    begin('e').addPart(part(1))
    expect(reasons).toEqual(['a full'])
    clock.at = 3000
    begin('f').addPart(part(16))
    expect(reasons.slice(1)).toEqual(['b full', 'c full', 'd full', 'e full'])
    for (let count = 0; count < 4; count += 1) begin('g').addPart(part(8))
    clock.at = 6000
    begin('g').addPart(part(1))
    // Also the last ones, whose sender had little left when they were dropped.
    expect(reasons.slice(5)).toEqual(['g share', 'g share', 'g share', 'g share'])
  })
})

const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}\r\n`
const bounds = (total: number, perOwner: number) => ({
  total: total * MIN_PART_WEIGHT,
  perOwner: perOwner * MIN_PART_WEIGHT,
})
/** Makes a part that counts as much as this many of the smallest. */
const part = (weight: number) => new Uint8Array(weight * MIN_PART_WEIGHT)

/** Starts a server that looks something up before it reads a body. */
async function started(label: string, bytes = MIB, bodyLimit = MIB) {
  const errors: unknown[] = []
  const app = Fastify({ forceCloseConnections: true, bodyLimit }) as unknown as App
  apps.push(app)
  const owners: string[] = []
  const counted = createBodyMemory({ total: bytes, perOwner: bytes }, () => new Date())
  const memory: BodyMemory = {
    ...counted,
    begin: (owner, drop) => {
      owners.push(owner)
      return counted.begin(owner, drop)
    },
  }
  app.decorateRequest('apiKeyLabel', label)
  app.setErrorHandler((error, _, reply) => {
    errors.push(error)
    return reply.send(error)
  })
  limitBodyMemory(app, () => new Date(), memory)
  let lookedUp = (): void => undefined
  const lookUp = new Promise<void>((resolve) => {
    lookedUp = resolve
  })
  let arrive: (request: NodeJS.EventEmitter) => void = () => undefined
  const arrived = new Promise<NodeJS.EventEmitter>((resolve) => {
    arrive = resolve
  })
  app.addHook('onRequest', async ({ raw }) => {
    arrive(raw)
    await lookUp
  })
  app.post('/', () => ({}))
  let answerSlowly = (): void => undefined
  const slowAnswer = new Promise<void>((resolve) => {
    answerSlowly = resolve
  })
  app.post('/slow', async () => {
    await slowAnswer
    return {}
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as AddressInfo
  return { port, memory, owners, lookedUp: () => lookedUp(), answerSlowly: () => answerSlowly(), arrived, errors }
}
