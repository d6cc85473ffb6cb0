import { generateKeyPair as generateKeyPairCallback, X509Certificate } from 'node:crypto'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { isSelfSigned, isSignedBy, leafProblem, parseCertificate, readPemCertificates } from './certificate.ts'
import { writeName } from './certificate-name.ts'
import {
  extendedKeyUsage,
  keyUsage,
  makeCertificate,
  makeSelfSignedCertificate,
  type SelfSignedOptions,
  toPem,
  usualExtensions,
} from './make-certificate.ts'

const generateKeyPair = promisify(generateKeyPairCallback)
const keys = await generateKeyPair('ec', { namedCurve: 'P-256' })
const leafKeys = await generateKeyPair('ec', { namedCurve: 'P-256' })

function selfSigned(change: Partial<SelfSignedOptions> = {}): Buffer {
  return makeSelfSignedCertificate({
    ...keys,
    commonName: 'Universität Köln',
    serial: Buffer.from('f00102030405060708090a0b0c0d0e0f', 'hex'),
    notBefore: new Date('2027-01-01T00:00:00Z'),
    notAfter: new Date('2062-01-01T00:00:00Z'),
    ...change,
  })
}

describe('a self-signed certificate', () => {
  test('is read by node:crypto as it was meant', () => {
    const names = {
      dnsNames: ['university.example', 'localhost'],
      uris: ['https://university.example/issuer'],
      ipAddresses: ['127.0.0.1', '::1', '2001:db8::ff00:42:8329', '::ffff:10.0.0.1'],
    }
    const certificate = new X509Certificate(selfSigned(names))
    expect(certificate.subject).toBe('CN=Universität Köln')
    expect(certificate.issuer).toBe(certificate.subject)
    expect(certificate.serialNumber).toBe('F00102030405060708090A0B0C0D0E0F')
    expect(new Date(certificate.validFrom)).toEqual(new Date('2027-01-01T00:00:00Z'))
    expect(new Date(certificate.validTo)).toEqual(new Date('2062-01-01T00:00:00Z'))
    expect(certificate.ca).toBe(false)
    expect(certificate.verify(keys.publicKey)).toBe(true)
    expect(certificate.subjectAltName).toBe(
      'DNS:university.example, DNS:localhost, URI:https://university.example/issuer, IP Address:127.0.0.1, ' +
        'IP Address:0:0:0:0:0:0:0:1, IP Address:2001:DB8:0:0:0:FF00:42:8329, IP Address:0:0:0:0:0:FFFF:A00:1',
    )
    expect(certificate.checkHost('university.example')).toBe('university.example')
    expect(certificate.checkIP('127.0.0.1')).toBe('127.0.0.1')
  })

  test('says that it is a CA where it is one, and nothing of that otherwise', () => {
    const basicConstraints = Buffer.from('0603551d13', 'hex')
    expect(selfSigned().includes(basicConstraints)).toBe(false)
    expect(selfSigned({ isCa: true }).includes(basicConstraints)).toBe(true)
  })

  test('may sign credentials, and nothing else', () => {
    const certificate = parseCertificate(selfSigned())
    expect(isSignedBy(certificate, certificate)).toBe(true)
    expect(leafProblem(certificate, new Date('2030-01-01T00:00:00Z'), 0, 'credential')).toBeUndefined()
    expect(certificate.isCa).toBe(false)
    expect(certificate.keyUsage).toEqual(new Set(['digitalSignature']))
    expect(certificate.hasSubjectAltName).toBe(false)
  })

  test('may sign certificates and their revocation lists alone when it is a CA', () => {
    const certificate = parseCertificate(selfSigned({ isCa: true }))
    expect(certificate.isCa).toBe(true)
    expect(certificate.pathLength).toBeUndefined()
    expect(certificate.keyUsage).toEqual(new Set(['keyCertSign', 'cRLSign']))
    expect(new X509Certificate(certificate.der).ca).toBe(true)
  })

  test.each(['localhost', '1.2.3', 'fe80::1%eth0', ''])('the address %o is refused', (address) => {
    expect(() => selfSigned({ ipAddresses: [address] })).toThrow(`${address} is not an IP address`)
  })

  test('is the same in PEM', () => {
    const der = selfSigned()
    const pem = toPem(der)
    expect(readPemCertificates(pem).map((certificate) => certificate.der.equals(der))).toEqual([true])
    expect(pem).toBe(new X509Certificate(der).toString())
  })
})

