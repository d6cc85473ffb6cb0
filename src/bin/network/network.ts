/** The addresses of this machine in its network, and free ports. */
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import type { Server as HttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { isPrivateHost } from '../../protocol/private-host.ts'

/** The interfaces of containers, virtual machines and tunnels, which phones cannot reach. */
const VIRTUAL = /^(docker|br-|veth|virbr|vmnet|vboxnet|cni|utun|tun|tap|wg|zt|tailscale)/

/**
 * Returns the IPv4 address that a phone in the same network can reach; undefined if there is none. Ignores public
 * addresses, for which wallets refuse plain http.
 */
export function findLanAddress(interfaces = networkInterfaces()): string | undefined {
  const addresses = Object.entries(interfaces)
    .filter(([name]) => !VIRTUAL.test(name))
    .flatMap(([, entries = []]) => entries)
  return addresses.find(({ family, internal, address }) => {
    return family === 'IPv4' && !internal && isPrivateHost(address) && !address.startsWith('169.254.')
  })?.address
}

/** The files that Docker and Podman put into every container. */
const CONTAINER_FILES = ['/.dockerenv', '/run/.containerenv']

/** Tests whether this process runs in a container, whose own address phones and other machines cannot reach. */
export function isInContainer(environment = process.env, exists: (path: string) => boolean = existsSync): boolean {
  return environment.KUBERNETES_SERVICE_HOST !== undefined || CONTAINER_FILES.some(exists)
}

/** The address that a phone needs in place of those that a container knows, for messages. */
export const HOST_OF_CONTAINER = 'the address of the machine that runs this container'

/** The codes of the errors with which listening fails because of the host. */
const HOST_CODES: readonly unknown[] = ['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'ENOTFOUND', 'EAI_AGAIN']

/** Returns why nothing can listen at a host, and what to do; undefined if the error has another reason. */
export function describeHostProblem(code: string | undefined, host: string): string | undefined {
  if (!HOST_CODES.includes(code)) return undefined
  const [, name, port] = /^([^:]+):(\d+)$/.exec(host) ?? []
  if (code === 'EAI_AGAIN' && name === undefined) {
    return `${host} could not be looked up; see whether the DNS of this machine answers, or write an address of it`
  }
  const advice =
    name === undefined ? 'name one of its own, or leave host out' : `say ${name} alone: ${port} is for port`
  return `${host} is not an address of this machine; ${advice}`
}

/** Returns the error code with which listening fails (`EADDRINUSE`, `EACCES`, …); undefined if it succeeds. */
export function findListenProblem(port: number, host: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', ({ code = 'unknown' }: NodeJS.ErrnoException) => {
      resolve(code)
    })
    server.listen({ port, host }, () => {
      server.close(() => {
        resolve(undefined)
      })
    })
  })
}

/**
 * Makes a server listen on loopback at the port of `--port`, and returns the port; with 0 the system chooses it.
 * Rejects with a message for the user if this fails.
 */
export async function listenOnLoopback(server: Server, port: number): Promise<number> {
  try {
    server.listen({ port, host: '127.0.0.1' })
    await once(server, 'listening')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') throw new Error(`--port: ${port} is in use; name another`, { cause: error })
    if (code === 'EACCES')
      throw new Error(`--port: ${port} may not be used by this user; name one above 1023`, { cause: error })
    throw new Error(`--port: ${message}`, { cause: error })
  }
  return (server.address() as AddressInfo).port
}

/** Closes a server with all its connections. Resolves when it is closed. */
export function closeServer(server: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/** Returns the wildcard address: `::`, which includes IPv4, or `0.0.0.0` on a machine without IPv6. */
export async function chooseDefaultHost(probe = findListenProblem): Promise<string> {
  const problem = await probe(0, '::')
  return problem === 'EAFNOSUPPORT' || problem === 'EADDRNOTAVAIL' ? '0.0.0.0' : '::'
}

/**
 * Returns the address for the setting `host`. For `localhost`, returns one of its addresses, preferably IPv4: Fastify
 * would create a server for each, and track the connections of the first one only.
 */
export async function findListenAddress(host: string): Promise<string> {
  return host === 'localhost' ? (await lookup(host, { order: 'ipv4first' })).address : host
}

/** Returns `preferredPort` if it is free, and otherwise a port that the system chooses. */
export async function findFreePort(preferredPort: number): Promise<number> {
  // Tests loopback too, since some systems allow a wildcard listener beside one on a single address.
  const problems = [
    await findListenProblem(preferredPort, await chooseDefaultHost()),
    await findListenProblem(preferredPort, '127.0.0.1'),
  ]
  return problems.includes('EADDRINUSE') || problems.includes('EACCES') ? pickPort() : preferredPort
}

function pickPort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, () => {
      const address = server.address()
      server.close(() => {
        if (typeof address === 'object' && address !== null) resolve(address.port)
        else reject(new Error('the system has no free port'))
      })
    })
  })
}
