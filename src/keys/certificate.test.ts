import {
  constants,
  createHash,
  createPublicKey,
  generateKeyPair as generateKeyPairCallback,
  type KeyObject,
  type KeyPairKeyObjectResult,
  sign,
  verify,
  X509Certificate,
} from 'node:crypto'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { partOfLimit } from '../../test/support/processor-time.ts'
import { TIMES } from '../../test/support/seeds.ts'
import {
  contextTag,
  DER_TAG,
  readDer,
  writeBitString,
  writeBoolean,
  writeDer,
  writeInteger,
  writeOctetString,
  writeOid,
  writeSequence,
  writeTime,
} from '../codec/der.ts'
import { MalformedError } from '../codec/malformed.ts'
import {
  type Certificate,
  cacheCertificates,
  certificateProblem,
  isSignedBy,
  leafProblem,
  parseCertificate,
  readPemCertificates,
} from './certificate.ts'
import { writeName } from './certificate-name.ts'
import { type CertificatePurpose, EXTENDED_KEY_USAGE } from './certificate-purpose.ts'
import {
  basicConstraints,
  type CertificateContent,
  extension,
  keyUsage,
  makeCertificate,
  subjectAltName,
  toPem,
  usualExtensions,
} from './make-certificate.ts'

// Made once with OpenSSL 3.0; valid for a hundred years.
const RSASSA_PSS = `-----BEGIN CERTIFICATE-----
MIIDxzCCAnugAwIBAgIUHWYFbTXhObxRBkJTueIxgHsEw+gwQQYJKoZIhvcNAQEK
MDSgDzANBglghkgBZQMEAgEFAKEcMBoGCSqGSIb3DQEBCDANBglghkgBZQMEAgEF
AKIDAgEgMD4xCzAJBgNVBAYTAkRFMRowGAYDVQQKDBFNdXN0ZXIgSG9jaHNjaHVs
ZTETMBEGA1UEAwwKUlNBU1NBLVBTUzAgFw0yNjExMjAwODAyMzRaGA8yMTI2MTAy
NzA4MDIzNFowPjELMAkGA1UEBhMCREUxGjAYBgNVBAoMEU11c3RlciBIb2Noc2No
dWxlMRMwEQYDVQQDDApSU0FTU0EtUFNTMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A
MIIBCgKCAQEAkF3NwpifRGJ5uoo8+QIWxyVO3uDnu99tZA3GNriPpPG5sdDFJgvv
JY9vvDzsjOxQWgJLAiszsqIzIaSkjTSqqEg8dcotvavTsE55ZNwPpsPosNfw5MQ2
GvyiKb1S+IobR80GgaM81KbMWZygZ78kUjZMYBDbibs8JgaZLLuSWz57vJrW0PYo
pk4o32gCzooVuBMhbXeTdCIzE5pVIwtCNG/4Hccgn1kniboGFvzP9r6FXUhVEOdp
h1GcXR5U0isa7SIOlfA5krMHCvENvhQ5rzwF7SStnFg1a7NyQ3NWYTU8akJwZPHM
qVoTbjAtXYtwJwMbUdWhu8XHKI1EPMfNmwIDAQABo1MwUTAdBgNVHQ4EFgQU7GAI
xDzA0hag0P5iH6ziSqAqa8EwHwYDVR0jBBgwFoAU7GAIxDzA0hag0P5iH6ziSqAq
a8EwDwYDVR0TAQH/BAUwAwEB/zBBBgkqhkiG9w0BAQowNKAPMA0GCWCGSAFlAwQC
AQUAoRwwGgYJKoZIhvcNAQEIMA0GCWCGSAFlAwQCAQUAogMCASADggEBAISkxkDy
NyExTkn9mLPFHOZNQV6vNQbIvKd/1zmecZ2B7V4UUb/2z5AcEPXafftNrvOVh3aB
RvlJeNfRY0lFqgSdFwCMlr53pReUt5D2eCK4idf8qUna938dkwtRoWH5899I2DhH
CHpl1IIU3EPvnW+a/n6kTFBQVrTxC+/kR/az3yD9AbZVhMEDd9V6YYgFCK7Y7xuM
+qWX7KdaMXmruQvLyM2zck7tk9TVcXq6NTamv08+sCkBu6C1vKt3QJCpU4xhIyFi
YHVkg41ZioAoFLtMRwzu5f6k7qWjP6NCc0++LKqoN8Mzt3g0lVF/5OZho2u7X5pG
FHihbmFfrDNaG7I=
-----END CERTIFICATE-----
`

const P384 = `-----BEGIN CERTIFICATE-----
MIIBtTCCATqgAwIBAgIUN95Ul+yKW9WeEEBCV8+ADCdE+7MwCgYIKoZIzj0EAwMw
EDEOMAwGA1UEAwwFUC0zODQwIBcNMjYxMTIwMDgwMjM0WhgPMjEyNjEwMjcwODAy
MzRaMBAxDjAMBgNVBAMMBVAtMzg0MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEBILM
9SgkgJq7jsGkx1XYAnVY7gXYQXWAl04U8FkAFNoGokjF0gNi/CJGfwl7sqEexeq+
g+if0iIZ7RwxGSKFCtD5/qjWZtuYD44z0v60/WJfiuMjB83Sl76AQtvG+Nabo1Mw
UTAdBgNVHQ4EFgQUFVrwGPv9qBuTZDxch1Bf+qWjIv8wHwYDVR0jBBgwFoAUFVrw
GPv9qBuTZDxch1Bf+qWjIv8wDwYDVR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAwNp
ADBmAjEAt5kVgkq0KfDol7oDvYU1dMv5UQb371yO9rZyx7qhbS54S4YSEv7t5+RT
OFnqzyoyAjEAl77MgIrlC2i3MZshSHcXeXgCpM787UB3LWNjHCzYL5JbDBUrBQiy
MwXmBufpyLCw
-----END CERTIFICATE-----
`