test('a certificate that another signed says by whom, and node:crypto agrees', () => {
  const authority = selfSigned({ isCa: true })
  const { subject: name, subjectKeyIdentifier } = parseCertificate(authority)
  const der = makeCertificate({
    subject: writeName([
      ['C', 'DE'],
      ['CN', 'Leaf'],
    ]),
    publicKey: leafKeys.publicKey,
    issuer: { name, privateKey: keys.privateKey },
    serial: Buffer.of(0, 0x80),
    notBefore: new Date('2049-12-31T00:00:00Z'),
    notAfter: new Date('9999-12-31T23:59:59Z'),
    extensions: usualExtensions({
      publicKey: leafKeys.publicKey,
      issuerPublicKey: keys.publicKey,
      isCa: true,
      pathLength: 0,
    }),
  })
  const certificate = parseCertificate(der)
  expect(isSignedBy(certificate, parseCertificate(authority))).toBe(true)
  expect(certificate.authorityKeyIdentifier).toEqual(subjectKeyIdentifier)
  expect(certificate.subjectKeyIdentifier).not.toEqual(subjectKeyIdentifier)
  expect(certificate.pathLength).toBe(0)
  expect(certificate.selfIssued).toBe(false)
  const theirs = new X509Certificate(der)
  expect(theirs.checkIssued(new X509Certificate(authority))).toBe(true)
  expect(theirs.verify(keys.publicKey)).toBe(true)
  expect(theirs.subject).toBe('C=DE\nCN=Leaf')
  expect(theirs.serialNumber).toBe('80')
  expect(new Date(theirs.validTo)).toEqual(new Date('9999-12-31T23:59:59Z'))
})

test('a key usage is written in as few bits as there are', () => {
  expect(keyUsage(['digitalSignature']).toString('hex')).toMatch(/040403020780$/)
  expect(keyUsage(['keyCertSign', 'cRLSign']).toString('hex')).toMatch(/040403020106$/)
  expect(keyUsage(['decipherOnly']).toString('hex')).toMatch(/04050303070080$/)
})

test.each([
  ['P-256', { namedCurve: 'P-256' }, '1.2.840.10045.4.3.2'],
  ['P-384', { namedCurve: 'P-384' }, '1.2.840.10045.4.3.3'],
  ['P-521', { namedCurve: 'P-521' }, '1.2.840.10045.4.3.4'],
  ['Ed25519', undefined, '1.3.101.112'],
])('a key on %s signs certificates, its own and others, as node:crypto expects', async (_, curve, oid) => {
  const pair = await (curve ? generateKeyPair('ec', curve) : generateKeyPair('ed25519'))
  const authority = parseCertificate(selfSigned({ ...pair, isCa: true }))
  expect(authority.signature.oid).toBe(oid)
  expect(isSelfSigned(authority)).toBe(true)
  const leaf = makeCertificate({
    subject: writeName([['CN', 'Leaf']]),
    publicKey: leafKeys.publicKey,
    issuer: { name: authority.subject, privateKey: pair.privateKey },
    serial: Buffer.of(1),
    notBefore: authority.notBefore,
    notAfter: authority.notAfter,
    extensions: [extendedKeyUsage(['1.0.18013.5.1.2'], true)],
  })
  expect(isSignedBy(parseCertificate(leaf), authority)).toBe(true)
  expect(isSelfSigned(parseCertificate(leaf))).toBe(false)
  expect(parseCertificate(leaf)).toMatchObject({
    extendedKeyUsage: ['1.0.18013.5.1.2'],
    extendedKeyUsageIsCritical: true,
    unknownCritical: [],
  })
  const [theirs, root] = [new X509Certificate(leaf), new X509Certificate(authority.der)]
  expect([theirs.verify(pair.publicKey), root.verify(pair.publicKey)]).toEqual([true, true])
  expect(theirs.checkIssued(root)).toBe(true)
})

test('a key of another kind cannot sign', async () => {
  const other = await generateKeyPair('ec', { namedCurve: 'secp256k1' })
  expect(() => selfSigned(other)).toThrow(/unsupported key type/)
})
