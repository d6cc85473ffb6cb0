/**
 * X.509 certificates: a strict parser, and the checks of a signing certificate. Written here so that refusals can say
 * why; keys and signatures are verified by `node:crypto`. RFC 5280 section 4. `trust-path.ts` finds paths.
 */
import { createPublicKey, hash, type KeyObject } from 'node:crypto'
import { createLru } from '../async/cache.ts'
import {
  contextTag,
  DER_TAG,
  type DerValue,
  readBitString,
  readDer,
  readInteger,
  readSequence,
  readSmallInteger,
  readTime,
  refuseMoreMembers,
  takeMember,
  takeOptionalMember,
} from '../codec/der.ts'
import { malformed, readPart } from '../codec/malformed.ts'
import { CERTIFICATE_LABEL, findPemBlocks } from '../codec/pem.ts'
import { type CertificateExtensions, readExtensions } from './certificate-extensions.ts'
import { nameText } from './certificate-name.ts'
import { type CertificatePurpose, purposeProblem } from './certificate-purpose.ts'
import {
  readAlgorithm,
  readSignatureAlgorithm,
  type SignatureAlgorithm,
  verifyCertificateSignature,
} from './certificate-signature.ts'
import { publicJwkOf } from './jwk.ts'

export interface Certificate extends CertificateExtensions {
  readonly der: Buffer
  /** The base64url SHA-256 of `der`: the `x509_hash` of OpenID4VP 1.0. */
  readonly fingerprint: string
  /** The DER of the subject, for exact comparison. */
  readonly subject: Buffer
  readonly issuer: Buffer
  /** The subject for people, such as `CN=Example University`. */
  readonly subjectText: string
  readonly issuerText: string
  readonly selfIssued: boolean
  readonly notBefore: Date
  readonly notAfter: Date
  readonly publicKey: KeyObject
  /** The SHA-1 of the key, by which most CAs identify theirs. RFC 5280 section 4.2.1.2, method 1. */
  readonly keyDigest: Buffer
  readonly signature: CertificateSignature
}

export interface CertificateSignature {
  /** The signed bytes (TBSCertificate). */
  readonly signedBytes: Buffer
  readonly value: Buffer
  readonly oid: string
  /** The signature algorithm; undefined if it is not supported. */
  readonly algorithm: SignatureAlgorithm | undefined
}

const EC_PUBLIC_KEY = '1.2.840.10045.2.1'
/** The supported kinds of public keys: EC, RSA and Ed25519. */
const KEY_ALGORITHMS: readonly string[] = [EC_PUBLIC_KEY, '1.2.840.113549.1.1.1', '1.3.101.112']
const MAX_SERIAL_BYTES = 20
const MAX_BYTES = 16 * 1024
const MAX_CACHED_BYTES = 4 * 1024
const V1 = 0
const V3 = 2

/** Parses a certificate. Throws a MalformedError for anything but an X.509 certificate of version 3 or 1. */
export function parseCertificate(der: Uint8Array): Certificate {
  if (der.length > MAX_BYTES) malformed(`it is larger than ${MAX_BYTES} bytes`)
  const bytes = Buffer.from(der)
  const parts = readSequence(readDer(bytes))
  const tbsCertificate = takeMember(parts, DER_TAG.sequence)
  const algorithm = takeMember(parts, DER_TAG.sequence)
  const value = readWholeBytes(takeMember(parts, DER_TAG.bitString))
  refuseMoreMembers(parts)
  return {
    der: bytes,
    fingerprint: hash('sha256', bytes, 'base64url'),
    ...readTbsCertificate(tbsCertificate, algorithm),
    signature: { signedBytes: tbsCertificate.der, value, ...readSignatureAlgorithm(algorithm) },
  }
}

/**
 * Parses all certificates in a PEM text. Throws a MalformedError if there are none, one is invalid, or there is a
 * private key.
 */
export function readPemCertificates(pem: string): Certificate[] {
  const blocks = findPemBlocks(pem)
  if (blocks.some(({ label }) => label.endsWith('PRIVATE KEY'))) {
    malformed('it holds a private key, and it should hold certificates only')
  }
  const certificates = blocks.filter(({ label }) => label === CERTIFICATE_LABEL)
  if (certificates.length === 0) malformed('it holds no PEM certificate')
  return certificates.map((block, index) =>
    readPart(`certificate ${index + 1}`, () => parseCertificate(block.decode())),
  )
}