const ED25519 = `-----BEGIN CERTIFICATE-----
MIIBOjCB7aADAgECAhRDgyfDDO0HwDN+sEKnmvSNplUNpzAFBgMrZXAwEjEQMA4G
A1UEAwwHRWQyNTUxOTAgFw0yNjExMjAwODAyMzRaGA8yMTI2MTAyNzA4MDIzNFow
EjEQMA4GA1UEAwwHRWQyNTUxOTAqMAUGAytlcAMhAFLKTNP9157POZpWb8bhN8dC
RGz1oN1XRkzl3NwtRKtuo1MwUTAdBgNVHQ4EFgQUuzMUn/i34kcPcop8wIpLJLXV
PHEwHwYDVR0jBBgwFoAUuzMUn/i34kcPcop8wIpLJLXVPHEwDwYDVR0TAQH/BAUw
AwEB/zAFBgMrZXADQQAMXUITK974w6/mu0raBsqTxYE2DWZZyIPmhMDKDez16k1D
zZ9AwAglDj4QDiHB6loeLVxsFAm3F0gu+EsuP6sE
-----END CERTIFICATE-----
`

const VERSION_1 = `-----BEGIN CERTIFICATE-----
MIIBFjCBvQIUUnBq0XaaD1UnQDzXHtenN8kqNF8wCgYIKoZIzj0EAwIwDTELMAkG
A1UEAwwCdjEwIBcNMjYxMTIwMDgwMjM0WhgPMjEyNjEwMjcwODAyMzRaMA0xCzAJ
BgNVBAMMAnYxMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEIdUT2J3wdi6ogGEK
eOM9zPa26EkDagSCPUJRmbwRBIl5vRvV5gDp29rkVmp6h2l1pg8UCkqDbNGQopvb
dVAzljAKBggqhkjOPQQDAgNIADBFAiBvtXWxp7crc8sD0XBhqt4KgyT5Yh5iNNva
Kmi+uUeC+wIhAOqIn0fCBh2xvWDEuE9j4dpDaky60eg8fVgUrMHRlvFF
-----END CERTIFICATE-----
`

const EXPLICIT_CURVE = `-----BEGIN CERTIFICATE-----
MIICcTCCAhegAwIBAgIUQ9i4y+5IAFUraoxnALK6X6li3hMwCgYIKoZIzj0EAwIw
EzERMA8GA1UEAwwIRXhwbGljaXQwIBcNMjYxMTIwMDgwMjM0WhgPMjEyNjEwMjcw
ODAyMzRaMBMxETAPBgNVBAMMCEV4cGxpY2l0MIIBSzCCAQMGByqGSM49AgEwgfcC
AQEwLAYHKoZIzj0BAQIhAP////8AAAABAAAAAAAAAAAAAAAA////////////////
MFsEIP////8AAAABAAAAAAAAAAAAAAAA///////////////8BCBaxjXYqjqT57Pr
vVV2mIa8ZR0GsMxTsPY7zjw+J9JgSwMVAMSdNgiG5wSTamZ44ROdJreBn36QBEEE
axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54W
K84zV2sxXs7LtkBoN79R9QIhAP////8AAAAA//////////+85vqtpxeehPO5ysL8
YyVRAgEBA0IABLjV7+e3tj6AgmBDqGSU/3Z/ZcG5pThXrIEO2y9zy4pcMjkvT4NS
ZuuYGGWvVQJZ3XaOTzKCelb4EXWU5lKzO4qjUzBRMB0GA1UdDgQWBBSj+HfDUEUq
HhQzz0SGLM2cfMj0xzAfBgNVHSMEGDAWgBSj+HfDUEUqHhQzz0SGLM2cfMj0xzAP
BgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCA0gAMEUCIEb6fJYr9nAhWpaKbh/t
HxLVizlYYnCBUYHoX1/T8pNQAiEAgbkL8ik2Q/34sI7cUdCJBLm8Uvqac4RHL95n
n0qYq/w=
-----END CERTIFICATE-----
`

const SHA1 = `-----BEGIN CERTIFICATE-----
MIIBdTCCARygAwIBAgIUOpC/qJ0G8+UbUMK3PUrDBJOrVJMwCQYHKoZIzj0EATAQ
MQ4wDAYDVQQDDAVTSEEtMTAgFw0yNjExMjAwODAyMzRaGA8yMTI2MTAyNzA4MDIz
NFowEDEOMAwGA1UEAwwFU0hBLTEwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASq
qSM6m38MyYyX1Fds5Fk4m4xV2H2weLicZu0QvRbg14GVv2rz9vS+2Rc2hRdK2Wit
/HONaELBeEA7kDVdrtR3o1MwUTAdBgNVHQ4EFgQUPPrUhiUwJ91RSlMGLnDGbc3T
BbcwHwYDVR0jBBgwFoAUPPrUhiUwJ91RSlMGLnDGbc3TBbcwDwYDVR0TAQH/BAUw
AwEB/zAJBgcqhkjOPQQBA0gAMEUCIHT35SCvnvdMM/sku2snjr3zIlDk1VP3EBMi
377jdqJ/AiEA8hFiFcthMMCh5C4jJR0llsUOS8joeaaD/eyoEWoI6yM=
-----END CERTIFICATE-----
`

const MANY_NAMES = `-----BEGIN CERTIFICATE-----
MIICTzCCAfagAwIBAgIUffwM4u0QnXVvDHT7Eufvca+r28owCgYIKoZIzj0EAwIw
QzELMAkGA1UEBhMCREUxJjAIBgNVBAsMAUEwGgYDVQQKDBNVbml2ZXJzaXTDpHQs
IEvDtmxuMQwwCgYDVQQDDAN4L3kwIBcNMjYxMTIwMDgwMjM0WhgPMjEyNjEwMjcw
ODAyMzRaMEMxCzAJBgNVBAYTAkRFMSYwCAYDVQQLDAFBMBoGA1UECgwTVW5pdmVy
c2l0w6R0LCBLw7ZsbjEMMAoGA1UEAwwDeC95MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAE+9k1M3FWKFxUGieVQdsJ6PvtUx01uNSFObM286VIW0MHJna6VSp2JgYy
SkgRPitIodmMYgaiawgUcX+v08g0U6OBxTCBwjAdBgNVHQ4EFgQUSTH5p2w1Lzl8
Pg1OOCh4VIYCCIkwHwYDVR0jBBgwFoAUSTH5p2w1Lzl8Pg1OOCh4VIYCCIkwDwYD
VR0TAQH/BAUwAwEB/zBeBgNVHREEVzBVgglhLmV4YW1wbGWHBAoAAAGHECABDbgA
AAAAAAAAAAAAAAGGE2h0dHBzOi8vYS5leGFtcGxlL3iBC2FAYi5leGFtcGxlpA4w
DDEKMAgGA1UEAwwBcTAPBgNVHQ8BAf8EBQMDB4CAMAoGCCqGSM49BAMCA0cAMEQC
IDWqq2nqNsU7OGU7u5Wo2Ub6FSjCJ34pcsz8Gt/7RKIfAiBI2ebXZwVpFH88zZyi
193eeAeb4SSbXLbQo3QGO9ly3Q==
-----END CERTIFICATE-----
`

