/**
 * Two processes of a service behind a plain proxy, restarted one after the other while clients ask: no request fails.
 */
import { Agent, request as ask, createServer, type RequestOptions, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, it } from 'vitest'
import { type Running, serviceDirectory, start } from '../support/service-process.ts'
import { API_KEY } from '../support/services.ts'
import { databaseSettings } from '../support/store.ts'
import { configuration } from '../support/wire.ts'

/** Longer than the proxy takes to notice, on a busy machine as well. */
const GRACE_SECONDS = 4
const LOOK_EVERY_MS = 250
const CLIENTS = 6

const running: Running[] = []
let proxy: Proxy | undefined
afterEach(async () => {
  proxy?.close()
  for (const { child, ended } of running.splice(0)) {
    child.kill('SIGKILL')
    await ended
  }
})

interface Proxy {
  readonly url: string
  /** Sends requests to these ports, each while `/health/ready` there answers 200. */
  use(ports: readonly number[]): void
  /** Resolves when the proxy sends requests to so many processes. */
  waitFor(count: number): Promise<void>
  close(): void
}

/** Passes requests on over connections that it keeps, in turn, and never sends one a second time. */
async function startProxy(): Promise<Proxy> {
  let ports: readonly number[] = []
  let ready: readonly number[] = []
  let turn = 0
  const agent = new Agent({ keepAlive: true })
  const server: Server = createServer((incoming, answer) => {
    const port = ready[turn++ % Math.max(1, ready.length)]
    const { method, url: path, headers } = incoming
    const options: RequestOptions = {
      host: '127.0.0.1',
      port,
      method,
      path,
      headers: { ...headers, connection: 'keep-alive' },
      agent,
    }
    const outgoing = ask(options, (response) => {
      answer.writeHead(response.statusCode ?? 502, response.headers)
      response.pipe(answer)
    })
    outgoing.on('error', ({ message }) => answer.writeHead(502).end(message))
    incoming.pipe(outgoing)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const look = async (): Promise<void> => {
    const all = ports
    const states = await Promise.all(all.map((port) => statusOf(`http://127.0.0.1:${port}/health/ready`)))
    ready = all.filter((_, index) => states[index] === 200)
  }
  const timer = setInterval(() => void look(), LOOK_EVERY_MS)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    use: (next) => {
      ports = next
    },
    waitFor: (count) => expect.poll(() => ready.length).toBe(count),
    close: () => {
      clearInterval(timer)
      agent.destroy()
      server.close()
      server.closeAllConnections()
    },
  }
}

async function statusOf(url: string, init?: RequestInit): Promise<number | string> {
  try {
    const response = await fetch(url, init)
    const text = await response.text()
    return response.status < 300 ? response.status : `${response.status} ${text}`
  } catch (error) {
    return (error as Error).message
  }
}

it('loses no request in a rolling restart of two processes', async () => {
  const directory = await serviceDirectory('issuer', {
    stopping: { graceSeconds: GRACE_SECONDS },
    ...databaseSettings(),
  })
  const started = async (): Promise<Running> => {
    const service = await start('issuer', directory)
    running.push(service)
    return service
  }
  const services = [await started(), await started()]
  proxy = await startProxy()
  const { url } = proxy
  proxy.use(services.map(({ port }) => port))
  await proxy.waitFor(2)

  let isOver = false
  const outcomes = new Map<number | string, number>()
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
  const create = { method: 'POST', headers, body: JSON.stringify(configuration) }
  const clients = Array.from({ length: CLIENTS }, async (_, client) => {
    while (!isOver) {
      const isWriter = client % 2 === 0
      const outcome = isWriter
        ? await statusOf(`${url}/credential-configuration/create`, create)
        : await statusOf(`${url}/.well-known/openid-credential-issuer`)
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
    }
  })
  for (const index of services.keys()) {
    const before = services[index] as Running
    before.child.kill('SIGTERM')
    expect((await before.ended).status).toBe(0)
    services[index] = await started()
    proxy.use(services.map(({ port }) => port))
    await proxy.waitFor(2)
  }
  isOver = true
  await Promise.all(clients)
  expect([...outcomes.keys()].sort()).toEqual([200, 201])
  expect(Math.min(...outcomes.values())).toBeGreaterThan(50)
})
