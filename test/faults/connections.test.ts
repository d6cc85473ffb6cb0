/** Thousands of connections to one service that say nothing, or too little, while others are served. */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { expect, vi } from 'vitest'
import { longFault, reportFault } from '../support/faults.ts'
import { createIssuerMemory, servicesAt, useIssuer } from '../support/remembering-client.ts'
import { serviceDirectory, startForTest } from '../support/service-process.ts'
import { ISSUER_URL } from '../support/services.ts'
import { declare } from '../support/wire.ts'

/** Files beside the connections that this process has open. */
const SPARE = 500
const BODY_HEAD = 'POST /auth/token-endpoint HTTP/1.1\r\nhost: a\r\ncontent-type: application/x-www-form-urlencoded\r\n'

/** Returns 5,000, or as many as this process may have open. */
function mostConnections(): number {
  const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
  return Math.min(5000, Number(limit ?? 1024) - SPARE)
}

function residentBytes(pid: number | undefined): number {
  const [, kib = '0'] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kib) * 1024
}

function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.once('error', reject)
  })
}

/** The kinds of silence: none of a request, half of its head, half of its body, and a head that comes byte by byte. */
const KINDS: readonly ((socket: Socket) => void)[] = [
  () => undefined,
  (socket) => void socket.write('GET /.well-known/openid-credential-issuer HTTP/1.1\r\nhost: a\r\nx-'),
  (socket) => void socket.write(`${BODY_HEAD}content-length: 100\r\n\r\ngrant_type=`),
  (socket) => {
    socket.write('GET / HTTP/1.1\r\nhost: a\r\nx-slow: ')
    const timer = setInterval(() => socket.write('a'), 1000)
    socket.once('close', () => clearInterval(timer))
  },
]

longFault('5,000 connections that say too little keep nobody from a credential, and are closed', async ({ task }) => {
  const service = await startForTest('issuer', await serviceDirectory('issuer', { baseUrl: ISSUER_URL }))
  const services = servicesAt(() => service.url)
  const configurationId = await declare(services)
  const memory = createIssuerMemory()
  await useIssuer(services, configurationId, memory)
  const before = residentBytes(service.child.pid)
  const most = mostConnections()
  const sockets: Socket[] = []
  while (sockets.length < most) {
    const some = Array.from({ length: Math.min(250, most - sockets.length) }, () => opened(service.port))
    sockets.push(...(await Promise.all(some)))
  }
  let closed = 0
  for (const [index, socket] of sockets.entries()) {
    // A socket that nobody reads does not hear of its end.
    socket
      .resume()
      .on('error', () => undefined)
      .once('close', () => {
        closed += 1
      })
    KINDS[index % KINDS.length]?.(socket)
  }
  for (let count = 0; count < 20; count += 1) await useIssuer(services, configurationId, memory)
  expect(closed).toBe(0)
  const bytesEach = (residentBytes(service.child.pid) - before) / most
  expect(bytesEach).toBeLessThan(40 * 1024)
  await vi.waitUntil(() => closed === most, { timeout: 300_000, interval: 100 })
  await useIssuer(services, configurationId, memory)
  expect(memory.issued.size).toBe(22)
  reportFault(task, { tried: most, saw: `${Math.round(bytesEach / 1024)} KiB of memory each` })
})
