/** The addresses of this machine on its network, and its free ports. */
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import type { Server as HttpServer } from 'node:http'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { networkInterfaces } from 'node:os'
import { isPrivateHost } from '../protocol/private-host.ts'

/** The interfaces of containers, virtual machines and tunnels, which no phone can reach. */
const VIRTUAL = /^(docker|br-|veth|virbr|vmnet|vboxnet|cni|utun|tun|tap|wg|zt|tailscale)/

/**
 * Returns the IPv4 address that a phone on the same network can reach; undefined when there is none. A public address
 * does not count: the internet could reach it, and wallets refuse plain http there.
 */
export function findLanAddress(interfaces = networkInterfaces()): string | undefined {
  const addresses = Object.entries(interfaces)
    .filter(([name]) => !VIRTUAL.test(name))
    .flatMap(([, entries = []]) => entries)
  return addresses.find(({ family, internal, address }) => {
    return family === 'IPv4' && !internal && isPrivateHost(address) && !address.startsWith('169.254.')
  })?.address
}

/** Returns the reason for which listening fails (`EADDRINUSE`, `EACCES`, …); undefined when it works. */
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
 * Has a server listen on this machine alone at the port of `--port`, and returns the port that it has, which the system
 * picks for 0. Rejects with a message for the user when the server cannot listen there.
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

/** Closes a server with all its connections, and resolves when it has closed, or had closed before. */
export function closeServer(server: HttpServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/** Returns the address of all interfaces: `::`, which includes IPv4, or the IPv4 one on a machine without IPv6. */
export async function chooseDefaultHost(probe = findListenProblem): Promise<string> {
  const problem = await probe(0, '::')
  return problem === 'EAFNOSUPPORT' || problem === 'EADDRNOTAVAIL' ? '0.0.0.0' : '::'
}

/**
 * Returns the address to listen at for the setting `host`: one of `localhost`, IPv4 before IPv6. For that name, Fastify
 * would listen by one server for each address, of which it watches the connections of the first alone.
 */
export async function findListenAddress(host: string): Promise<string> {
  return host === 'localhost' ? (await lookup(host, { order: 'ipv4first' })).address : host
}

/** Returns `preferredPort` when it is free, else a port that the system picks. */
export async function findFreePort(preferredPort: number): Promise<number> {
  // Loopback is tested as well: some systems allow listening on every address beside a listener on one address.
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
