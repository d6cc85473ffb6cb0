/** How a service stops while it is used: it says so, answers what is on its way, and cuts no request off. */
import type { ChildProcess } from 'node:child_process'
import { Agent, get } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterAll, describe, expect, it } from 'vitest'
import { place } from '../support/engine-contracts.ts'
import { type EngineProcess, makeDirectory, makeEngine } from '../support/engine-process.ts'
import { serviceDirectory, start } from '../support/service-process.ts'

/** Long enough for what is asked meanwhile, however busy the machine is. */
const GRACE = { stopping: { graceSeconds: 8 } }
const engines: EngineProcess[] = []
afterAll(() => Promise.all(engines.map((engine) => engine.remove())))

interface Started {
  readonly child: ChildProcess
  readonly url: string
  readonly ended: Promise<{ readonly status: number | null; readonly stdout: string }>
}

async function started(service: string): Promise<Started> {
  if (service !== 'engine') {
    const name = service as 'issuer' | 'verifier'
    return start(name, await serviceDirectory(name, GRACE))
  }
  const dir = makeDirectory('chain')
  await place({ dir })
  const engine = await makeEngine({ chain: { type: 'local', directory: dir }, ...GRACE })
  engines.push(engine)
  await engine.start()
  return engine
}

describe.concurrent.each(['issuer', 'verifier', 'engine'])('%s that is stopped', (service) => {
  it('is not ready first, then ends each connection after an answer, and then listens no more', async () => {
    const { child, url, ended } = await started(service)
    const port = Number(new URL(url).port)
    const unused = await Promise.all(Array.from({ length: 10 }, () => opened(port)))
    const used = await Promise.all(Array.from({ length: 10 }, () => opened(port)))
    for (const socket of used) expect(await asked(socket)).toMatch(/^HTTP\/1\.1 200 /)

    let isStopping = false
    let answers = 0
    const agent = new Agent({ keepAlive: true })
    const callers = Array.from({ length: 8 }, async () => {
      const statuses: (number | string | undefined)[] = []
      for (; !isStopping; answers += 1) statuses.push(await statusOf(`${url}/health/live`, agent))
      return statuses
    })
    await expect.poll(() => answers).toBeGreaterThan(10 * callers.length)
    child.kill('SIGTERM')
    await expect.poll(() => statusOf(`${url}/health/ready`)).toBe(503)
    for (const socket of [...unused, ...used]) {
      expect(await asked(socket)).toMatch(/^HTTP\/1\.1 200 .*\r\nconnection: close\r\n/is)
    }
    isStopping = true
    expect(new Set((await Promise.all(callers)).flat())).toEqual(new Set([200]))
    agent.destroy()
    const { status, stdout } = await ended
    expect(status).toBe(0)
    expect(secondsBetween(stdout, 'stopping', 'stopped')).toBeGreaterThanOrEqual(GRACE.stopping.graceSeconds)
    expect(await statusOf(`${url}/health/live`)).toBe('ECONNREFUSED')
  })
})

it('ends in order, with TLS, while a connection has never begun its handshake', async () => {
  const tls = { keyFile: 'issuer.key', certificateFiles: ['issuer.pem'] }
  const { child, port, ended } = await start('issuer', await serviceDirectory('issuer', { tls }))
  await opened(port)
  child.kill('SIGTERM')
  expect((await ended).status).toBe(0)
})

/** Returns the seconds between two lines of a log. */
function secondsBetween(log: string, ...events: readonly string[]): number {
  const lines = log
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly event: string; readonly time: string })
  const [from = Number.NaN, to = Number.NaN] = events.map((event) =>
    Date.parse(lines.find((line) => line.event === event)?.time ?? ''),
  )
  return (to - from) / 1000
}

function opened(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket)).once('error', reject)
  })
}

/** Returns the answer to one request on the connection, or why there is none. */
function asked(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    const take = (part: Buffer): void => {
      text += String(part)
      if (text.endsWith('}')) end('')
    }
    const end = (why: string): void => {
      socket.off('data', take).off('error', fail).off('close', close)
      resolve(text + why)
    }
    const fail = ({ code }: NodeJS.ErrnoException): void => end(`error ${code}`)
    const close = (): void => end('closed')
    socket.on('data', take).once('error', fail).once('close', close)
    socket.write('GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n')
  })
}

function statusOf(url: string, agent?: Agent): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    get(url, agent === undefined ? { agent: false } : { agent }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode))
    }).once('error', ({ code }: NodeJS.ErrnoException) => resolve(code))
  })
}