const NOW = new Date('2027-06-01T12:00:00Z')
// Asynchronous: a key of the synchronous kind may never be exported in Node 20.
const generateKeyPair = promisify(generateKeyPairCallback)
const keys = await generateKeyPair('ec', { namedCurve: 'P-256' })
const otherKeys = await generateKeyPair('ec', { namedCurve: 'P-256' })
const name = writeName([
  ['C', 'DE'],
  ['O', 'Example Foundation'],
  ['CN', 'Example University'],
])

function make(change: Partial<CertificateContent> = {}): Buffer {
  return makeCertificate({
    subject: name,
    publicKey: keys.publicKey,
    issuer: { name, privateKey: keys.privateKey },
    serial: Buffer.from('7f01', 'hex'),
    notBefore: new Date('2027-01-01T00:00:00Z'),
    notAfter: new Date('2028-01-01T00:00:00Z'),
    extensions: usualExtensions({
      publicKey: keys.publicKey,
      issuerPublicKey: keys.publicKey,
      isCa: false,
      names: { dnsNames: ['university.example'], uris: ['https://university.example'] },
    }),
    ...change,
  })
}

/** Changes the members of the signed part of the certificate; the signature is not made again. */
function edit(der: Uint8Array, change: (members: Buffer[]) => readonly Buffer[]): Buffer {
  const [signed, ...rest] = readDer(der).children
  const members = (signed?.children ?? []).map((member) => member.der)
  return writeSequence(writeSequence(...change(members)), ...rest.map((part) => part.der))
}

const replace = (index: number, member: Buffer) => (members: Buffer[]) => members.with(index, member)

function expectMalformed(run: () => unknown, why: RegExp): void {
  expect(run).toThrow(MalformedError)
  expect(run).toThrow(why)
}

function pemOne(pem: string): Certificate {
  const [certificate] = readPemCertificates(pem)
  if (certificate === undefined) throw new Error('no certificate')
  return certificate
}

describe('what a certificate says', () => {
  test('its members are what we wrote', () => {
    const der = make()
    const certificate = parseCertificate(der)
    expect(certificate.der.equals(der)).toBe(true)
    expect(certificate.subject.equals(name)).toBe(true)
    expect(certificate.subjectText).toBe('CN=Example University, O=Example Foundation, C=DE')
    expect(certificate.issuerText).toBe(certificate.subjectText)
    expect(certificate.selfIssued).toBe(true)
    expect(certificate.notBefore).toEqual(new Date('2027-01-01T00:00:00Z'))
    expect(certificate.notAfter).toEqual(new Date('2028-01-01T00:00:00Z'))
    expect(certificate.publicKey.equals(keys.publicKey)).toBe(true)
    expect(certificate.isCa).toBe(false)
    expect(certificate.pathLength).toBeUndefined()
    expect(certificate.keyUsage).toEqual(new Set(['digitalSignature']))
    expect(certificate.dnsNames).toEqual(['university.example'])
    expect(certificate.uris).toEqual(['https://university.example'])
    expect(certificate.hasSubjectAltName).toBe(true)
    expect(certificate.unknownCritical).toEqual([])
    expect(certificate.subjectKeyIdentifier).toEqual(certificate.authorityKeyIdentifier)
    expect(certificate.subjectKeyIdentifier).toHaveLength(20)
    expect(certificate.extendedKeyUsage).toBeUndefined()
  })

  test('a certificate that says little is said to say little', () => {
    const certificate = parseCertificate(make({ extensions: [] }))
    expect(certificate.isCa).toBe(false)
    expect(certificate.keyUsage).toBeUndefined()
    expect(certificate.hasSubjectAltName).toBe(false)
    expect(certificate.dnsNames).toEqual([])
    expect(certificate.subjectKeyIdentifier).toBeUndefined()
    expect(certificate.authorityKeyIdentifier).toBeUndefined()
  })

  test('a CA has a path length, and 0 is not the same as none', () => {
    expect(parseCertificate(make({ extensions: [basicConstraints(true)] })).pathLength).toBeUndefined()
    expect(parseCertificate(make({ extensions: [basicConstraints(true, 0)] })).pathLength).toBe(0)
    expect(parseCertificate(make({ extensions: [basicConstraints(true, 300)] })).pathLength).toBe(300)
  })

  test.each([
    ['a new one', toPem(make())],
    ['RSASSA-PSS', RSASSA_PSS],
    ['P-384', P384],
    ['Ed25519', ED25519],
    ['version 1', VERSION_1],
    ['SHA-1', SHA1],
    ['many names', MANY_NAMES],
  ])('node:crypto reads the same from %s', (_, pem) => {
    const [ours, theirs] = [pemOne(pem), new X509Certificate(pem)]
    expect(Buffer.from(ours.fingerprint, 'base64url').toString('hex')).toBe(
      theirs.fingerprint256.replaceAll(':', '').toLowerCase(),
    )
    expect(ours.der.equals(theirs.raw)).toBe(true)
    expect(ours.notBefore).toEqual(new Date(theirs.validFrom))
    expect(ours.notAfter).toEqual(new Date(theirs.validTo))
    // Theirs takes the key usage into account.
    expect(ours.isCa && ours.keyUsage?.has('keyCertSign') !== false).toBe(theirs.ca)
    expect(ours.publicKey.equals(theirs.publicKey)).toBe(true)
    expect(ours.hasSubjectAltName).toBe(theirs.subjectAltName !== undefined)
    const alternatives = theirs.subjectAltName?.split(', ') ?? []
    const of = (kind: string) =>
      alternatives.filter((text) => text.startsWith(kind)).map((text) => text.slice(kind.length))
    expect(ours.dnsNames).toEqual(of('DNS:'))
    expect(ours.uris).toEqual(of('URI:'))
    expect(theirs.subject.replaceAll('\n', ' ')).toContain(/CN=([^,]+)/.exec(ours.subjectText)?.[1])
  })

  test('every bit of the key usage has its name', () => {
    expect(pemOne(MANY_NAMES).keyUsage).toEqual(new Set(['digitalSignature', 'decipherOnly']))
    const usages = ['keyCertSign', 'cRLSign', 'encipherOnly'] as const
    expect(parseCertificate(make({ extensions: [keyUsage(usages)] })).keyUsage).toEqual(new Set(usages))
  })

  test('the text of a name is escaped, shortened, and cannot rearrange a log', () => {
    expect(pemOne(MANY_NAMES).subjectText).toBe('CN=x/y, OU=A+O=Universität\\, Köln, C=DE')
    const textOf = (text: string) => parseCertificate(make({ subject: writeName([['CN', text]]) })).subjectText
    expect(textOf('a\nb\u202ec')).toBe('CN=a\\0ab\\e2\\80\\aec')
    expect(textOf('x'.repeat(500))).toBe(`CN=${'x'.repeat(197)}…`)
    const odd = writeSequence(writeDer(DER_TAG.set, writeSequence(writeOid('1.2.3'), writeInteger(5))))
    expect(parseCertificate(make({ subject: odd })).subjectText).toBe('1.2.3=#020105')
    expect(parseCertificate(make({ subject: writeSequence() })).subjectText).toBe('')
  })

  test('the fields are copies: who changes the bytes afterwards changes nothing', () => {
    const der = make()
    const certificate = parseCertificate(der)
    der.fill(0)
    expect(certificate.subject.equals(name)).toBe(true)
    expect(isSignedBy(certificate, certificate)).toBe(true)
  })
})

