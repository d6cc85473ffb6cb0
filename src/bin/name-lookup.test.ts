/** Names that strangers chose, asked of a name server on loopback that is silent about some of them. */
import { createSocket, type Socket } from 'node:dgram'
import { afterEach, describe, expect, it } from 'vitest'
import { lookUpAtNameServers, lookUpBySystem } from './name-lookup.ts'

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

/** Makes a response with one address of the question's type, with none ('') or with an error code. */
function responseTo(query: Buffer, answer: string | number): Buffer {
  const end = query.indexOf(0, 12) + 5
  const header = Buffer.from(query.subarray(0, 12))
  header.writeUInt16BE(0x8180 + (typeof answer === 'number' ? answer : 0), 2)
  header.fill(0, 6)
  const question = query.subarray(12, end)
  if (typeof answer === 'number' || answer === '') return Buffer.concat([header, question])
  header.writeUInt16BE(1, 6)
  const address = Buffer.from(answer.split('.').map(Number))
  const record = Buffer.from([0xc0, 12, ...question.subarray(-4), 0, 0, 0, 60, 0, address.length])
  return Buffer.concat([header, question, record, address])
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

  it('that nobody has is told from name servers that give no answer', async () => {
    const unknown = [await nameServer(() => NAME_ERROR)]
    expect(await codeOf(lookUpAtNameServers('list.example', { servers: unknown }))).toBe('ENOTFOUND')
    const empty = [await nameServer(() => '')]
    expect(await codeOf(lookUpAtNameServers('list.example', { servers: empty }))).toBe('ENOTFOUND')
    const silent = [await nameServer(() => undefined)]
    expect(await codeOf(lookUpAtNameServers('list.example', { servers: silent, limitMs: 100 }))).toBe('EAI_AGAIN')
  })
})

it('a name of this machine is found as the system finds it', async () => {
  expect((await lookUpBySystem('localhost')).map(({ address }) => address)).toContain('127.0.0.1')
})

function answerUnlessSilent(name: string, type: number): string | undefined {
  if (name.startsWith('silent')) return undefined
  return type === A ? '192.0.2.7' : ''
}
