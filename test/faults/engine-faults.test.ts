/**
 * Components and callers that do wrong, each to a running engine: a clear answer, nothing kept, and nobody else
 * notices.
 */
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { availableParallelism } from 'node:os'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Address } from '../../src/offchain/address.ts'
import { componentFile, deployComponent, type Place, place } from '../support/engine-contracts.ts'
import { FAULTY } from '../support/engine-faulty.ts'
import {
  type EngineProcess,
  eventually,
  makeDirectory,
  makeEngine,
  waitUntilServed,
} from '../support/engine-process.ts'
import { faults, longFault } from '../support/faults.ts'

const STARTS_MS = 600_000
const MIB = 1024 * 1024
/** The number of workers, which src/bin/engine/engine-kind.ts counts, and one more. */
const AT_ONCE = Math.max(2, Math.min(8, availableParallelism())) + 1

let at: Place
let engine: EngineProcess
let faulty: Address
let other: Address
let inside: Server
let asked = 0

beforeAll(async () => {
  inside = createServer((_request, response) => {
    asked++
    response.end('secret')
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => inside.once('listening', resolve))
  const dir = makeDirectory('chain')
  at = await place({ dir })
  engine = await makeEngine({
    chain: { type: 'local', directory: dir },
    outbound: { allow: [`127.0.0.1:${portOf(inside)}`, 'localhost'] },
    limits: { httpSeconds: 1, memoryBytes: 16 * MIB, storageBytes: MIB },
  })
  await engine.start()
  const { file } = await componentFile(FAULTY)
  const good = await componentFile(`${FAULTY}\n// Another one.`.replace("'on purpose'", "'another'"))
  faulty = await deployComponent(at, 'Component', file, [engine])
  other = await deployComponent(at, 'Component', good.file, [engine])
  for (const contract of [faulty, other]) await waitUntilServed([engine], contract)
}, STARTS_MS)
afterAll(async () => {
  await engine.remove()
  inside.close()
})

const portOf = (server: Server): number => (server.address() as AddressInfo).port
const url = (contract: Address, path: string): string => `${engine.url}/offchain/${contract}${path}`
const ask = (path: string, method = 'POST'): Promise<Response> => fetch(url(faulty, path), { method })
const left = async (): Promise<unknown> => (await ask('/left', 'GET')).json()

/** Asks another contract meanwhile, which answers as ever. */
async function meanwhile(): Promise<void> {
  const response = await fetch(url(other, '/hello?x'))
  expect([response.status, await response.text()]).toEqual([200, '/hello?x'])
}

async function problemOf(response: Response): Promise<[number, string | null, string]> {
  const { code } = (await response.json()) as { readonly code: string }
  return [response.status, response.headers.get('x-engine-error'), code]
}

describe('a component that', () => {
  it.each([
    ['spins', '/spin', 504, 'deadline'],
    ['spins for many at once', '/spin?', 504, 'deadline', 'GET'],
    ['allocates without end', '/allocate', 500, 'component-trap'],
    ['recurses', '/recurse', 500, 'component-trap'],
    ['traps', '/trap', 500, 'component-trap'],
    ['returns garbage', '/garbage', 502, 'bad-component-response'],
    ['floods storage in one call', '/flood', 500, 'component-trap'],
  ])(
    '%s: its caller is told so, nothing is kept, and another contract answers before them',
    async (_, path, status, code, method = 'POST') => {
      const answers = async (): Promise<readonly (readonly unknown[])[]> => {
        let ended = 0
        const calls = Array.from({ length: AT_ONCE }, () =>
          ask(path, method)
            .then(problemOf)
            .finally(() => ended++),
        )
        await new Promise((resolve) => setTimeout(resolve, 100))
        await meanwhile()
        if (code === 'deadline') expect(ended).toBeLessThan(calls.length)
        return Promise.all(calls)
      }
      // On a busy machine a call may meet its deadline first, and then all are made again.
      const wanted = await vi.waitUntil(
        async () => {
          const each = await answers()
          return status === 504 || each.every(([other]) => other !== 504) ? each : undefined
        },
        { timeout: 300_000 },
      )
      expect(wanted).toEqual(Array(AT_ONCE).fill([status, code, code]))
      expect(await left()).toEqual([])
      await meanwhile()
    },
    600_000,
  )

  it('floods storage call by call is stopped at its quota, and can go on with what it has', async () => {
    const statuses = []
    for (const key of ['a', 'b', 'c', 'd']) statuses.push((await ask(`/fill?key=${key}`)).status)
    expect(statuses).toEqual([201, 201, 201, 507])
    expect((await ask('/fill?key=a')).status).toBe(201)
    await meanwhile()
  })

  it.each([
    ['this machine', () => `http://127.0.0.1:${portOf(inside)}/`],
    ['this machine by its name', () => 'https://localhost/'],
    ['a host that is not allowed', () => 'http://169.254.169.254/latest/meta-data/'],
    ['the engine itself', () => `${engine.url}/engine`],
  ])('calls private addresses is refused: %s', async (_, target) => {
    // On a busy machine a call may meet its deadline first, and then it is made again.
    const answered = async () => {
      const response = await ask(`/ask?url=${encodeURIComponent(target())}`)
      return response.status === 504 ? undefined : response
    }
    const response = await vi.waitUntil(answered, { timeout: 300_000 })
    const { status, said } = (await response.json()) as { readonly status: number; readonly said: string }
    expect([response.status, status, asked]).toEqual([200, 600, 0])
    expect(said).not.toContain('secret')
  })
})

function memory(): number {
  const [, kib = '0'] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${engine.child.pid}/status`, 'utf8')) ?? []
  return Number(kib) * 1024
}

function opened(): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(engine.url).port), '127.0.0.1', () => resolve(socket))
    socket.once('error', reject)
  })
}

describe('a caller that', () => {
  it('declares a body of a terabyte is refused before it is read', async () => {
    const socket = await opened()
    const answer = new Promise<string>((resolve) => socket.once('data', (part: Buffer) => resolve(part.toString())))
    socket.write(`PUT /offchain/${faulty}/a HTTP/1.1\r\nHost: a\r\nContent-Length: ${2 ** 40}\r\n\r\n`)
    expect(await answer).toMatch(/^HTTP\/1\.1 413 [\s\S]*x-engine-error: body-too-large/i)
    socket.destroy()
    await meanwhile()
  })

  it.each(faults(['declared', 'chunked']))(
    'sends a body without end, %s: memory stays flat',
    async (how) => {
      const before = memory()
      const socket = await opened()
      let answer = ''
      socket.on('data', (part: Buffer) => {
        answer += part.toString()
      })
      socket.on('error', () => undefined)
      const length = how === 'chunked' ? 'Transfer-Encoding: chunked' : `Content-Length: ${2 ** 40}`
      socket.write(`PUT /offchain/${faulty}/a HTTP/1.1\r\nHost: a\r\n${length}\r\n\r\n`)
      const part = Buffer.alloc(MIB)
      const chunk = how === 'chunked' ? Buffer.concat([Buffer.from('100000\r\n'), part, Buffer.from('\r\n')]) : part
      let most = 0
      while (!socket.destroyed) {
        if (!socket.write(chunk)) {
          const drained = new Promise((resolve) => socket.once('drain', resolve).once('close', resolve))
          await Promise.race([drained, new Promise((resolve) => setTimeout(resolve, 3000))])
        }
        most = Math.max(most, memory() - before)
      }
      expect(answer).toContain('x-engine-error: body-too-large')
      // The socket is let go after a moment.
      expect(socket.destroyed).toBe(true)
      // Memory that was read and let go is collected when Node sees fit; gigabytes come in meanwhile.
      expect(most).toBeLessThan(160 * MIB)
    },
    600_000,
  )

  longFault('opens 1,000 connections, and says nothing or half of it, keeps nobody from an answer', async () => {
    const sockets = await Promise.all(Array.from({ length: 1000 }, opened))
    for (const [index, socket] of sockets.entries()) {
      socket.on('error', () => undefined)
      if (index % 2 === 0) socket.write(`PUT /offchain/${faulty}/a HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n1`)
    }
    await meanwhile()
    for (const socket of sockets) socket.destroy()
    const answers = await Promise.all(
      Array.from({ length: 400 }, () => fetch(url(other, '/x')).then((one) => one.status)),
    )
    expect(answers.filter((status) => status === 200).length).toBeGreaterThan(50)
    // A busy machine may need longer for a call than the deadline allows.
    for (const status of answers) expect([200, 503, 504]).toContain(status)
    expect(await eventually(async () => (await fetch(url(other, '/x'))).status === 200)).toBe(true)
  })
})