describe('extensions that must be understood', () => {
  const withExtension = (...extensions: readonly Buffer[]) => parseCertificate(make({ extensions }))

  test('a critical extension that is not processed is reported, others are not', () => {
    const anything = writeOctetString(Buffer.from('any'))
    expect(withExtension(extension('1.2.3.4', true, anything)).unknownCritical).toEqual(['1.2.3.4'])
    expect(withExtension(extension('1.2.3.4', false, anything)).unknownCritical).toEqual([])
    expect(withExtension(extension('2.5.29.36', true, anything)).unknownCritical).toEqual(['2.5.29.36'])
  })

  test('name constraints are reported, critical or not', () => {
    for (const critical of [true, false]) {
      expect(withExtension(extension('2.5.29.30', critical, writeSequence())).unknownCritical).toEqual(['2.5.29.30'])
    }
  })

  test('an extension that says it is not critical is not', () => {
    const written = writeSequence(writeOid('1.2.3.4'), writeBoolean(false), writeOctetString(Buffer.from('any')))
    expect(withExtension(written).unknownCritical).toEqual([])
  })

  test.each([
    ['twice the same', [basicConstraints(false), basicConstraints(true)], /2\.5\.29\.19 twice/],
    ['twice the same unknown one', Array<Buffer>(2).fill(extension('1.2.3', false, writeSequence())), /1\.2\.3 twice/],
    [
      'a key usage without any',
      [extension('2.5.29.15', true, writeBitString(Buffer.of(0)))],
      /2\.5\.29\.15: .*no usage/,
    ],
    [
      'an extended key usage for nothing',
      [extension('2.5.29.37', false, writeSequence())],
      /2\.5\.29\.37: .*no purpose/,
    ],
    ['a number as a purpose', [extension('2.5.29.37', true, writeSequence(writeInteger(1)))], /2\.5\.29\.37: /],
    ['an empty SubjectAltName', [extension('2.5.29.17', false, writeSequence())], /2\.5\.29\.17: it is empty/],
    [
      'something else in the SubjectAltName',
      [extension('2.5.29.17', false, writeSequence(writeInteger(1)))],
      /that is not a name/,
    ],
    ['a NUL in a DNS name', subjectAltName({ dnsNames: ['bank.example\0.evil.example'] }), /not printable/],
    ['a blank in a URI', subjectAltName({ uris: ['https://a.example https://b.example'] }), /not printable/],
    ['more names than 100', subjectAltName({ dnsNames: Array(101).fill('a.example') }), /more than 100 names/],
    ['a DNS name that is too long', subjectAltName({ dnsNames: ['a'.repeat(254)] }), /a name in it is too long/],
    ['a URI that is too long', subjectAltName({ uris: [`urn:${'a'.repeat(2045)}`] }), /a name in it is too long/],
    ['an empty DNS name', subjectAltName({ dnsNames: [''] }), /not printable/],
    [
      'a path length below zero',
      [extension('2.5.29.19', true, Buffer.from('30060101ff0201ff', 'hex'))],
      /2\.5\.29\.19: .*negative/,
    ],
    ['a cA of 01', [extension('2.5.29.19', true, Buffer.from('3003010101', 'hex'))], /neither 00 nor FF/],
    [
      'more in the basic constraints',
      [extension('2.5.29.19', true, Buffer.from('30050101ff0500', 'hex'))],
      /out of place/,
    ],
    ['bytes after the value', [extension('2.5.29.19', true, Buffer.from('300000', 'hex'))], /bytes follow/],
    ['a value that is not an OCTET STRING', [writeSequence(writeOid('1.2.3'), writeInteger(1))], /tag 04 is missing/],
    [
      'a fourth member',
      [writeSequence(writeOid('1.2.3'), writeOctetString(Buffer.of()), writeInteger(1))],
      /out of place/,
    ],
  ])('%s is refused', (_, extensions, why) => {
    expectMalformed(() => withExtension(...extensions), why)
  })

  test('an empty list is refused', () => {
    const empty = writeDer(contextTag(3, 'constructed'), writeSequence())
    expectMalformed(() => parseCertificate(edit(make({ extensions: [] }), (all) => [...all, empty])), /empty list/)
  })
})