/** Creates a {@link parseCertificate} that caches the last `size` certificates. */
export function cacheCertificates(size: number): (der: Uint8Array) => Certificate {
  const cache = createLru<string, Certificate>(size)
  return (der) => {
    const key = hash('sha256', der, 'base64url')
    const certificate = cache.get(key) ?? parseCertificate(der)
    // Large certificates are not cached, since callers could fill the memory with them.
    if (der.length <= MAX_CACHED_BYTES) cache.set(key, certificate)
    return certificate
  }
}

/** Returns the SHA-256 fingerprint of a certificate in hexadecimal, as tools print it. */
export function hexFingerprint({ fingerprint }: Pick<Certificate, 'fingerprint'>): string {
  return Buffer.from(fingerprint, 'base64url').toString('hex')
}

/**
 * Tests whether two certificates name the same subject and the same CA; false for a self-signed certificate, whose name
 * no CA verified. Does not check which key signed them. RFC 5280 section 4.1.2.6 allows empty subjects.
 */
export function isSameSubjectOfSameCa(one: Certificate, other: Certificate): boolean {
  if (one.subjectText === '' || !one.subject.equals(other.subject) || !one.issuer.equals(other.issuer)) return false
  return !isSelfSigned(one)
}

/** Tests whether two public keys are the same. */
export function isSamePublicKey(one: KeyObject, other: KeyObject): boolean {
  // Does not use KeyObject.equals: for keys of different types it leaves an error in OpenSSL's queue, which a later
  // operation reports.
  const spki = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' })
  return spki(one).equals(spki(other))
}

/** Tests whether `issuer` is the issuer of `certificate` by name and signed it. Does not check whether it may. */
export function isSignedBy(certificate: Certificate, issuer: Certificate): boolean {
  const { algorithm, signedBytes, value } = certificate.signature
  if (algorithm === undefined || !certificate.issuer.equals(issuer.subject)) return false
  return verifyCertificateSignature(algorithm, issuer.publicKey, signedBytes, value)
}

/**
 * Tests whether a certificate is signed with its own key. A CA's certificate for a new key is self-issued, but not
 * self-signed.
 */
export function isSelfSigned(certificate: Certificate): boolean {
  return certificate.selfIssued && isSignedBy(certificate, certificate)
}

/**
 * Returns the certificates of a chain to send in `x5c`. A self-signed certificate after the leaf is the trust anchor
 * and is not sent (HAIP 1.0, x5c). A self-signed leaf is sent.
 */
export function sentCertificates(chain: readonly Certificate[]): readonly Certificate[] {
  return chain.filter((certificate, index) => index === 0 || !isSelfSigned(certificate))
}

/**
 * Returns why the key of `certificate` may not be used for `purpose` now, as part of a sentence; undefined if it may.
 */
export function leafProblem(
  certificate: Certificate,
  now: Date,
  clockSkewSeconds: number,
  purpose: CertificatePurpose,
): string | undefined {
  const problem = certificateProblem(certificate, now, clockSkewSeconds)
  return problem ?? keyUsageProblem(certificate, purpose) ?? purposeProblem(certificate, purpose)
}

/**
 * Returns why the key usage does not allow `purpose`; undefined if it does. TLS needs digitalSignature; all else needs
 * digitalSignature or nonRepudiation. RFC 5280 section 4.2.1.3.
 */
function keyUsageProblem(certificate: Certificate, purpose: CertificatePurpose): string | undefined {
  const { keyUsage, subjectText } = certificate
  const isAllowed =
    purpose === 'tls' ? keyUsage?.has('digitalSignature') !== false : isKeyUsageForSignatures(certificate)
  return isAllowed ? undefined : `the key usage of the certificate '${subjectText}' does not allow digitalSignature`
}

/** Tests whether the key usage allows signatures, which is so without a key usage. RFC 5280 section 4.2.1.3. */
export function isKeyUsageForSignatures({ keyUsage }: Certificate): boolean {
  return keyUsage === undefined || keyUsage.has('digitalSignature') || keyUsage.has('nonRepudiation')
}

/** Returns why `certificate` is not valid now, for any purpose; undefined if it is. RFC 5280 section 6.1.3. */
export function certificateProblem(certificate: Certificate, now: Date, clockSkewSeconds: number): string | undefined {
  const problem = findValidityProblem(certificate, now, clockSkewSeconds)
  return problem === undefined ? undefined : `the certificate '${certificate.subjectText}' ${problem}`
}

/** Returns what {@link certificateProblem} says of a certificate, without its subject, which may be a person. */
export function findValidityProblem(
  { notBefore, notAfter, unknownCritical }: Certificate,
  now: Date,
  clockSkewSeconds: number,
): string | undefined {
  const skew = clockSkewSeconds * 1000
  if (now.getTime() > notAfter.getTime() + skew) return `expired on ${formatSeconds(notAfter)}`
  if (now.getTime() < notBefore.getTime() - skew) {
    return `is not valid before ${formatSeconds(notBefore)}, and it is ${formatSeconds(now)} now`
  }
  if (unknownCritical.length === 0) return undefined
  return `has extensions that are not supported and must be: ${unknownCritical.join(', ')}`
}

