/** How an engine is reached: TLS of its own, or that of a proxy; a certificate that is renewed; and how it stops. */
import { createPublicKey, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer as createHttp, request as httpRequest } from 'node:http'
import { createServer as createHttps, type RequestOptions, request } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { makeSelfSignedCertificate, toPem } from '../../src/keys/make-certificate.ts'
import type { Address } from '../../src/offchain/address.ts'
import { componentFile, deployComponent, type Place, place } from '../support/engine-contracts.ts'
import { FAULTY } from '../support/engine-faulty.ts'
import {
  contractOf,
  type EngineProcess,
  eventually,
  makeDirectory,
  makeEngine,
  waitUntilServed,
} from '../support/engine-process.ts'
import { makeKey, pemOf } from '../support/services.ts'

const STARTS_MS = 600_000
let dir: string
let at: Place
let file: string
const engines: EngineProcess[] = []

beforeAll(async () => {
  dir = makeDirectory('chain')
  at = await place({ dir })
  ;({ file } = await componentFile(FAULTY))
}, STARTS_MS)
afterAll(() => Promise.all(engines.map((engine) => engine.remove())))

async function made(settings: Record<string, unknown> = {}): Promise<EngineProcess> {
  const engine = await makeEngine({ chain: { type: 'local', directory: dir }, ...settings })
  engines.push(engine)
  return engine
}

async function certificate(name: string): Promise<{ readonly key: string; readonly cert: string }> {
  const privateKey = await makeKey()
  const made = makeSelfSignedCertificate({
    privateKey,
    publicKey: createPublicKey(privateKey),
    commonName: name,
    ipAddresses: ['127.0.0.1'],
    serial: randomBytes(16),
    notBefore: new Date(Date.now() - 60_000),
    notAfter: new Date(Date.now() + 86_400_000),
  })
  return { key: pemOf(privateKey), cert: toPem(made) }
}

/** Sends a request over TLS, by somebody who trusts this certificate alone. */
function secure(
  url: string,
  options: RequestOptions,
): Promise<{ readonly status: number | undefined; readonly body: string; readonly shown: string }> {
  return new Promise((resolve, reject) => {
    request(url, { agent: false, ...options }, (response) => {
      const { subject } = (
        response.socket as unknown as { getPeerCertificate(): { subject: { CN: string } } }
      ).getPeerCertificate()
      let body = ''
      response.setEncoding('utf8').on('data', (part: string) => {
        body += part
      })
      response.on('end', () => resolve({ status: response.statusCode, body, shown: subject.CN }))
    })
      .once('error', reject)
      .end()
  })
}

it(
  'an engine speaks TLS by itself, and takes a new certificate with SIGHUP',
  async () => {
    const engine = await made({ tls: { keyFile: 'tls.key', certificateFiles: ['tls.pem'] } })
    const write = ({ key, cert }: { readonly key: string; readonly cert: string }): void => {
      writeFileSync(join(engine.directory, 'tls.key'), key, { mode: 0o600 })
      writeFileSync(join(engine.directory, 'tls.pem'), cert)
    }
    const [first, second] = [await certificate('first'), await certificate('second')]
    write(first)
    await engine.start()
    const contract = await deployComponent(at, 'Component', file, [engine])
    const url = `${engine.url}/offchain/${contract}/a%2Fb?q=%20`
    const answer = await eventually(async () => {
      const one = await secure(url, { ca: first.cert })
      return one.status === 200 && one
    })
    expect([answer.body, answer.shown]).toEqual(['/a%2Fb?q=%20', 'first'])
    await expect(secure(url, { ca: second.cert })).rejects.toThrow(/self-signed/i)
    await expect(fetch(url.replace('https', 'http'))).rejects.toThrow()

    const renewals = () => engine.log().filter(({ event }) => String(event).startsWith('renew'))
    write(second)
    engine.child.kill('SIGHUP')
    await eventually(() => renewals().length === 1)
    expect(await secure(url, { ca: second.cert })).toMatchObject({ status: 200, shown: 'second' })
    write({ key: second.key, cert: first.cert })
    engine.child.kill('SIGHUP')
    await eventually(() => renewals().length === 2)
    expect(renewals().map(({ event }) => event)).toEqual(['renewed', 'renewal_failed'])
    expect(await secure(url, { ca: second.cert })).toMatchObject({ status: 200, shown: 'second' })
  },
  STARTS_MS,
)