describe('what a certificate is for', () => {
  const { mdlDocumentSigner, mdlReaderAuthentication, tlsServer, tlsClient, any, codeSigning } = EXTENDED_KEY_USAGE
  const OWN = '1.3.6.1.4.1.99999.7'
  const listing = (isCritical: boolean, ...oids: readonly string[]) =>
    parseCertificate(make({ extensions: [extension('2.5.29.37', isCritical, writeSequence(...oids.map(writeOid)))] }))

  test('its purposes are told, and a critical list of them is understood', () => {
    for (const isCritical of [true, false]) {
      const certificate = listing(isCritical, mdlDocumentSigner, tlsServer)
      expect(certificate.extendedKeyUsage).toEqual(['1.0.18013.5.1.2', '1.3.6.1.5.5.7.3.1'])
      expect(certificate.extendedKeyUsageIsCritical).toBe(isCritical)
      expect(certificate.unknownCritical).toEqual([])
      expect(new X509Certificate(certificate.der).keyUsage).toEqual(certificate.extendedKeyUsage)
    }
  })

  test.each<[string, readonly string[], Partial<Record<CertificatePurpose, 'always' | 'uncritical'>>]>([
    ['a document signer of ISO 18013-5', [mdlDocumentSigner], { credential: 'always' }],
    ['a reader of ISO 18013-5', [mdlReaderAuthentication], { request: 'always' }],
    [
      'any purpose',
      [any, codeSigning],
      { credential: 'always', request: 'always', attestation: 'always', tls: 'always' },
    ],
    ['a purpose of its own', [OWN], { credential: 'always', request: 'always', attestation: 'always', tls: 'always' }],
    [
      'a web server',
      [tlsServer, tlsClient],
      { credential: 'uncritical', request: 'uncritical', attestation: 'uncritical', tls: 'always' },
    ],
    [
      'a TLS client',
      [tlsClient],
      { credential: 'uncritical', request: 'uncritical', attestation: 'uncritical', tls: 'uncritical' },
    ],
    [
      'a web server that signs documents',
      [tlsServer, mdlDocumentSigner],
      { credential: 'always', request: 'uncritical', attestation: 'uncritical', tls: 'always' },
    ],
    ['programs', [codeSigning], {}],
    ['nothing we do', [codeSigning, '1.3.6.1.5.5.7.3.4', '1.3.6.1.5.5.7.3.8', '1.3.6.1.5.5.7.3.9'], {}],
  ])('a certificate for %s serves what it says', (_, oids, allowed) => {
    for (const purpose of ['credential', 'request', 'attestation', 'tls'] as const) {
      const [critical, not] = [true, false].map((isCritical) =>
        leafProblem(listing(isCritical, ...oids), NOW, 0, purpose),
      )
      expect([purpose, critical === undefined]).toEqual([purpose, allowed[purpose] === 'always'])
      expect([purpose, not === undefined]).toEqual([purpose, allowed[purpose] !== undefined])
      if (critical !== undefined) expect(critical).toMatch(/extended key usage .*does not allow/)
    }
  })

  test('one whose key anybody can sign for is refused', () => {
    const zero = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43) }, format: 'jwk' })
    expectMalformed(() => parseCertificate(make({ publicKey: zero })), /anybody/)
  })
})

