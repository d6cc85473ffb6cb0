import { createPublicKey, X509Certificate } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ED25519,
  EXPLICIT_CURVE,
  editSigned,
  MANY_NAMES,
  P384,
  RSASSA_PSS,
  readOnePem,
  replaceMember,
  SHA1,
  testCertificate,
  testKeys,
  testName,
  VERSION_1,
} from '../../test/support/certificates.ts'
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
  cacheCertificates,
  certificateProblem,
  isSignedBy,
  leafProblem,
  parseCertificate,
  readPemCertificates,
} from './certificate.ts'
import { writeName } from './certificate-name.ts'
import { type CertificatePurpose, EXTENDED_KEY_USAGE } from './certificate-purpose.ts'
import { basicConstraints, extension, keyUsage, subjectAltName, toPem } from './make-certificate.ts'

const NOW = new Date('2027-06-01T12:00:00Z')
function expectMalformed(run: () => unknown, why: RegExp): void {
  expect(run).toThrow(MalformedError)
  expect(run).toThrow(why)
}

describe('what a certificate says', () => {
  test('its members are what we wrote', () => {
    const der = testCertificate()
    const certificate = parseCertificate(der)
    expect(certificate.der.equals(der)).toBe(true)
    expect(certificate.subject.equals(testName)).toBe(true)
    expect(certificate.subjectText).toBe('CN=Example University, O=Example Foundation, C=DE')
    expect(certificate.issuerText).toBe(certificate.subjectText)
    expect(certificate.selfIssued).toBe(true)
    expect(certificate.notBefore).toEqual(new Date('2027-01-01T00:00:00Z'))
    expect(certificate.notAfter).toEqual(new Date('2028-01-01T00:00:00Z'))
    expect(certificate.publicKey.equals(testKeys.publicKey)).toBe(true)
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
    const certificate = parseCertificate(testCertificate({ extensions: [] }))
    expect(certificate.isCa).toBe(false)
    expect(certificate.keyUsage).toBeUndefined()
    expect(certificate.hasSubjectAltName).toBe(false)
    expect(certificate.dnsNames).toEqual([])
    expect(certificate.subjectKeyIdentifier).toBeUndefined()
    expect(certificate.authorityKeyIdentifier).toBeUndefined()
  })

  test('a CA has a path length, and 0 is not the same as none', () => {
    expect(parseCertificate(testCertificate({ extensions: [basicConstraints(true)] })).pathLength).toBeUndefined()
    expect(parseCertificate(testCertificate({ extensions: [basicConstraints(true, 0)] })).pathLength).toBe(0)
    expect(parseCertificate(testCertificate({ extensions: [basicConstraints(true, 300)] })).pathLength).toBe(300)
  })

  test.each([
    ['a new one', toPem(testCertificate())],
    ['RSASSA-PSS', RSASSA_PSS],
    ['P-384', P384],
    ['Ed25519', ED25519],
    ['version 1', VERSION_1],
    ['SHA-1', SHA1],
    ['many names', MANY_NAMES],
  ])('node:crypto reads the same from %s', (_, pem) => {
    const [ours, theirs] = [readOnePem(pem), new X509Certificate(pem)]
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
    expect(readOnePem(MANY_NAMES).keyUsage).toEqual(new Set(['digitalSignature', 'decipherOnly']))
    const usages = ['keyCertSign', 'cRLSign', 'encipherOnly'] as const
    expect(parseCertificate(testCertificate({ extensions: [keyUsage(usages)] })).keyUsage).toEqual(new Set(usages))
  })

  test('the text of a name is escaped, shortened, and cannot rearrange a log', () => {
    expect(readOnePem(MANY_NAMES).subjectText).toBe('CN=x/y, OU=A+O=Universität\\, Köln, C=DE')
    const textOf = (text: string) =>
      parseCertificate(testCertificate({ subject: writeName([['CN', text]]) })).subjectText
    expect(textOf('a\nb\u202ec')).toBe('CN=a\\0ab\\e2\\80\\aec')
    expect(textOf('x'.repeat(500))).toBe(`CN=${'x'.repeat(197)}…`)
    const odd = writeSequence(writeDer(DER_TAG.set, writeSequence(writeOid('1.2.3'), writeInteger(5))))
    expect(parseCertificate(testCertificate({ subject: odd })).subjectText).toBe('1.2.3=#020105')
    expect(parseCertificate(testCertificate({ subject: writeSequence() })).subjectText).toBe('')
  })

  test('the fields are copies: who changes the bytes afterwards changes nothing', () => {
    const der = testCertificate()
    const certificate = parseCertificate(der)
    der.fill(0)
    expect(certificate.subject.equals(testName)).toBe(true)
    expect(isSignedBy(certificate, certificate)).toBe(true)
  })
})

