/** Attacks on memory, time and disk: what one stranger sends must not keep the others from being served. */

import { type ChildProcess, spawn } from 'node:child_process'
import { createPublicKey } from 'node:crypto'
import { once } from 'node:events'
import { openSync, readFileSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { toBase64url } from '../../src/codec/base64url.ts'
import { digestOf } from '../../src/codec/digest.ts'
import { readJws } from '../../src/codec/jws.ts'
import { readSdJwt, revealClaims } from '../../src/codec/sd-jwt.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { parseCertificate } from '../../src/keys/certificate.ts'
import { verifyCertificateSignature } from '../../src/keys/certificate-signature.ts'
import { verifyVpResponse } from '../../src/verifier/verification.ts'
import { silentLog } from '../support/check-log.ts'
import { COMMAND, startCommand } from '../support/command.ts'
import { freePort } from '../support/free-port.ts'
import { partOfLimit } from '../support/processor-time.ts'
import { serviceDirectory } from '../support/service-process.ts'
import { noStatus } from './attack.ts'

describe('what is sent costs little to refuse', () => {
  it('an RSA key with a long exponent, which makes each verification slow', async () => {
    const jwk = { kty: 'RSA', n: toBase64url(Buffer.alloc(384, 0xc1)), e: toBase64url(Buffer.alloc(384, 0xb3)) }
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    const algorithm = { digest: 'sha256', keyType: 'rsa' } as Parameters<typeof verifyCertificateSignature>[0]
    const taken = await partOfLimit(100, () => {
      for (let i = 0; i < 100; i++)
        expect(verifyCertificateSignature(algorithm, key, Buffer.from('a'), Buffer.alloc(384, 1))).toBe(false)
    })
    expect(taken).toBeLessThan(1)
  })

  it('a payload of more values than can be disclosed', () => {
    const claims = { credentialSubject: { list: Array.from({ length: 3001 }, (_, i) => i) } }
    expect(() => revealClaims(claims, [])).toThrow(/more than 3000 values/)
    const disclosure = toBase64url(JSON.stringify(['salt', 'list', Array.from({ length: 3001 }, () => 0)]))
    expect(() => revealClaims({ _sd: [digestOf(disclosure)] }, [disclosure])).toThrow(/more than 3000 values/)
  })

  it('more disclosures than anybody needs', () => {
    expect(() => readSdJwt(`e30.e30.AA~${'e30~'.repeat(2001)}`)).toThrow(/more than 2000 disclosures/)
  })

  it('a plain JWT of more values than a query should look at, or with a chain of any length', () => {
    const part = (value: object): string => toBase64url(JSON.stringify(value))
    const vc = { type: ['VerifiableCredential'], credentialSubject: { list: Array.from({ length: 3000 }, () => 0) } }
    const jwt = `${part({ alg: 'ES256' })}.${part({ vc })}.AA`
    const vp = part({ vp: { type: ['VerifiablePresentation'], verifiableCredential: [jwt] } })
    expect(() => formatOf('jwt_vc_json')?.read(`${part({ alg: 'ES256' })}.${vp}.AA`)).toThrow(/more than 3000 values/)
    const chain = Array.from({ length: 1000 }, () => '')
    expect(() => readJws(`${part({ x5c: chain })}.e30.AA`)).toThrow('the header: it has more than 1000 values')
    const names = Array.from({ length: 20_000 }, () => '')
    expect(() => readJws(`e30.${part({ aka_vcts: names })}.AA`)).toThrow('the payload: it has more than 20000 values')
  })

  it('twenty presentations, between which others are served', async () => {
    let turns = 0
    let next = setImmediate(function turn() {
      turns += 1
      next = setImmediate(turn)
    })
    const vpToken = new Map([['card', Array<string>(20).fill('x')]])
    const query = { credentials: [{ id: 'card', format: 'dc+sd-jwt', meta: {}, multiple: true }] }
    const binding = { nonce: '', audience: '', recipient: { responseUri: '' }, encryptionKeyThumbprint: undefined }
    const now = new Date()
    const trust = { trustAnchors: undefined, issuerIdentifier: undefined, acceptTlsServerCertificates: false }
    const given = { ...trust, parseCertificate, status: noStatus, loadTrustLists: () => Promise.resolve([]) }
    const rest = { state: '', binding, transactions: [], sessionStart: now, now, clockSkewSeconds: 0, ...given }
    const { credentials } = await verifyVpResponse({ vpToken, state: undefined }, { query, ...rest }, silentLog)
    clearImmediate(next)
    expect(credentials.card).toHaveLength(20)
    expect(turns).toBeGreaterThan(15)
  })

  it('a certificate larger than any is', () => {
    expect(() => parseCertificate(Buffer.alloc(16_385, 0x30))).toThrow(/larger than 16384 bytes/)
  })
})

describe('a running service', () => {
  const children: ChildProcess[] = []
  const sockets: Socket[] = []
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy()
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })

  const open = (port: number): Promise<Socket> =>
    new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1', () => resolve(socket))
      sockets.push(socket)
      socket.on('error', reject)
    })

  it('ends a connection that asks without reading, and keeps its memory', async () => {
    const { port, child } = await started(children)
    const answer = await fetch(`http://127.0.0.1:${port}/openapi`).then((response) => response.arrayBuffer())
    const before = memoryOf(child)
    const closed = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const socket = await open(port)
        socket.on('error', () => undefined)
        socket.pause()
        const ended = new Promise((resolve) => socket.once('close', resolve))
        socket.write('GET /openapi HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(2000))
        // Reading is what notices the end; by then the server has long closed.
        setTimeout(() => socket.resume(), 1000)
        return ended
      }),
    )
    expect(closed).toHaveLength(20)
    expect((await fetch(`http://127.0.0.1:${port}/health/live`)).status).toBe(200)
    // The service keeps 64 MiB of unread answers; what is around them is collected when V8 sees fit. All of the answers
    // would be gigabytes.
    const megabytes = (20 * 2000 * answer.byteLength) / 2 ** 20
    expect(megabytes).toBeGreaterThan(1500)
    if (before !== undefined) expect((memoryOf(child) ?? 0) - before).toBeLessThan(megabytes / 4)
  })

  it('serves on when its log can no longer be written', async () => {
    const port = await freePort()
    const directory = await serviceDirectory('issuer', { port })
    const child = spawn(process.execPath, [COMMAND, 'issuer'], {
      cwd: directory,
      stdio: ['ignore', openSync('/dev/full', 'w'), 'ignore'],
    })
    children.push(child)
    await answering(port)
    for (let i = 0; i < 20; i++) expect((await fetch(`http://127.0.0.1:${port}/nowhere`)).status).toBe(404)
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
  })

  it('stops, although a stranger holds back half of a request', async () => {
    const { port, child, ended } = await started(children)
    const socket = await open(port)
    socket.on('error', () => undefined)
    socket.write('POST /auth/token-endpoint HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\n')
    socket.write('Content-Length: 100\r\nExpect: 100-continue\r\n\r\ngrant_type=')
    // The service has read the headers when it asks for the body.
    expect(String(await once(socket, 'data'))).toBe('HTTP/1.1 100 Continue\r\n\r\n')
    child.kill('SIGTERM')
    expect(['stopped', 'stopping_hard']).toContain((await ended).stdout.match(/"event":"(stopp\w+)"[^\n]*\n$/)?.[1])
  })
})

async function started(children: ChildProcess[]) {
  const port = await freePort()
  const directory = await serviceDirectory('issuer')
  const file = join(directory, 'conf', 'server.json')
  writeFileSync(file, JSON.stringify({ ...(JSON.parse(readFileSync(file, 'utf8')) as object), port }))
  const { child, ended } = startCommand(['issuer'], { cwd: directory })
  children.push(child)
  await answering(port)
  return { port, child, ended }
}

async function answering(port: number): Promise<void> {
  await expect
    .poll(async () => (await fetch(`http://127.0.0.1:${port}/health/live`).catch(() => undefined))?.ok)
    .toBe(true)
}

/** Megabytes, where the system tells. */
function memoryOf({ pid }: ChildProcess): number | undefined {
  try {
    const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
    return kilobytes === undefined ? undefined : Number(kilobytes) / 1024
  } catch {
    return undefined
  }
}