/** Parses the TBSCertificate. RFC 5280 section 4.1.2. */
function readTbsCertificate(tbsCertificate: DerValue, outerAlgorithm: DerValue) {
  const members = readSequence(tbsCertificate)
  const version = readVersion(takeOptionalMember(members, contextTag(0, 'constructed')))
  refuseSerial(readInteger(takeMember(members, DER_TAG.integer)))
  if (!takeMember(members, DER_TAG.sequence).der.equals(outerAlgorithm.der)) {
    malformed('the certificate names two different signature algorithms')
  }
  const issuer = takeMember(members, DER_TAG.sequence)
  const validity = readValidity(takeMember(members, DER_TAG.sequence))
  const subject = takeMember(members, DER_TAG.sequence)
  const publicKey = readPublicKey(takeMember(members, DER_TAG.sequence))
  if (version === V3) for (const number of [1, 2]) takeOptionalMember(members, contextTag(number, 'primitive'))
  const extensions = version === V3 ? takeOptionalMember(members, contextTag(3, 'constructed')) : undefined
  refuseMoreMembers(members)
  return {
    subject: subject.der,
    issuer: issuer.der,
    subjectText: nameText(subject),
    issuerText: nameText(issuer),
    selfIssued: subject.der.equals(issuer.der),
    ...validity,
    ...publicKey,
    ...readExtensions(extensions === undefined ? undefined : readOnlyChild(extensions)),
  }
}

/** Parses the version. DER omits version 1, the default; version 2 is not used in practice. */
function readVersion(taggedVersion: DerValue | undefined): number {
  if (taggedVersion === undefined) return V1
  const version = readSmallInteger(readOnlyChild(taggedVersion))
  return version === V3 ? version : malformed('the certificate is not of version 3 or 1')
}

/**
 * Refuses a serial number that is negative or too long. Zero is invalid too, but some tools use it, so it is accepted.
 * RFC 5280 section 4.1.2.2.
 */
function refuseSerial(serial: Buffer): void {
  if (serial.length > MAX_SERIAL_BYTES) malformed(`the serial number is longer than ${MAX_SERIAL_BYTES} bytes`)
  if ((serial[0] ?? 0) >= 0x80) malformed('the serial number is negative')
}

function readValidity(validity: DerValue): Pick<Certificate, 'notBefore' | 'notAfter'> {
  const [notBefore, notAfter, ...more] = readSequence(validity)
  if (notBefore === undefined || notAfter === undefined) return malformed('the validity has no two times')
  refuseMoreMembers(more)
  return { notBefore: readTime(notBefore), notAfter: readTime(notAfter) }
}

/** Parses the public key. Only signature keys on named curves (RFC 5480) are passed to `node:crypto`. */
function readPublicKey(info: DerValue): Pick<Certificate, 'publicKey' | 'keyDigest'> {
  const members = readSequence(info)
  const { oid, parameters } = readAlgorithm(takeMember(members, DER_TAG.sequence))
  const keyBytes = readWholeBytes(takeMember(members, DER_TAG.bitString))
  refuseMoreMembers(members)
  if (!KEY_ALGORITHMS.includes(oid)) malformed(`public keys of the kind ${oid} are not supported`)
  let publicKey: KeyObject
  if (oid === EC_PUBLIC_KEY && parameters?.tag !== DER_TAG.oid) malformed('the public key does not name its curve')
  try {
    publicKey = createPublicKey({ key: info.der, format: 'der', type: 'spki' })
  } catch (cause) {
    return malformed('the public key cannot be parsed', cause)
  }
  // Refuses Ed25519 points of small order, for which anybody can make signatures.
  if (publicKey.asymmetricKeyType === 'ed25519') publicJwkOf(publicKey)
  return { publicKey, keyDigest: hash('sha1', keyBytes, 'buffer') }
}

function readWholeBytes(value: DerValue): Buffer {
  const { bytes, unusedBits } = readBitString(value)
  return unusedBits === 0 ? bytes : malformed('a key or signature is not whole bytes')
}

function readOnlyChild({ children }: DerValue): DerValue {
  const [child, ...more] = children
  if (child === undefined || more.length > 0)
    return malformed('a tagged member of the certificate must be exactly one element')
  return child
}

function formatSeconds(date: Date): string {
  return `${date.toISOString().slice(0, -5)}Z`
}