describe('extensions that must be understood', () => {
  const withExtension = (...extensions: readonly Buffer[]) => parseCertificate(testCertificate({ extensions }))

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
    expectMalformed(
      () => parseCertificate(editSigned(testCertificate({ extensions: [] }), (all) => [...all, empty])),
      /empty list/,
    )
  })
})

describe('what a certificate is for', () => {
  const { mdlDocumentSigner, mdlReaderAuthentication, tlsServer, tlsClient, any, codeSigning } = EXTENDED_KEY_USAGE
  const OWN = '1.3.6.1.4.1.99999.7'
  const listing = (isCritical: boolean, ...oids: readonly string[]) =>
    parseCertificate(
      testCertificate({ extensions: [extension('2.5.29.37', isCritical, writeSequence(...oids.map(writeOid)))] }),
    )

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
    expectMalformed(() => parseCertificate(testCertificate({ publicKey: zero })), /anybody/)
  })
})

describe('what is not a certificate', () => {
  const der = testCertificate()
  const version = (number: number) => writeDer(contextTag(0, 'constructed'), writeInteger(number))
  const time = writeTime(NOW)
  const spki = (algorithm: Buffer, key: Buffer) => writeSequence(algorithm, writeBitString(key))
  const ecAlgorithm = (curve: string) => writeSequence(writeOid('1.2.840.10045.2.1'), writeOid(curve))

  test('one whose signed part alone was put together again is still one', () => {
    expect(editSigned(der, (members) => members).equals(der)).toBe(true)
    const withIds = editSigned(der, (members) =>
      members.toSpliced(7, 0, writeDer(contextTag(1, 'primitive'), Buffer.of(0, 1))),
    )
    expect(parseCertificate(withIds).dnsNames).toEqual(['university.example'])
  })

  test.each<[string, (members: Buffer[]) => readonly Buffer[], RegExp]>([
    ['version 2', replaceMember(0, version(1)), /version 3 or 1/],
    ['version 4', replaceMember(0, version(3)), /version 3 or 1/],
    ['version 1 that is written out', replaceMember(0, version(0)), /version 3 or 1/],
    ['extensions in version 1', (members) => members.slice(1), /tag a3 is out of place/],
    ['a negative serial number', replaceMember(1, Buffer.from('020181', 'hex')), /negative/],
    ['a serial number of 21 bytes', replaceMember(1, writeInteger(Buffer.alloc(21, 1))), /longer than 20/],
    ['a serial number that is not minimal', replaceMember(1, Buffer.from('02020001', 'hex')), /not minimal/],
    [
      'another algorithm inside',
      replaceMember(2, writeSequence(writeOid('1.2.840.10045.4.3.3'))),
      /two different signature algorithms/,
    ],
    ['one time only', replaceMember(4, writeSequence(time)), /no two times/],
    ['three times', (members) => members.with(4, writeSequence(...Array<Buffer>(3).fill(time))), /out of place/],
    [
      'two lists of extensions in one',
      (members) =>
        members.with(7, writeDer(contextTag(3, 'constructed'), basicConstraints(true), basicConstraints(false))),
      /exactly one element/,
    ],
    ['a name that is not a name', replaceMember(5, writeSequence(writeInteger(1))), /not a set of attributes/],
    [
      'a key of an unknown kind',
      replaceMember(6, spki(writeSequence(writeOid('1.2.3')), Buffer.of(1))),
      /1\.2\.3 are not supported/,
    ],
    [
      'a key that is not a point',
      replaceMember(6, spki(ecAlgorithm('1.2.840.10045.3.1.7'), Buffer.of(4, 1))),
      /public key cannot be parsed/,
    ],
    [
      'a curve nobody knows',
      replaceMember(6, spki(ecAlgorithm('1.2.3'), Buffer.of(4, 1))),
      /public key cannot be parsed/,
    ],
    ['a member too many', (members) => [...members, writeInteger(1)], /tag 02 is out of place/],
    ['extensions twice', (members) => [...members, members[7] ?? Buffer.of()], /tag a3 is out of place/],
  ])('%s is refused', (_, change, why) => {
    expectMalformed(() => parseCertificate(editSigned(der, change)), why)
  })

  test('a serial number of 20 bytes, or of zero, is taken', () => {
    expect(parseCertificate(testCertificate({ serial: Buffer.alloc(20, 0x7f) })).selfIssued).toBe(true)
    expect(parseCertificate(testCertificate({ serial: Buffer.of(0) })).selfIssued).toBe(true)
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
    ['one by OpenSSL', readOnePem(MANY_NAMES).der],
    ['one with RSASSA-PSS', readOnePem(RSASSA_PSS).der],
  ])('no change of bytes in %s does anything but make it malformed or not signed', (_, original) => {
    const change = fc.record({ at: fc.nat(original.length - 1), flip: fc.integer({ min: 1, max: 255 }) })
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 3 }), (changes) => {
        const changed = Buffer.from(original)
        for (const { at, flip } of changes) changed[at] = (changed[at] ?? 0) ^ flip
        if (changed.equals(original)) return
        try {
          const certificate = parseCertificate(changed)
          expect(isSignedBy(certificate, readOnePem(toPem(original)))).toBe(false)
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedError)
        }
      }),
      { numRuns: 500 * TIMES },
    )
  })
})

