/** Names that strangers chose, asked of a name server on loopback that is silent about some of them. */
import { createSocket, type Socket } from 'node:dgram'
import { setImmediate } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { lookUpAtNameServers, lookUpBySystem, lookUpPrivateName } from './name-lookup.ts'

const A = 1
const NAME_ERROR = 3
const running: Socket[] = []
afterEach(() => {
  for (const socket of running.splice(0)) socket.close()
})

/** Starts a name server. `answerOf` gives the address of a name, an error code, or undefined for no answer at all. */
async function nameServer(answerOf: (name: string, type: number) => string | number | undefined): Promise<string> {
  const socket = createSocket('udp4')
  running.push(socket)
  socket.on('message', (query, { port, address }) => {
    const answer = answerOf(...questionOf(query))
    if (answer !== undefined) socket.send(responseTo(query, answer), port, address)
  })
  await new Promise<void>((resolve) => void socket.bind(0, '127.0.0.1', resolve))
  return `127.0.0.1:${socket.address().port}`
}

/** Reads the name and the type of the first question. RFC 1035 section 4.1.2. */
function questionOf(query: Buffer): [name: string, type: number] {
  const labels: string[] = []
  let at = 12
  for (let length = query.readUInt8(at); length > 0; length = query.readUInt8(at)) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length))
    at += 1 + length
  }
  return [labels.join('.'), query.readUInt16BE(at + 1)]
}

/** Makes a response with the addresses of the question's type, with none ('') or with an error code. */
function responseTo(query: Buffer, answer: string | number): Buffer {
  const end = query.indexOf(0, 12) + 5
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(0x8180 + (typeof answer === 'number' ? answer : 0), 2)
  header.fill(0, 6)
  const question = query.subarray(12, end)
  if (typeof answer === 'number' || answer === '') return Buffer.concat([header, question])
  const addresses = answer.split(' ').map((address) => address.split('.').map(Number))
  header.writeUInt16BE(addresses.length, 6)
  const records = addresses.map((address) =>
    Buffer.from([0xc0, 12, ...question.subarray(-4), 0, 0, 0, 60, 0, address.length, ...address]),
  )
  return Buffer.concat([header, question, ...records])
}

const codeOf = (lookUp: Promise<unknown>) =>
  lookUp.then(
    () => undefined,
    (error: unknown) => (error as NodeJS.ErrnoException).code,
  )

describe('a name that a stranger chose', () => {
  it('waits for no other that never gets an answer', async () => {
    const servers = [await nameServer((name, type) => answerUnlessSilent(name, type))]
    const silent = Array.from({ length: 50 }, (_, at) =>
      codeOf(lookUpAtNameServers(`silent${at}.example`, { servers, limitMs: 3000 })),
    )
    expect(await lookUpAtNameServers('list.example', { servers, limitMs: 2500 })).toEqual([
      { address: '192.0.2.7', family: 4 },
    ])
    expect(new Set(await Promise.all(silent))).toEqual(new Set(['EAI_AGAIN']))
  })

  it('has the addresses that came in time', async () => {
    const servers = [await nameServer((_, type) => (type === A ? '192.0.2.7' : undefined))]
    expect(await lookUpAtNameServers('list.example', { servers, limitMs: 300 })).toEqual([
      { address: '192.0.2.7', family: 4 },
    ])
  })

  it('has eight addresses of a family, however many its owner gives it', async () => {
    const servers = [await nameServer((_, type) => (type === A ? manyAddresses(200) : ''))]
    expect(await lookUpAtNameServers('list.example', { servers })).toHaveLength(8)
  })

  it('that nobody has is told from name servers that give no answer', async () => {
    const unknown = [await nameServer(() => NAME_ERROR)]
    expect(await codeOf(lookUpAtNameServers('list.example', { servers: unknown }))).toBe('ENOTFOUND')
    const empty = [await nameServer(() => '')]
    expect(await codeOf(lookUpAtNameServers('list.example', { servers: empty }))).toBe('ENOTFOUND')
    expect(await codeOf(lookUpAtNameServers(`${'a'.repeat(64)}.example`, { servers: unknown }))).toBe('ENOTFOUND')
    const silent = [await nameServer(() => undefined)]
    expect(await codeOf(lookUpAtNameServers('list.example', { servers: silent, limitMs: 100 }))).toBe('EAI_AGAIN')
  })
})

describe('a name that a stranger chose and that may be private', () => {
  it('is asked of the name servers, and of the system where they know none', async () => {
    const servers = [
      await nameServer((name, type) => (name === 'list.example' ? answerUnlessSilent(name, type) : NAME_ERROR)),
    ]
    const bySystem = (hostname: string) => Promise.resolve([{ address: `of ${hostname}`, family: 4 }])
    expect(await lookUpPrivateName('list.example', { servers }, bySystem)).toEqual([
      { address: '192.0.2.7', family: 4 },
    ])
    expect(await lookUpPrivateName('pc.local', { servers }, bySystem)).toEqual([{ address: 'of pc.local', family: 4 }])
  })

  it('takes one thread of the system at most, together with all others', async () => {
    const servers = [await nameServer(() => NAME_ERROR)]
    let running = 0
    let most = 0
    const bySystem = async (): Promise<never> => {
      running += 1
      most = Math.max(most, running)
      await setImmediate()
      running -= 1
      throw Object.assign(new Error('unknown'), { code: 'OF_SYSTEM' })
    }
    const names = Array.from({ length: 8 }, (_, at) => `pc${at}.local`)
    const codes = await Promise.all(names.map((name) => codeOf(lookUpPrivateName(name, { servers }, bySystem))))
    expect([new Set(codes), most]).toEqual([new Set(['OF_SYSTEM']), 1])
  })

  it('is not looked up by the system while eight others wait for it', async () => {
    const servers = [await nameServer(() => NAME_ERROR)]
    const endings: (() => void)[] = []
    const bySystem = () =>
      new Promise<never>(
        (_, reject) => void endings.push(() => reject(Object.assign(new Error(), { code: 'OF_SYSTEM' }))),
      )
    const names = Array.from({ length: 9 }, (_, at) => `pc${at}.local`)
    const looking = names.map((name) => codeOf(lookUpPrivateName(name, { servers }, bySystem)))
    expect(await Promise.race(looking)).toBe('ENOTFOUND')
    for (let ended = 0; ended < 8; ended += 1) {
      await expect.poll(() => endings.length).toBe(ended + 1)
      endings[ended]?.()
    }
    expect((await Promise.all(looking)).filter((code) => code === 'OF_SYSTEM')).toHaveLength(8)
  })
})

it('a name of this machine is found as the system finds it', async () => {
  expect((await lookUpBySystem('localhost')).map(({ address }) => address)).toContain('127.0.0.1')
})

function answerUnlessSilent(name: string, type: number): string | undefined {
  if (name.startsWith('silent')) return undefined
  return type === A ? '192.0.2.7' : ''
}

function manyAddresses(count: number): string {
  return Array.from({ length: count }, (_, at) => `192.0.2.${at}`).join(' ')
}

it('asks the system once for a name, however many wait for it', async () => {
  const [one, other] = [lookUpBySystem('localhost'), lookUpBySystem('localhost')]
  expect(other).toBe(one)
  await one
  const later = lookUpBySystem('localhost')
  expect(later).not.toBe(one)
  expect(await later).toEqual(await one)
})