describe('what is not a certificate', () => {
  const der = make()
  const version = (number: number) => writeDer(contextTag(0, 'constructed'), writeInteger(number))
  const time = writeTime(NOW)
  const spki = (algorithm: Buffer, key: Buffer) => writeSequence(algorithm, writeBitString(key))
  const ecAlgorithm = (curve: string) => writeSequence(writeOid('1.2.840.10045.2.1'), writeOid(curve))

  test('one whose signed part alone was put together again is still one', () => {
    expect(edit(der, (members) => members).equals(der)).toBe(true)
    const withIds = edit(der, (members) =>
      members.toSpliced(7, 0, writeDer(contextTag(1, 'primitive'), Buffer.of(0, 1))),
    )
    expect(parseCertificate(withIds).dnsNames).toEqual(['university.example'])
  })

  test.each<[string, (members: Buffer[]) => readonly Buffer[], RegExp]>([
    ['version 2', replace(0, version(1)), /version 3 or 1/],
    ['version 4', replace(0, version(3)), /version 3 or 1/],
    ['version 1 that is written out', replace(0, version(0)), /version 3 or 1/],
    ['extensions in version 1', (members) => members.slice(1), /tag a3 is out of place/],
    ['a negative serial number', replace(1, Buffer.from('020181', 'hex')), /negative/],
    ['a serial number of 21 bytes', replace(1, writeInteger(Buffer.alloc(21, 1))), /longer than 20/],
    ['a serial number that is not minimal', replace(1, Buffer.from('02020001', 'hex')), /not minimal/],
    [
      'another algorithm inside',
      replace(2, writeSequence(writeOid('1.2.840.10045.4.3.3'))),
      /two different signature algorithms/,
    ],
    ['one time only', replace(4, writeSequence(time)), /no two times/],
    ['three times', (members) => members.with(4, writeSequence(...Array<Buffer>(3).fill(time))), /out of place/],
    [
      'two lists of extensions in one',
      (members) =>
        members.with(7, writeDer(contextTag(3, 'constructed'), basicConstraints(true), basicConstraints(false))),
      /exactly one element/,
    ],
    ['a name that is not a name', replace(5, writeSequence(writeInteger(1))), /not a set of attributes/],
    [
      'a key of an unknown kind',
      replace(6, spki(writeSequence(writeOid('1.2.3')), Buffer.of(1))),
      /1\.2\.3 are not supported/,
    ],
    [
      'a key that is not a point',
      replace(6, spki(ecAlgorithm('1.2.840.10045.3.1.7'), Buffer.of(4, 1))),
      /public key cannot be parsed/,
    ],
    ['a curve nobody knows', replace(6, spki(ecAlgorithm('1.2.3'), Buffer.of(4, 1))), /public key cannot be parsed/],
    ['a member too many', (members) => [...members, writeInteger(1)], /tag 02 is out of place/],
    ['extensions twice', (members) => [...members, members[7] ?? Buffer.of()], /tag a3 is out of place/],
  ])('%s is refused', (_, change, why) => {
    expectMalformed(() => parseCertificate(edit(der, change)), why)
  })

  test('a serial number of 20 bytes, or of zero, is taken', () => {
    expect(parseCertificate(make({ serial: Buffer.alloc(20, 0x7f) })).selfIssued).toBe(true)
    expect(parseCertificate(make({ serial: Buffer.of(0) })).selfIssued).toBe(true)
  })

  test('a curve that the key itself defines is refused', () => {
    expectMalformed(() => readPemCertificates(EXPLICIT_CURVE), /does not name its curve/)
  })

  test('bytes after it, and each of its beginnings, are refused', () => {
    expectMalformed(() => parseCertificate(Buffer.concat([der, Buffer.of(0)])), /bytes follow/)
    for (let length = 0; length < der.length; length += 1) {
      expectMalformed(() => parseCertificate(der.subarray(0, length)), /cut short/)
    }
  })

  test('a signature that is not whole bytes is refused', () => {
    const [signed, algorithm] = readDer(der).children
    const parts = [signed?.der ?? Buffer.of(), algorithm?.der ?? Buffer.of()]
    expectMalformed(() => parseCertificate(writeSequence(...parts, writeBitString(Buffer.of(0xf0), 4))), /whole bytes/)
    expectMalformed(() => parseCertificate(writeSequence(...parts)), /tag 03 is missing/)
    const more = writeSequence(...parts, writeBitString(Buffer.of(1)), writeInteger(1))
    expectMalformed(() => parseCertificate(more), /tag 02 is out of place/)
  })

  test.each([
    ['a new one', der],
    ['one by OpenSSL', pemOne(MANY_NAMES).der],
    ['one with RSASSA-PSS', pemOne(RSASSA_PSS).der],
  ])('no change of bytes in %s does anything but make it malformed or not signed', (_, original) => {
    const change = fc.record({ at: fc.nat(original.length - 1), flip: fc.integer({ min: 1, max: 255 }) })
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const changed = Buffer.from(original)
        for (const { at, flip } of changes) changed[at] = (changed[at] ?? 0) ^ flip
        if (changed.equals(original)) return
        try {
          const certificate = parseCertificate(changed)
          expect(isSignedBy(certificate, pemOne(toPem(original)))).toBe(false)
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedError)
        }
      }),
      { numRuns: 500 * TIMES },
    )
  })
})

describe('PEM', () => {
  const pem = toPem(make())

  test('every certificate is read, and the text between is not', () => {
    const text = `subject=/CN=one\n${pem}\r\n# two - with dashes -- here\n${pem.replaceAll('\n', '\r\n')}${VERSION_1}end`
    expect(readPemCertificates(text).map(({ subjectText }) => subjectText)).toEqual([
      'CN=Example University, O=Example Foundation, C=DE',
      'CN=Example University, O=Example Foundation, C=DE',
      'CN=v1',
    ])
  })

  test('other blocks are text between', () => {
    const publicKey = keys.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    expect(readPemCertificates(publicKey + pem)).toHaveLength(1)
  })

  test.each([
    ['nothing', '', /no PEM certificate/],
    ['some other text', 'hello', /no PEM certificate/],
    ['only another block', '-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----', /no PEM certificate/],
    ['one without its end', pem.slice(0, -30), /certificate 1: its END line is missing/],
    ['a second one without its end', pem + pem.slice(0, -30), /certificate 2: its END line is missing/],
    ['one that ends as something else', pem.replace('END CERTIFICATE', 'END X'), /END line is missing/],
    ['one with other characters', pem.replace('MII', 'M*I'), /certificate 1: it is not base64/],
    ['one that is cut short', pem.replace(/\n.{64}\n/, '\n'), /certificate 1: /],
    ['an empty one', '-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----', /certificate 1: the DER is cut short/],
  ])('%s is refused', (_, text, why) => {
    expectMalformed(() => readPemCertificates(text), why)
  })

  test.each(['PRIVATE KEY', 'EC PRIVATE KEY', 'RSA PRIVATE KEY', 'ENCRYPTED PRIVATE KEY'])(
    'a block of the kind %s is refused, and its content is not repeated',
    (label) => {
      const key = `-----BEGIN ${label}-----\nc2VjcmV0\n-----END ${label}-----\n`
      expectMalformed(() => readPemCertificates(pem + key), /private key.*certificates only/)
      expect(() => readPemCertificates(pem + key)).not.toThrow(/c2VjcmV0/)
    },
  )

  test('a long text without an end is read in no time', async () => {
    const read = () => readPemCertificates('-----BEGIN CERTIFICATE-----'.repeat(40_000))
    expect(await partOfLimit(1000, () => expectMalformed(read, /END line/))).toBeLessThan(1)
  })
})