describe('PEM', () => {
  const pem = toPem(testCertificate())

  test('every certificate is read, and the text between is not', () => {
    const text = `subject=/CN=one\n${pem}\r\n# two - with dashes -- here\n${pem.replaceAll('\n', '\r\n')}${VERSION_1}end`
    expect(readPemCertificates(text).map(({ subjectText }) => subjectText)).toEqual([
      'CN=Example University, O=Example Foundation, C=DE',
      'CN=Example University, O=Example Foundation, C=DE',
      'CN=v1',
    ])
  })

  test('other blocks are text between', () => {
    const publicKey = testKeys.publicKey.export({ type: 'spki', format: 'pem' }).toString()
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

describe('a certificate that is to sign credentials', () => {
  const certificate = parseCertificate(testCertificate())
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
    const problem = (extensions: Buffer[]) =>
      leafProblem(parseCertificate(testCertificate({ extensions })), NOW, 0, 'credential')
    expect(problem([])).toBeUndefined()
    expect(problem([keyUsage(['digitalSignature', 'keyCertSign'])])).toBeUndefined()
    expect(problem([keyUsage(['nonRepudiation'])])).toBeUndefined()
    expect(problem([keyUsage(['keyCertSign'])])).toMatch(/key usage .* does not allow digitalSignature/)
    const ofServer = parseCertificate(testCertificate({ extensions: [keyUsage(['nonRepudiation'])] }))
    expect(leafProblem(ofServer, NOW, 0, 'tls')).toMatch(/key usage .* does not allow digitalSignature/)
  })

  test('may be a CA that signed itself', () => {
    expect(
      leafProblem(parseCertificate(testCertificate({ extensions: [basicConstraints(true)] })), NOW, 0, 'credential'),
    ).toBeUndefined()
  })

  test('must have no critical extension that is not processed', () => {
    const strange = parseCertificate(testCertificate({ extensions: [extension('1.2.3.4', true, writeSequence())] }))
    expect(leafProblem(strange, NOW, 0, 'credential')).toMatch(
      /extensions that are not supported and must be: 1\.2\.3\.4/,
    )
    expect(certificateProblem(strange, NOW, 0)).toMatch(/1\.2\.3\.4/)
  })
})

describe('the cache', () => {
  const certificates = [1, 2, 3].map((serial) => testCertificate({ serial: Buffer.of(serial) }))
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
      testCertificate({ extensions: [extension('1.2.3', false, writeOctetString(Buffer.alloc(length)))] })
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
