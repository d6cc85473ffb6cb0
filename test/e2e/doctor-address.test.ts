/** The findings of `vouchsafe doctor` about the address of a service and its port. */
import { createServer, type Server } from 'node:http'
import { afterEach, describe, vi } from 'vitest'
import { itFinds } from '../support/doctor.ts'
import { freePort } from '../support/free-port.ts'

const servers: Server[] = []
afterEach(() => {
  vi.unstubAllEnvs()
  for (const server of servers.splice(0)) {
    server.close()
    server.closeAllConnections()
  }
})

/** Listens on a free port until the test is over, and returns the port. */
function portOf(server: Server): Promise<number> {
  servers.push(server)
  return new Promise((resolve) => {
    server.listen(0, () => {
      const address = server.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    })
  })
}

/** Makes a server that answers every path alike. */
function serverThatAnswers(status: number, body: object): Server {
  return createServer((_, response) => response.writeHead(status).end(JSON.stringify(body)))
}

/** Makes a server that answers as an issuer, but with this status below `/.well-known/`. */
function issuerWithoutMetadata(status: number): Server {
  const body = JSON.stringify({ info: { title: 'Vouchsafe issuance service' } })
  return createServer(({ url }, response) =>
    response.writeHead(url?.startsWith('/.well-known/') ? status : 200).end(body),
  )
}

/** Makes a server that answers as an issuer behind a proxy which never answers below `/.well-known/`. */
function issuerWithStalledMetadata(): Server {
  const body = JSON.stringify({ info: { title: 'Vouchsafe issuance service' } })
  return createServer(({ url }, response) => {
    if (!url?.startsWith('/.well-known/')) response.end(body)
  })
}