describe('signatures', () => {
  test.each([
    ['ES256', toPem(make())],
    ['RSASSA-PSS', RSASSA_PSS],
    ['P-384', P384],
    ['Ed25519', ED25519],
    ['version 1', VERSION_1],
  ])('%s: a self-signed certificate is signed by itself, and says node:crypto', (_, pem) => {
    const certificate = pemOne(pem)
    expect(isSignedBy(certificate, certificate)).toBe(true)
    expect(new X509Certificate(pem).verify(certificate.publicKey)).toBe(true)
  })

  test('SHA-1 is not taken', () => {
    expect(new X509Certificate(SHA1).verify(pemOne(SHA1).publicKey)).toBe(true)
    expect(isSignedBy(pemOne(SHA1), pemOne(SHA1))).toBe(false)
    expect(pemOne(SHA1).signature).toMatchObject({ oid: '1.2.840.10045.4.1', algorithm: undefined })
  })

  test('the right name with another key has not signed', () => {
    const certificate = parseCertificate(make())
    const namesake = parseCertificate(make({ publicKey: otherKeys.publicKey }))
    expect(isSignedBy(certificate, namesake)).toBe(false)
  })

  test('the right key with another name has not signed', () => {
    const certificate = parseCertificate(make())
    const other = parseCertificate(make({ subject: writeName([['CN', 'Other']]) }))
    expect(isSignedBy(certificate, other)).toBe(false)
    expect(isSignedBy(other, certificate)).toBe(true)
  })

  test.each([
    [2048, 'the algorithm itself', 'sha256', '1.2.840.113549.1.1.11', true],
    [2048, 'the name of another', 'sha512', '1.2.840.113549.1.1.11', false],
    [1024, 'too few bits', 'sha256', '1.2.840.113549.1.1.11', false],
  ])('RSA with %i bits and %s', async (modulusLength, _, digest, oid, expected) => {
    const rsa = await generateKeyPair('rsa', { modulusLength })
    expect(signedWith(rsa, digest, writeSequence(writeOid(oid), writeDer(DER_TAG.null)))).toBe(expected)
    expect(signedWith(rsa, digest, writeSequence(writeOid(oid)))).toBe(expected)
    expect(signedWith(rsa, digest, writeSequence(writeOid(oid), writeInteger(1)))).toBe(false)
  })

  test('a curve that is too weak, or not among those of certificates, does not sign', async () => {
    const algorithm = writeSequence(writeOid('1.2.840.10045.4.3.2'))
    expect(signedWith(await generateKeyPair('ec', { namedCurve: 'P-521' }), 'sha256', algorithm)).toBe(true)
    expect(signedWith(await generateKeyPair('ec', { namedCurve: 'secp224r1' }), 'sha256', algorithm)).toBe(false)
  })

  test('an algorithm for another kind of key does not fit', () => {
    expect(signedWith(keys, 'sha256', writeSequence(writeOid('1.2.840.10045.4.3.2')))).toBe(true)
    expect(signedWith(keys, 'sha256', writeSequence(writeOid('1.3.101.112')))).toBe(false)
  })

  const [SHA256, SHA384, MGF1] = ['2.16.840.1.101.3.4.2.1', '2.16.840.1.101.3.4.2.2', '1.2.840.113549.1.1.8']
  test.each([
    ['as everybody writes it', SHA256, MGF1, SHA256, 32, [], true],
    ['with another hash', SHA384, MGF1, SHA384, 48, [], false],
    ['with another mask', SHA256, '1.2.3', SHA256, 32, [], false],
    ['with another hash in the mask', SHA256, MGF1, SHA384, 32, [], false],
    ['with a short salt', SHA256, MGF1, SHA256, 20, [], false],
    ['with a trailer', SHA256, MGF1, SHA256, 32, [writeDer(contextTag(3, 'constructed'), writeInteger(1))], false],
  ])('RSASSA-PSS %s', async (_, hash, mask, maskHash, saltLength, more, expected) => {
    const rsa = await generateKeyPair('rsa', { modulusLength: 2048 })
    const algorithm = pssAlgorithm(hash, mask, maskHash, saltLength, more)
    const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }
    expect(
      signedBy(rsa.publicKey, algorithm, (data) => sign('sha256', data, { key: rsa.privateKey, ...padding })),
    ).toBe(expected)
  })

  test('RSASSA-PSS without the leading zero of a signature', async () => {
    const rsa = await generateKeyPair('rsa', { modulusLength: 2048 })
    const algorithm = pssAlgorithm(SHA256, MGF1, SHA256, 32)
    const key = { key: rsa.privateKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 }
    const signToZero = (data: Buffer) => {
      let signature = sign('sha256', data, key)
      while (signature[0] !== 0) signature = sign('sha256', data, key)
      return signature
    }
    expect(signedBy(rsa.publicKey, algorithm, signToZero)).toBe(true)
    expect(signedBy(rsa.publicKey, algorithm, (data) => signToZero(data).subarray(1))).toBe(false)
  })

  test('an RSA key of more bits than anybody needs is not used', () => {
    // The modulus is a Mersenne prime, as random primes of this size take long to find; a valid RSA key all the same.
    const [bits, exponent] = [9689, 65_537n]
    const modulus = 2n ** BigInt(bits) - 1n
    const octets = (number: bigint) => Buffer.from(number.toString(16).padStart(2 * Math.ceil(bits / 8), '0'), 'hex')
    const jwk = { kty: 'RSA', n: octets(modulus).toString('base64url'), e: 'AQAB' }
    const info = Buffer.from('3031300d060960864801650304020105000420', 'hex')
    const algorithm = writeSequence(writeOid('1.2.840.113549.1.1.11'), writeDer(DER_TAG.null))
    const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
    const signRaw = (data: Buffer) => {
      const tail = Buffer.concat([Buffer.of(0), info, createHash('sha256').update(data).digest()])
      const filler = Buffer.alloc(Math.ceil(bits / 8) - 2 - tail.length, 0xff)
      const padded = BigInt(`0x${Buffer.concat([Buffer.of(0, 1), filler, tail]).toString('hex')}`)
      return octets(power(padded, inverse(exponent, modulus - 1n), bits))
    }
    const data = Buffer.from('any')
    expect(verify('sha256', data, publicKey, signRaw(data))).toBe(true)
    expect(signedBy(publicKey, algorithm, signRaw)).toBe(false)
  })

  /** Writes the AlgorithmIdentifier of RSASSA-PSS. RFC 4055 section 3.1. */
  function pssAlgorithm(
    hash: string,
    mask: string,
    maskHash: string,
    saltLength: number,
    more: readonly Buffer[] = [],
  ): Buffer {
    const tagged = (number: number, value: Buffer) => writeDer(contextTag(number, 'constructed'), value)
    const parameters = writeSequence(
      tagged(0, writeSequence(writeOid(hash), writeDer(DER_TAG.null))),
      tagged(1, writeSequence(writeOid(mask), writeSequence(writeOid(maskHash), writeDer(DER_TAG.null)))),
      tagged(2, writeInteger(saltLength)),
      ...more,
    )
    return writeSequence(writeOid('1.2.840.113549.1.1.10'), parameters)
  }

  function signedWith(pair: KeyPairKeyObjectResult, digest: string, algorithm: Buffer): boolean {
    return signedBy(pair.publicKey, algorithm, (data) => sign(digest, data, pair.privateKey))
  }

  function signedBy(publicKey: KeyObject, algorithm: Buffer, signData: (data: Buffer) => Buffer): boolean {
    const unsigned = edit(make({ publicKey }), replace(2, algorithm))
    const signed = readDer(unsigned).children[0]?.der ?? Buffer.of()
    const certificate = parseCertificate(writeSequence(signed, algorithm, writeBitString(signData(signed))))
    return isSignedBy(certificate, certificate)
  }

  /** Raises to a power modulo 2^bits - 1, where the upper bits of a product are added to the lower ones. */
  function power(base: bigint, exponent: bigint, bits: number): bigint {
    const modulus = 2n ** BigInt(bits) - 1n
    const folded = (value: bigint) => (value & modulus) + (value >> BigInt(bits))
    const reduced = (product: bigint) => folded(folded(product))
    let result = 1n
    for (const bit of exponent.toString(2)) {
      result = reduced(result * result)
      if (bit === '1') result = reduced(result * base)
    }
    return result % modulus
  }

  function inverse(value: bigint, modulus: bigint): bigint {
    let [a, b, x, y] = [value, modulus, 1n, 0n]
    while (b !== 0n) {
      const quotient = a / b
      ;[a, b, x, y] = [b, a - quotient * b, y, x - quotient * y]
    }
    return ((x % modulus) + modulus) % modulus
  }
})

