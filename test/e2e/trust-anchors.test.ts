/** The trust anchors of a verifier, and the test of a chain: what the checks of a presentation would say of it. */
import { createPublicKey, type KeyObject } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Certificate, parseCertificate } from '../../src/keys/certificate.ts'
import { type NameAttribute, writeName } from '../../src/keys/certificate-name.ts'
import { EXTENDED_KEY_USAGE } from '../../src/keys/certificate-purpose.ts'
import {
  extendedKeyUsage,
  makeCertificate,
  subjectAltName,
  toPem,
  usualExtensions,
} from '../../src/keys/make-certificate.ts'
import { partOfLimit } from '../support/processor-time.ts'
import { makeKey, type Services, startServices, VERIFIER_URL } from '../support/services.ts'
import { authorization, call } from '../support/wire.ts'

interface TestedCertificate {
  readonly subject: string
  readonly sha256: string
  readonly not_after: number
  readonly file?: string
  readonly problem?: string
}
interface Result {
  readonly trusted: boolean
  readonly trust: string
  readonly checks: readonly { readonly id: string; readonly outcome: string; readonly detail?: string }[]
  readonly certificates: readonly TestedCertificate[]
  readonly path?: readonly TestedCertificate[]
  readonly anchor?: TestedCertificate
  readonly valid_until?: number
}
interface Party {
  readonly key: KeyObject
  readonly certificate: Certificate
  readonly pem: string
}
interface Change {
  readonly isCa?: boolean
  readonly hours?: readonly [from: number, until: number]
  readonly extensions?: readonly Buffer[]
  readonly name?: readonly NameAttribute[]
}

const LIST = `${VERIFIER_URL}/trust-anchors`
const TEST = `${VERIFIER_URL}/trust-anchors/test`
const HOUR = 3_600_000

let issued = 0
async function issue(commonName: string, by?: Party, change: Change = {}): Promise<Party> {
  const { der, key } = await makeDer(commonName, by, change)
  return { key, certificate: parseCertificate(der), pem: toPem(der) }
}

async function makeDer(
  commonName: string,
  by: Party | undefined,
  change: Change,
): Promise<{ readonly der: Buffer; readonly key: KeyObject }> {
  issued += 1
  const key = await makeKey()
  const { isCa = false, hours = [-24, 24], extensions = [], name = [['CN', commonName]] } = change
  const subject = writeName(name)
  const [publicKey, issuerPublicKey] = [createPublicKey(key), createPublicKey(by?.key ?? key)]
  const der = makeCertificate({
    subject,
    publicKey,
    issuer: { name: by?.certificate.subject ?? subject, privateKey: by?.key ?? key },
    serial: Buffer.from(issued.toString(16).padStart(6, '0'), 'hex'),
    notBefore: new Date(Date.now() + hours[0] * HOUR),
    notAfter: new Date(Date.now() + hours[1] * HOUR),
    extensions: [...usualExtensions({ publicKey, issuerPublicKey, isCa }), ...extensions],
  })
  return { der, key }
}

const hexOf = ({ certificate }: Party): string => Buffer.from(certificate.fingerprint, 'base64url').toString('hex')

