import {
  constants,
  createHash,
  createPublicKey,
  type KeyObject,
  type KeyPairKeyObjectResult,
  sign,
  verify,
  X509Certificate,
} from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  ED25519,
  editSigned,
  generateKeyPair,
  P384,
  RSASSA_PSS,
  readOnePem,
  replaceMember,
  SHA1,
  testCertificate,
  testKeys,
  VERSION_1,
} from '../../test/support/certificates.ts'
import {
  contextTag,
  DER_TAG,
  readDer,
  writeBitString,
  writeDer,
  writeInteger,
  writeOid,
  writeSequence,
} from '../codec/der.ts'
import { isSignedBy, parseCertificate } from './certificate.ts'
import { writeName } from './certificate-name.ts'
import { toPem } from './make-certificate.ts'

const otherKeys = await generateKeyPair('ec', { namedCurve: 'P-256' })

describe('signatures', () => {
  test.each([
    ['ES256', toPem(testCertificate())],
    ['RSASSA-PSS', RSASSA_PSS],
    ['P-384', P384],
    ['Ed25519', ED25519],
    ['version 1', VERSION_1],
  ])('%s: a self-signed certificate is signed by itself, and says node:crypto', (_, pem) => {
    const certificate = readOnePem(pem)
    expect(isSignedBy(certificate, certificate)).toBe(true)
    expect(new X509Certificate(pem).verify(certificate.publicKey)).toBe(true)
  })

  test('SHA-1 is not taken', () => {
    expect(new X509Certificate(SHA1).verify(readOnePem(SHA1).publicKey)).toBe(true)
    expect(isSignedBy(readOnePem(SHA1), readOnePem(SHA1))).toBe(false)
    expect(readOnePem(SHA1).signature).toMatchObject({ oid: '1.2.840.10045.4.1', algorithm: undefined })
  })

  test('the right name with another key has not signed', () => {
    const certificate = parseCertificate(testCertificate())
    const namesake = parseCertificate(testCertificate({ publicKey: otherKeys.publicKey }))
    expect(isSignedBy(certificate, namesake)).toBe(false)
  })

  test('the right key with another name has not signed', () => {
    const certificate = parseCertificate(testCertificate())
    const other = parseCertificate(testCertificate({ subject: writeName([['CN', 'Other']]) }))
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
    expect(signedWith(testKeys, 'sha256', writeSequence(writeOid('1.2.840.10045.4.3.2')))).toBe(true)
    expect(signedWith(testKeys, 'sha256', writeSequence(writeOid('1.3.101.112')))).toBe(false)
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
    const unsigned = editSigned(testCertificate({ publicKey }), replaceMember(2, algorithm))
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