describe('a certificate that is to sign credentials', () => {
  const certificate = parseCertificate(make())
  const problemAt = (iso: string, skew = 0) => leafProblem(certificate, new Date(iso), skew, 'credential')

  test('may do so from its first second to its last', () => {
    expect(problemAt('2027-01-01T00:00:00Z')).toBeUndefined()
    expect(problemAt('2028-01-01T00:00:00Z')).toBeUndefined()
  })

  test('may not before or after, and the dates are told', () => {
    expect(problemAt('2028-01-01T00:00:01Z')).toBe(
      "the certificate 'CN=Example University, O=Example Foundation, C=DE' expired on 2028-01-01T00:00:00Z",
    )
    expect(problemAt('2026-12-31T23:59:59Z')).toBe(
      "the certificate 'CN=Example University, O=Example Foundation, C=DE' is not valid before 2027-01-01T00:00:00Z," +
        ' and it is 2026-12-31T23:59:59Z now',
    )
  })

  test('has as much time more as clocks may differ, on both ends', () => {
    expect(problemAt('2028-01-01T00:01:00Z', 60)).toBeUndefined()
    expect(problemAt('2028-01-01T00:01:01Z', 60)).toMatch(/expired/)
    expect(problemAt('2026-12-31T23:59:00Z', 60)).toBeUndefined()
    expect(problemAt('2026-12-31T23:58:59Z', 60)).toMatch(/not valid before/)
  })

  test('must have the key usage digitalSignature, or none at all', () => {
    const problem = (extensions: Buffer[]) => leafProblem(parseCertificate(make({ extensions })), NOW, 0, 'credential')
    expect(problem([])).toBeUndefined()
    expect(problem([keyUsage(['digitalSignature', 'keyCertSign'])])).toBeUndefined()
    expect(problem([keyUsage(['nonRepudiation'])])).toBeUndefined()
    expect(problem([keyUsage(['keyCertSign'])])).toMatch(/key usage .* does not allow digitalSignature/)
    const ofServer = parseCertificate(make({ extensions: [keyUsage(['nonRepudiation'])] }))
    expect(leafProblem(ofServer, NOW, 0, 'tls')).toMatch(/key usage .* does not allow digitalSignature/)
  })

  test('may be a CA that signed itself', () => {
    expect(
      leafProblem(parseCertificate(make({ extensions: [basicConstraints(true)] })), NOW, 0, 'credential'),
    ).toBeUndefined()
  })

  test('must have no critical extension that is not processed', () => {
    const strange = parseCertificate(make({ extensions: [extension('1.2.3.4', true, writeSequence())] }))
    expect(leafProblem(strange, NOW, 0, 'credential')).toMatch(
      /extensions that are not supported and must be: 1\.2\.3\.4/,
    )
    expect(certificateProblem(strange, NOW, 0)).toMatch(/1\.2\.3\.4/)
  })
})

describe('the cache', () => {
  const certificates = [1, 2, 3].map((serial) => make({ serial: Buffer.of(serial) }))
  const [first = Buffer.of(), second = Buffer.of(), third = Buffer.of()] = certificates

  test('gives the same certificate for the same bytes, and parses others', () => {
    const parse = cacheCertificates(2)
    expect(parse(first)).toBe(parse(Buffer.from(first)))
    expect(parse(second).der.equals(second)).toBe(true)
    expect(parse(first)).not.toBe(cacheCertificates(2)(first))
  })

  test('forgets the one not used for longest', () => {
    const parse = cacheCertificates(2)
    const [one, two] = [parse(first), parse(second)]
    parse(first)
    parse(third)
    expect(parse(first)).toBe(one)
    expect(parse(second)).not.toBe(two)
  })

  test('keeps none of more than four kilobytes', () => {
    const parse = cacheCertificates(2)
    const withBytes = (length: number) =>
      make({ extensions: [extension('1.2.3', false, writeOctetString(Buffer.alloc(length)))] })
    const [small, large] = [withBytes(3000), withBytes(4000)]
    expect([small.length, large.length].map((length) => length > 4096)).toEqual([false, true])
    expect(parse(small)).toBe(parse(small))
    expect(parse(large)).not.toBe(parse(large))
  })

  test('refuses what is malformed each time', () => {
    const parse = cacheCertificates(2)
    for (let time = 0; time < 2; time += 1) expectMalformed(() => parse(Buffer.of(0x30)), /cut short/)
  })
})