describe('the trust anchors of a verifier', () => {
  let services: Services
  let root: Party
  let old: Party
  let leaf: Party

  beforeAll(async () => {
    root = await issue('Root', undefined, { isCa: true, hours: [-48, 480] })
    old = await issue('Old root', undefined, { isCa: true, hours: [-48, -1] })
    leaf = await issue('University', root)
    services = await startServices({ anchors: [root.pem, old.pem] })
  })
  afterAll(() => services.close())

  async function test(certificates: string): Promise<Result> {
    const response = await call(services, TEST, { certificates })
    expect(response.status).toBe(200)
    return (await response.json()) as Result
  }

  it('are listed with their file, their digest, until when, and what is wrong with them', async () => {
    const response = await call(services, LIST)
    const list = (await response.json()) as { readonly trust: string; readonly anchors: readonly TestedCertificate[] }
    expect(list).toMatchObject({
      trust: 'anchors',
      anchors: [
        { subject: 'CN=Root', sha256: hexOf(root), file: '0.pem' },
        {
          subject: 'CN=Old root',
          sha256: hexOf(old),
          file: '1.pem',
          problem: expect.stringMatching(/expired on/) as string,
        },
      ],
    })
    expect(list.anchors[0]).not.toHaveProperty('problem')
  })

  it('trust a certificate below one of them, by that anchor, until the first of the path expires', async () => {
    expect(await test(leaf.pem)).toMatchObject({
      trusted: true,
      trust: 'anchors',
      checks: [
        { id: 'issuer.certificate', outcome: 'passed' },
        { id: 'issuer.trusted', outcome: 'passed', detail: 'by way of CN=University, CN=Root' },
      ],
      certificates: [{ subject: 'CN=University', sha256: hexOf(leaf) }],
      path: [{ subject: 'CN=University' }, { subject: 'CN=Root' }],
      anchor: { subject: 'CN=Root', file: '0.pem' },
      valid_until: Math.floor(leaf.certificate.notAfter.getTime() / 1000),
    })
    const ca = await issue('Faculty', root, { isCa: true })
    const below = await issue('Library', ca)
    expect((await test(below.pem + ca.pem)).path?.map(({ subject }) => subject)).toEqual([
      'CN=Library',
      'CN=Faculty',
      'CN=Root',
    ])
  })

  it('trust an anchor itself', async () => {
    expect(await test(root.pem)).toMatchObject({
      trusted: true,
      anchor: { file: '0.pem' },
      path: [{ subject: 'CN=Root' }],
    })
  })

  it.each<[what: string, chain: () => Promise<string>, problem: RegExp]>([
    ['of somebody else', async () => (await issue('Stranger')).pem, /names itself as its issuer and is not an anchor/],
    [
      'whose CA was not sent',
      async () => (await issue('Library', await issue('Faculty', root, { isCa: true }))).pem,
      /no anchor is named 'CN=Faculty', and no certificate of that name was sent/,
    ],
    ['that has expired', async () => (await issue('University', root, { hours: [-9, -1] })).pem, /expired on/],
    [
      'that is not valid yet',
      async () => (await issue('University', root, { hours: [1, 9] })).pem,
      /is not valid before/,
    ],
    ['below an anchor that has expired', async () => (await issue('University', old)).pem, /'CN=Old root' expired on/],
    [
      'below a certificate that is not a CA',
      async () => (await issue('Student', leaf)).pem + leaf.pem,
      /'CN=University' is not a CA/,
    ],
    [
      'of a CA with the name of an anchor',
      async () => (await issue('University', await issue('Root', undefined, { isCa: true }))).pem,
      /is named as the issuer of 'CN=University', but its key did not sign it/,
    ],
    [
      'for web servers',
      async () => {
        const usage = extendedKeyUsage([EXTENDED_KEY_USAGE.tlsServer], false)
        return (await issue('shop.example', root, { extensions: [usage] })).pem
      },
      /is that of a TLS server/,
    ],
  ])('do not trust a certificate %s, and say why', async (_what, chain, problem) => {
    const { trusted, checks } = await test(await chain())
    expect(trusted).toBe(false)
    expect(checks.find(({ outcome }) => outcome === 'failed')?.detail).toMatch(problem)
  })

  it('answer soon and briefly for a certificate with 2,000 names', async () => {
    const dnsNames = Array.from({ length: 2000 }, (_, n) => `${n}.x`)
    const manyNames = await makeDer('University', root, { extensions: subjectAltName({ dnsNames }) })
    const attributes = Array.from({ length: 64 }, (_, n): NameAttribute => ['CN', `${n}`.repeat(90)])
    const longName = await issue('University', root, { name: attributes })
    expect([manyNames.der.length, longName.certificate.der.length].every((length) => length > 8000)).toBe(true)
    let [refused, text] = ['', '']
    const taken = await partOfLimit(1000, async () => {
      refused = await (await call(services, TEST, { certificates: toPem(manyNames.der) })).text()
      text = JSON.stringify(await test(longName.pem))
    })
    expect(taken).toBeLessThan(1)
    expect(refused).toMatch(/certificates: certificate 1: the extension .* it has more than 100 names/)
    expect(text.length).toBeLessThan(5000)
    expect(JSON.parse(text)).toMatchObject({ trusted: true, anchor: { subject: 'CN=Root' } })
  })

  it('refuse what is not a chain, and repeat no key that was pasted', async () => {
    const key = leaf.key.export({ type: 'pkcs8', format: 'pem' }) as string
    for (const [certificates, problem] of [
      ['', /no PEM certificate/],
      ['hello', /no PEM certificate/],
      [key, /private key/],
      [leaf.pem + key, /private key/],
      [leaf.pem.slice(0, leaf.pem.indexOf('-----END')), /END line is missing/],
      [toPem(Buffer.alloc(300, 48)), /certificate 1/],
      [leaf.pem.repeat(11), /more than 10/],
    ] as const) {
      const response = await call(services, TEST, { certificates })
      const body = (await response.json()) as { readonly error: string; readonly error_description: string }
      expect([response.status, body.error]).toEqual([400, 'invalid_request'])
      expect(body.error_description).toMatch(problem)
      expect(body.error_description).toMatch(/^certificates: /)
    }
    expect(services.logLines.join('')).not.toContain(key.split('\n')[1] ?? '-')
    const large = await call(services, TEST, { certificates: 'x'.repeat(65_537) })
    expect(large.status).toBe(400)
    const huge = await call(services, TEST, { certificates: 'x'.repeat(2_000_000) })
    expect(huge.status).toBe(413)
    for (const body of [{}, { certificates: [leaf.pem] }, { certificates: leaf.pem, anchors: leaf.pem }]) {
      expect((await call(services, TEST, body)).status).toBe(400)
    }
  })

  it('refuse a certificate whose key is broken, and the log has the reason of the library', async () => {
    const { der, key } = await makeDer('University', root, {})
    const spki = createPublicKey(key).export({ type: 'spki', format: 'der' })
    const broken = Buffer.from(der)
    broken.writeUInt8(0xff ^ broken.readUInt8(der.indexOf(spki) + spki.length - 1), der.indexOf(spki) + spki.length - 1)
    const response = await call(services, TEST, { certificates: toPem(broken) })
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringMatching(/certificate 1: the public key/),
    ])
    const lines = services.logLines.map((line) => JSON.parse(line) as { readonly event: string })
    expect(lines.findLast(({ event }) => event === 'refused')).toMatchObject({
      cause: { reason: expect.any(String) as string },
    })
  })

  it('are shown to nobody without an API key', async () => {
    for (const headers of [{}, { authorization: `${authorization.authorization}x` }] as Record<string, string>[]) {
      expect((await services.fetch(LIST, { headers })).status).toBe(401)
      const body = JSON.stringify({ certificates: leaf.pem })
      const init = { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body }
      expect((await services.fetch(TEST, init)).status).toBe(401)
    }
  })
})

describe('a verifier without trust anchors', () => {
  it('says that it trusts any certificate that may sign', async () => {
    const services = await startServices({ verifier: { issuerTrustAnchors: undefined } })
    const list = await (await call(services, LIST)).json()
    expect(list).toEqual({ trust: 'open', anchors: [], trust_lists: [] })
    const stranger = await issue('Stranger')
    const result = (await (await call(services, TEST, { certificates: stranger.pem })).json()) as Result
    expect(result).toMatchObject({ trusted: true, trust: 'open', checks: [{}, { outcome: 'not_applicable' }] })
    expect([result.path, result.anchor, result.valid_until]).toEqual([undefined, undefined, undefined])
    await services.close()
  })
})
