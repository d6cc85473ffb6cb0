import { createPublicKey, randomBytes } from 'node:crypto'
import { pino } from 'pino'
import { expect, it } from 'vitest'
import { makeKey } from '../../../test/support/services.ts'
import { createServerTls } from '../../config/server-tls.ts'
import { parseCertificate } from '../../keys/certificate.ts'
import { makeSelfSignedCertificate, toPem } from '../../keys/make-certificate.ts'
import { createCertificateTask } from './certificate-task.ts'

const HOUR_MS = 3_600_000

it('tells of a certificate that ends: a warning a day in the last weeks, an error an hour from the end until it is renewed', async () => {
  const start = Date.now()
  const key = await makeKey()
  const keysUntil = (end: number) => {
    const content = { publicKey: createPublicKey(key), commonName: 'short', serial: randomBytes(16) }
    const [notBefore, notAfter] = [new Date(start - HOUR_MS), new Date(end)]
    const chain = [parseCertificate(makeSelfSignedCertificate({ privateKey: key, ...content, notBefore, notAfter }))]
    return {
      signing: { key, chain: chain as never, previous: [{ key, chain: chain as never }] },
      secrets: [new Uint8Array(32)] as never,
    }
  }
  let keys = keysUntil(start + 32.5 * 24 * HOUR_MS)
  let now = start
  const lines: { level: number; event: string; warning?: string; mistake?: string }[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) })
  const task = createCertificateTask(
    () => ({ keys, tls: undefined }),
    log,
    () => new Date(now),
  )
  const runHours = async (hours: number) => {
    for (let round = 0; round < hours; round += 1) {
      now += HOUR_MS
      await task.run()
      await task.run()
    }
    return lines.splice(0)
  }
  expect(await runHours(24)).toEqual([])
  expect(await runHours(72)).toMatchObject([
    {
      level: 40,
      event: 'configuration_warning',
      warning: expect.stringMatching(/^signing: CN=short is valid until/) as string,
    },
    { level: 40, warning: expect.stringMatching(/^signing\.previous\[0\]: CN=short is valid until/) as string },
    { level: 40 },
    { level: 40 },
  ])
  now = start + 32.5 * 24 * HOUR_MS
  await runHours(1)
  expect(await runHours(3)).toMatchObject(
    Array(3).fill({
      level: 50,
      event: 'certificate_ended',
      mistake: expect.stringMatching(/^signing: .* ended on .*SIGHUP/) as string,
    }),
  )
  keys = keysUntil(now + 365 * 24 * HOUR_MS)
  expect(await runHours(30)).toEqual([])
})

it('tells of the certificates of TLS and of signed metadata too', async () => {
  const key = await makeKey()
  const certificateFor = (days: number) => {
    const [notBefore, notAfter] = [new Date(0), new Date(Date.now() + days * 24 * HOUR_MS)]
    const content = { publicKey: createPublicKey(key), commonName: 'short', serial: randomBytes(16) }
    return makeSelfSignedCertificate({ privateKey: key, ...content, notBefore, notAfter })
  }
  const keyFor = (days: number) => ({ key, chain: [parseCertificate(certificateFor(days))] as never, previous: [] })
  const lines: object[] = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line) as object) })
  const keys = { signing: keyFor(90), accessTokens: keyFor(-1), secrets: [new Uint8Array(32)] as never }
  const tls = createServerTls({ keyPem: '', certificatePem: toPem(certificateFor(9)) })
  let now = Date.now()
  const task = createCertificateTask(
    () => ({ keys, tls }),
    log,
    () => new Date(now),
  )
  now += 24 * HOUR_MS
  await task.run()
  expect(lines).toMatchObject([
    {
      event: 'certificate_ended',
      mistake: expect.stringMatching(/^keys\.accessTokens: /) as string,
      msg: 'issuer metadata is sent unsigned until the certificate is renewed',
    },
    { warning: expect.stringMatching(/^keys\.accessTokens: /) as string },
    { warning: expect.stringMatching(/^tls: CN=short is valid until/) as string },
  ])
})
