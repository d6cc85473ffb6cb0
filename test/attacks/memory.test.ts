/** Attacks on memory, counted in bytes: bodies that never end, and answers that nobody reads. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { App } from '../../src/http/app-type.ts'
import { startPageSession } from '../support/digital-credentials.ts'
import { API_KEY, ISSUER_URL, type Services, startServices } from '../support/services.ts'
import { call, configuration, declare, startIssuance } from '../support/wire.ts'

const MIB = 1024 * 1024
/** Less than any limit of a single body. */
const BODY = 400 * 1024
const PATIENT = { timeout: 600_000 }
const fitting = Math.floor((32 * MIB) / (BODY - 1))
const METADATA = '/.well-known/openid-credential-issuer'

describe('the memory of strangers', () => {
  let services: Services
  const sockets: Socket[] = []
  beforeEach(async () => {
    services = await startServices()
    for (const app of [services.issuer, services.verifier]) await app.listen({ port: 0, host: '127.0.0.1' })
  })
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    await services.close()
  })

  async function open(app: App): Promise<Socket> {
    const { port } = app.server.address() as { readonly port: number }
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    socket.on('error', () => undefined)
    return new Promise((resolve) => socket.once('connect', () => resolve(socket)))
  }

  interface HalfSent {
    /** The status of the answer that came all the same. */
    status?: number
  }

  /** Sends a request whose last byte never comes. */
  async function halfSend(app: App, path: string, type: string): Promise<HalfSent> {
    const socket = await open(app)
    const sent: HalfSent = {}
    socket.once('data', (bytes) => {
      sent.status = Number(String(bytes).split(' ')[1])
    })
    const lines = [`POST ${path} HTTP/1.1`, 'Host: a', `Content-Length: ${BODY}`, `Content-Type: ${type}`]
    socket.write(`${lines.join('\r\n')}\r\n\r\n`)
    await new Promise((resolve) => socket.write(Buffer.alloc(BODY - 1, 0x20), resolve))
    return sent
  }

  it.each([
    ['issuer', '/issuance/oid4vci/nonce', 'application/octet-stream'],
    ['verifier', 'authorization-response', 'application/x-www-form-urlencoded'],
    ['verifier', 'digital-credentials', 'application/json'],
  ] as const)('%s %s: half-sent bodies of one sender hold 32 MiB at most', async (service, at, type) => {
    const app = services[service]
    const { session_id: sessionId } = await startPageSession(services)
    const path = service === 'issuer' ? at : `/presentation/oid4vp/${at}/${sessionId}`
    const all = await Promise.all(Array.from({ length: 100 }, () => halfSend(app, path, type)))
    await expect.poll(() => refused(all).length, PATIENT).toBeGreaterThanOrEqual(100 - fitting)
    // Not 5xx, which tells operators of errors of the service: one sender alone can cause this at any time.
    expect(new Set(refused(all))).toEqual(new Set([429]))
    expect(refused(all).length).toBeLessThan(100)
    // The application's requests have a share of their own.
    const { port } = app.server.address() as { readonly port: number }
    const paths = { issuer: '/credential-configuration/create', verifier: '/dcql-query/create' }
    const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' }
    const answer = await fetch(`http://127.0.0.1:${port}${paths[service]}`, { method: 'POST', headers, body: '[]' })
    expect(answer.status).toBe(400)
  })

  it('gives the memory of a body back when its connection ends', async () => {
    const { issuer } = services
    const send = () => halfSend(issuer, '/issuance/oid4vci/nonce', 'application/octet-stream')
    const all = await Promise.all(Array.from({ length: fitting + 1 }, send))
    await expect.poll(() => refused(all), PATIENT).toContain(429)
    for (const socket of sockets) socket.destroy()
    await expect.poll(() => connectionsOf(issuer), PATIENT).toBe(0)
    const again = await Promise.all(Array.from({ length: fitting - 1 }, send))
    expect(refused(again)).toEqual([])
  })

  it.each([
    ['display', 'credential_metadata.display[0].logo.uri'],
    ['claims', 'credential_metadata.claims[0].display[0].image'],
  ])('a data: URI of more than 64 KiB in %s is refused by its path', async (_, path) => {
    const metadata = (length: number): object => {
      const uri = `data:image/png;base64,${'A'.repeat(length - 22)}`
      const display = { name: 'Given name', locale: 'en-GB' }
      const claims = [{ path: ['credentialSubject', 'given_name'], display: [{ ...display, image: uri }] }]
      return path.includes('claims') ? { claims } : { display: [{ ...display, logo: { uri } }] }
    }
    const create = (length: number) =>
      call(services, `${ISSUER_URL}/credential-configuration/create`, {
        ...configuration,
        credential_metadata: metadata(length),
      })
    expect((await create(65_536)).status).toBe(201)
    const refusal = await create(65_537)
    expect([refusal.status, await refusal.json()]).toEqual([
      400,
      {
        error: 'invalid_request',
        error_description: expect.stringContaining(`${path}: a data: URI has 64 KiB`) as string,
      },
    ])
  })

  it('metadata of the same configurations is the same bytes for all, made once', async () => {
    await declare(services, configuration)
    const { issuer } = services
    for (const accept of ['application/json', 'application/jwt']) {
      const first = await issuer.inject({ url: METADATA, headers: { accept } })
      const again = await issuer.inject({ url: METADATA, headers: { accept } })
      expect(again.rawPayload.equals(first.rawPayload)).toBe(true)
      const condition = { accept, 'if-none-match': String(first.headers.etag) }
      const { statusCode, body } = await issuer.inject({ url: METADATA, headers: condition })
      expect([statusCode, body]).toEqual([304, ''])
      await declare(services, configuration)
      expect((await issuer.inject({ url: METADATA, headers: condition })).statusCode).toBe(200)
    }
  })

  it('connections that pipeline and do not read hold some of one answer each', async () => {
    const logo = { uri: `data:image/png;base64,${'A'.repeat(60_000)}` }
    const display = [{ name: 'Student card', locale: 'en-GB', logo }]
    const id = await declare(services, { ...configuration, credential_metadata: { display } })
    const stored = { configuration: { ...configuration, credential_metadata: { display } }, removed: false }
    // Configurations of earlier releases may be more than are taken now.
    const changes = Array.from(
      { length: 82 },
      (_, i) => ({ insert: 'credential_configuration', id: `stored-${i}`, value: stored }) as const,
    )
    await services.issuerStore.commit(changes)
    services.clock.now = new Date(services.clock.now.getTime() + 2000)
    const { sessionId } = await startIssuance(services, { credential_configurations: [id] })
    const { issuer } = services
    const answers = unsentAnswers(issuer)
    const whole = (await issuer.inject({ url: METADATA })).rawPayload.length
    expect(whole).toBeGreaterThan(4.7 * MIB)
    for (const [path, accept] of [
      [METADATA, '*/*'],
      [METADATA, 'application/jwt'],
      [`${METADATA}/${sessionId}`, '*/*'],
      ['/openapi', '*/*'],
    ]) {
      for (let i = 0; i < 5; i++) {
        const socket = await open(issuer)
        socket.pause()
        socket.write(`GET ${path} HTTP/1.1\r\nHost: a\r\nAccept: ${accept}\r\n\r\n`.repeat(16))
      }
    }
    await expect.poll(() => answers.begun(), PATIENT).toBeGreaterThanOrEqual(20)
    // Until the kernel takes no more.
    const sent: number[] = []
    await expect
      .poll(() => sent.push(answers.sent()) > 1 && sent.at(-1) === sent.at(-2), { ...PATIENT, interval: 200 })
      .toBe(true)
    expect(answers.unsent()).toBeLessThan(20 * 128 * 1024)
  })
})

/** Counts the bytes that were given to the connections of a server and not taken by the system. */
function unsentAnswers({ server }: App) {
  const sockets = new Set<Socket>()
  const responses = new Set<ServerResponse>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  server.on('request', (_: IncomingMessage, response: ServerResponse) => responses.add(response))
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0)
  return {
    begun: () => [...responses].filter(({ headersSent }) => headersSent).length,
    sent: () => sum([...sockets].map(({ bytesWritten, writableLength }) => bytesWritten - writableLength)),
    /** Bytes of answers that wait for those before them, too. */
    unsent: () =>
      sum([...sockets].map(({ writableLength }) => writableLength)) +
      sum([...responses].filter(({ socket }) => socket === null).map(({ writableLength }) => writableLength)),
  }
}

function connectionsOf({ server }: App): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error ? reject(error) : resolve(count)))
  })
}

/** Counts the requests that were answered before they were whole, by status. */
function refused(requests: readonly { readonly status?: number }[]): number[] {
  return requests.flatMap(({ status }) => (status === undefined ? [] : [status]))
}