it(
  'an engine behind a proxy that ends TLS sees targets as they were sent, and callers by X-Forwarded-For',
  async () => {
    const limits = { requestBurst: 3, requestsPerSecond: 1 }
    const engine = await made({ trustedProxies: ['127.0.0.1'], limits })
    await engine.start()
    const { key, cert } = await certificate('proxy')
    let caller = '192.0.2.1'
    const proxy = createHttps({ key, cert }, (incoming, outgoing) => {
      const headers = { ...incoming.headers, 'x-forwarded-for': caller }
      const forward = httpRequest(
        engine.url + (incoming.url ?? ''),
        { method: incoming.method, headers, path: incoming.url },
        (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
          answer.pipe(outgoing)
        },
      )
      incoming.pipe(forward)
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => proxy.once('listening', resolve))
    try {
      const base = `https://127.0.0.1:${(proxy.address() as AddressInfo).port}`
      const contract: Address = await deployComponent(at, 'Component', file, [{ address: engine.address, url: base }])
      const path = `/offchain/${contract}/a%2F..%2fb/./c//d?x=%41+b&&y`
      // Asked by another address, which has its own allowance.
      await eventually(async () => {
        caller = `192.0.2.${Math.floor(Math.random() * 200) + 50}`
        return (await secure(base + path, { ca: cert, path })).status === 200
      })
      caller = '198.51.100.1'
      // So many at once are more than the allowance has, however slow the machine.
      const answers = await Promise.all(Array.from({ length: 40 }, () => secure(base + path, { ca: cert, path })))
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]))
      expect(answers.find(({ status }) => status === 200)?.body).toBe('/a%2F..%2fb/./c//d?x=%41+b&&y')
      caller = '198.51.100.2'
      expect((await secure(base + path, { ca: cert, path })).status).toBe(200)
    } finally {
      proxy.close()
      proxy.closeAllConnections()
    }
  },
  STARTS_MS,
)

it(
  'an engine that is told to stop finishes the call that runs, takes no other, and ends with 0',
  async () => {
    let release: () => void = () => undefined
    const asked = new Promise<void>((begun) => {
      hold.once('request', (_, response) => {
        release = () => response.end()
        begun()
      })
    })
    await new Promise((resolve) => hold.listen(0, '127.0.0.1', () => resolve(undefined)))
    const { port } = hold.address() as AddressInfo
    const engine = await made({ outbound: { allow: [`127.0.0.1:${port}`], allowPrivateAddresses: true } })
    await engine.start()
    const contract = await deployComponent(at, 'Component', file, [engine])
    await waitUntilServed([engine], contract)
    const { url } = engine
    const held = fetch(`${url}/offchain/${contract}/hold?url=http://127.0.0.1:${port}/`, { method: 'PUT' })
    await asked
    engine.child.kill('SIGTERM')
    await eventually(() => engine.log().some(({ event }) => event === 'stopping'))
    const isClosed = () =>
      fetch(`${url}/health/live`).then(
        () => false,
        () => true,
      )
    await eventually(isClosed)
    release()
    expect((await held).status).toBe(201)
    expect(await engine.ended).toMatchObject({ status: 0, signal: null })
    await engine.start()
    await waitUntilServed([engine], contract)
    expect(await (await fetch(`${engine.url}/offchain/${contract}/left`)).json()).toEqual(['before', 'after'])
    expect((await contractOf(engine, contract))?.state).toBe('served')
    hold.close()
  },
  STARTS_MS,
)

const hold = createHttp()
