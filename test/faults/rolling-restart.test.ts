/**
 * Two processes of a service behind a plain proxy, restarted one after the other while clients run whole flows: no
 * request fails.
 */
import { Agent, request as ask, createServer, type RequestOptions, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import {
  createIssuerMemory,
  findLostOfIssuer,
  findLostOfVerifier,
  type IssuerMemory,
  issueByVerifierKey,
  servicesAt,
  useIssuer,
  useVerifier,
  type VerifierMemory,
} from '../support/remembering-client.ts'
import { type Running, serviceDirectory, start } from '../support/service-process.ts'
import { ISSUER_URL, type Services, VERIFIER_URL } from '../support/services.ts'
import { databaseSettings } from '../support/store.ts'
import { declare } from '../support/wire.ts'

/** Longer than the proxy takes to notice, on a busy machine as well. */
const GRACE_SECONDS = 4
const LOOK_EVERY_MS = 250
const CLIENTS = 6
/** The pause of a client between two flows: together the clients send over a hundred requests a second. */
const PAUSE_MS = 100

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
    const states = await Promise.all(all.map(isReady))
    ready = all.filter((_, index) => states[index])
  }
  let isOpen = true
  const keepLooking = async (): Promise<void> => {
    // Looks follow each other, so that an older answer does not take the place of a newer one.
    while (isOpen) {
      await look()
      await pause(LOOK_EVERY_MS)
    }
  }
  void keepLooking()
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    use: (next) => {
      ports = next
    },
    waitFor: (count) => expect.poll(() => ready.length).toBe(count),
    close: () => {
      isOpen = false
      agent.destroy()
      server.close()
      server.closeAllConnections()
    },
  }
}

async function isReady(port: number): Promise<boolean> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/health/ready`)
    await response.arrayBuffer()
    return response.status === 200
  } catch {
    return false
  }
}

it.each(['issuer', 'verifier'] as const)('%s: two processes lose no request in a rolling restart', async (name) => {
  const directory = await serviceDirectory(name, {
    baseUrl: name === 'issuer' ? ISSUER_URL : VERIFIER_URL,
    stopping: { graceSeconds: GRACE_SECONDS },
    ...databaseSettings(),
  })
  const started = async (): Promise<Running> => {
    const service = await start(name, directory)
    running.push(service)
    return service
  }
  const services = [await started(), await started()]
  proxy = await startProxy()
  const { url } = proxy
  proxy.use(services.map(({ port }) => port))
  await proxy.waitFor(2)

  const through = servicesAt(() => url)
  const issuerMemory = createIssuerMemory()
  const verifierMemory: VerifierMemory = { sessions: new Set(), accepted: new Map() }
  const use =
    name === 'issuer' ? await issuerUse(through, issuerMemory) : await verifierUse(through, directory, verifierMemory)
  let isOver = false
  const clients = Array.from({ length: CLIENTS }, async () => {
    // Each step of a flow may be answered by another process, and none may be refused.
    while (!isOver) {
      await use()
      await pause(PAUSE_MS)
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
  const [flows, lost] =
    name === 'issuer'
      ? [issuerMemory.issued.size, await findLostOfIssuer(through, issuerMemory)]
      : [verifierMemory.accepted.size, await findLostOfVerifier(through, verifierMemory)]
  expect(lost).toEqual([])
  expect(flows).toBeGreaterThan(20)
})

async function issuerUse(services: Services, memory: IssuerMemory): Promise<() => Promise<void>> {
  const configurationId = await declare(services)
  return () => useIssuer(services, configurationId, memory)
}

async function verifierUse(
  services: Services,
  directory: string,
  memory: VerifierMemory,
): Promise<() => Promise<void>> {
  const held = await issueByVerifierKey(directory)
  return () => useVerifier(services, held, memory)
}