describe('vouchsafe doctor finds', () => {
  itFinds([
    [
      'a host that nobody knows',
      'issuer',
      () => ({ baseUrl: 'http://nowhere.invalid' }),
      'baseUrl',
      'warning',
      /the host nowhere.invalid cannot be resolved here/,
    ],
    [
      'localhost, which a phone cannot reach',
      'verifier',
      ({ settings }) => ({ baseUrl: `http://localhost:${settings.port}` }),
      'baseUrl',
      'warning',
      /http:\/\/localhost:\d+ means this machine alone/,
    ],
    [
      'localhost in a container, whose own address a phone cannot reach either',
      'verifier',
      ({ settings }) => {
        vi.stubEnv('KUBERNETES_SERVICE_HOST', '10.96.0.1')
        return { baseUrl: `http://localhost:${settings.port}` }
      },
      'baseUrl',
      'warning',
      /a phone cannot reach it\. Name the address of the machine that runs this container$/,
    ],
    [
      'a service that does not run yet',
      'verifier',
      () => undefined,
      'baseUrl',
      'note',
      /nothing answers at .*\/health\/live yet/,
    ],
    [
      'something else at the address',
      'issuer',
      async () => ({ baseUrl: `http://127.0.0.1:${await portOf(serverThatAnswers(404, {}))}` }),
      'baseUrl',
      'warning',
      /answers 404: something else is there/,
    ],
    [
      'a proxy whose service does not run yet',
      'issuer',
      async () => ({ baseUrl: `http://127.0.0.1:${await portOf(serverThatAnswers(502, {}))}` }),
      'baseUrl',
      'warning',
      /answers 502: a proxy is there, and reaches no service/,
    ],
    [
      'a proxy that keeps the metadata of the issuer from wallets',
      'issuer',
      async () => ({ baseUrl: `http://127.0.0.1:${await portOf(issuerWithoutMetadata(404))}` }),
      'baseUrl',
      'problem',
      /openid-credential-issuer answers 404: wallets read the metadata of the issuer there; have the proxy pass/,
    ],
    [
      'an issuer that fails to make its metadata',
      'issuer',
      async () => ({ baseUrl: `http://127.0.0.1:${await portOf(issuerWithoutMetadata(500))}` }),
      'baseUrl',
      'problem',
      /answers 500: wallets read the metadata of the issuer there; the service or a proxy fails; look at the other/,
    ],
    [
      'a rate limit that keeps the metadata of the issuer from this machine',
      'issuer',
      async () => ({ baseUrl: `http://127.0.0.1:${await portOf(issuerWithoutMetadata(429))}` }),
      'baseUrl',
      'problem',
      /answers 429: .*; a rate limit, of the service or a proxy, refuses this machine$/,
    ],
    [
      'a proxy that gives no answer where wallets read the metadata of the issuer',
      'issuer',
      async () => ({ baseUrl: `http://127.0.0.1:${await portOf(issuerWithStalledMetadata())}` }),
      'baseUrl',
      'problem',
      /openid-credential-issuer gives no answer \(TimeoutError\): wallets read/,
    ],
    [
      'a port that another program has',
      'issuer',
      async () => ({ port: await portOf(serverThatAnswers(404, {})) }),
      'port',
      'problem',
      /in use by another program/,
    ],
    [
      'a port that the other service has',
      'issuer',
      async () => ({
        port: await portOf(serverThatAnswers(200, { info: { title: 'Vouchsafe verification service' } })),
      }),
      'port',
      'problem',
      /in use by a Vouchsafe verification service/,
    ],
    [
      'a port where the service runs already',
      'issuer',
      async () => ({ port: await portOf(serverThatAnswers(200, { info: { title: 'Vouchsafe issuance service' } })) }),
      'port',
      'warning',
      /in use by a Vouchsafe issuance service; if it is not this one, change port and baseUrl/,
    ],
    [
      'the other service at the address',
      'issuer',
      async () => {
        const port = await portOf(serverThatAnswers(200, { info: { title: 'Vouchsafe verification service' } }))
        return { baseUrl: `http://127.0.0.1:${port}` }
      },
      'baseUrl',
      'problem',
      /is answered by a Vouchsafe verification service, and not by a Vouchsafe issuance service/,
    ],
    [
      'a local address at another port',
      'issuer',
      () => ({ port: 0xfff0, baseUrl: 'http://localhost:8079' }),
      'baseUrl',
      'warning',
      /is port 8079, and the service listens on 65520/,
    ],
    [
      'a local address at the port as which that of a container is published',
      'verifier',
      () => {
        vi.stubEnv('KUBERNETES_SERVICE_HOST', '10.96.0.1')
        return { port: 0xfff0, baseUrl: 'http://localhost:18081' }
      },
      'baseUrl',
      'warning',
      /right only behind a proxy, or where the container's port is published as 18081$/,
    ],
    [
      'a host that is not an address of this machine',
      'verifier',
      () => ({ host: '203.0.113.77' }),
      'host',
      'problem',
      /^203.0.113.77 is not an address of this machine; name one of its own, or leave host out/,
    ],
    [
      'a host that has no address',
      'verifier',
      () => ({ host: 'nohost.invalid' }),
      'host',
      'problem',
      /^nohost.invalid (is not an address of this machine|could not be looked up)/,
    ],
    [
      'a host with a port',
      'issuer',
      () => ({ host: '127.0.0.1:80' }),
      'host',
      'problem',
      /^127.0.0.1:80 is not an address of this machine; say 127.0.0.1 alone: 80 is for port/,
    ],
    [
      'a port for metrics that is free',
      'issuer',
      async () => ({ management: { port: await freePort() } }),
      'management.port',
      'ok',
      /^\d+ is free$/,
    ],
    [
      'a port for metrics that another program has',
      'verifier',
      async () => ({ management: { port: await portOf(serverThatAnswers(404, {})), host: '0.0.0.0' } }),
      'management.port',
      'problem',
      /is in use by another program; change it, or stop that one/,
    ],
    [
      'ports that the running service has',
      'verifier',
      async () => ({
        port: await portOf(serverThatAnswers(200, { info: { title: 'Vouchsafe verification service' } })),
        management: { port: await portOf(serverThatAnswers(404, {})), host: '::' },
      }),
      'management.port',
      'warning',
      /is in use, as is port; if that is not this service, change both/,
    ],
    [
      'a host for metrics that is not an address of this machine',
      'issuer',
      () => ({ management: { port: 9464, host: '203.0.113.77' } }),
      'management.host',
      'problem',
      /^203.0.113.77 is not an address of this machine/,
    ],
    [
      'one port for the service and its metrics',
      'issuer',
      ({ settings }) => ({ management: { port: settings.port } }),
      'management.port',
      'problem',
      /^\d+ is the port of the service itself; name another for GET \/metrics/,
    ],
  ])
})
