/**
 * Makes certificates for `vouchsafe init`, the demonstration and tests. The caller provides randomness and times. RFC
 * 5280 section 4.
 */
import { hash, type KeyObject, sign } from 'node:crypto'
import { isIPv4, isIPv6 } from 'node:net'
import {
  contextTag,
  DER_TAG,
  readBitString,
  readDer,
  readSequence,
  takeMember,
  writeBitString,
  writeBoolean,
  writeDer,
  writeInteger,
  writeOctetString,
  writeOid,
  writeSequence,
  writeTime,
} from '../codec/der.ts'
import { CERTIFICATE_LABEL, writePem } from '../codec/pem.ts'
import { EXTENSION, GENERAL_NAME, KEY_USAGES, type KeyUsage } from './certificate-extensions.ts'
import { writeName } from './certificate-name.ts'
import { SIGNATURE_OIDS } from './certificate-signature.ts'
import { algorithms, requireAlgorithm } from './signature.ts'

export interface SubjectAltNames {
  readonly dnsNames?: readonly string[]
  readonly uris?: readonly string[]
  readonly ipAddresses?: readonly string[]
}

export interface CertificateContent {
  /** The subject in DER, made by `writeName`. */
  readonly subject: Uint8Array
  readonly publicKey: KeyObject
  readonly issuer: { readonly name: Uint8Array; readonly privateKey: KeyObject }
  /** The serial number, such as 16 random bytes. */
  readonly serial: Uint8Array
  readonly notBefore: Date
  readonly notAfter: Date
  /** The extensions in DER, made by the functions below. */
  readonly extensions: readonly Uint8Array[]
}

export interface SelfSignedOptions extends SubjectAltNames {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly commonName: string
  readonly serial: Uint8Array
  readonly notBefore: Date
  readonly notAfter: Date
  readonly isCa?: boolean
}

/** The version of certificates, as these write it. */
const V3 = 2

/** Makes a self-signed certificate in DER for signing credentials and requests, or with `isCa` for a CA. */
export function makeSelfSignedCertificate(options: SelfSignedOptions): Buffer {
  const { commonName, publicKey, privateKey, serial, notBefore, notAfter, isCa = false } = options
  const name = writeName([['CN', commonName]])
  const extensions = usualExtensions({ publicKey, issuerPublicKey: publicKey, isCa, names: options })
  return makeCertificate({
    subject: name,
    publicKey,
    issuer: { name, privateKey },
    serial,
    notBefore,
    notAfter,
    extensions,
  })
}

/** Makes a certificate in DER. */
export function makeCertificate(content: CertificateContent): Buffer {
  const { subject, publicKey, issuer, serial, notBefore, notAfter, extensions } = content
  return signByCa(issuer.privateKey, (identifier) => [
    writeDer(contextTag(0, 'constructed'), writeInteger(V3)),
    writeInteger(serial),
    identifier,
    issuer.name,
    writeSequence(writeTime(notBefore), writeTime(notAfter)),
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(extensions.length === 0 ? [] : [writeDer(contextTag(3, 'constructed'), writeSequence(...extensions))]),
  ])
}

/** Signs the members of a certificate or a revocation list. `makeMembers` gets the identifier of the algorithm. */
export function signByCa(privateKey: KeyObject, makeMembers: (identifier: Buffer) => readonly Uint8Array[]): Buffer {
  const algorithm = requireAlgorithm(privateKey)
  const identifier = writeSequence(writeOid(SIGNATURE_OIDS[algorithm]))
  const signedPart = writeSequence(...makeMembers(identifier))
  const signature = writeBitString(sign(algorithms[algorithm].digest, signedPart, privateKey))
  return writeSequence(signedPart, identifier, signature)
}

/** Encodes a certificate in PEM. */
export function toPem(der: Uint8Array): string {
  return writePem(CERTIFICATE_LABEL, der)
}

/** Makes the usual extensions: key identifiers, key usage, and subject alternative names. */
export function usualExtensions(options: {
  readonly publicKey: KeyObject
  readonly issuerPublicKey: KeyObject
  readonly isCa: boolean
  readonly pathLength?: number
  readonly names?: SubjectAltNames
}): Buffer[] {
  const { publicKey, issuerPublicKey, isCa, pathLength, names = {} } = options
  return [
    // RFC 5280 section 4.2.1.9 requires it only for CAs, and some wallets cannot parse an empty sequence.
    ...(isCa ? [basicConstraints(isCa, pathLength)] : []),
    keyUsage(isCa ? ['keyCertSign', 'cRLSign'] : ['digitalSignature']),
    subjectKeyIdentifier(publicKey),
    authorityKeyIdentifier(issuerPublicKey),
    ...subjectAltName(names),
  ]
}

/** Makes an extension with any OID and value. */
export function extension(oid: string, critical: boolean, value: Uint8Array): Buffer {
  return writeSequence(writeOid(oid), ...(critical ? [writeBoolean(true)] : []), writeOctetString(value))
}

/** Makes the basic constraints. */
export function basicConstraints(isCa: boolean, pathLength?: number): Buffer {
  const members = isCa ? [writeBoolean(true), ...(pathLength === undefined ? [] : [writeInteger(pathLength)])] : []
  return extension(EXTENSION.basicConstraints, true, writeSequence(...members))
}

/** Makes the key usage. */
export function keyUsage(usages: readonly KeyUsage[]): Buffer {
  const bits = usages.map((usage) => KEY_USAGES.indexOf(usage))
  const last = Math.max(...bits)
  const bytes = Buffer.alloc((last >> 3) + 1)
  for (const bit of bits) bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (0x80 >> (bit & 7))
  // X.690 section 11.2.2: trailing zero bits are removed.
  return extension(EXTENSION.keyUsage, true, writeBitString(bytes, 7 - (last & 7)))
}

/** Makes the extended key usage; `certificate-purpose.ts` has the OIDs. */
export function extendedKeyUsage(purposes: readonly string[], isCritical: boolean): Buffer {
  return extension(EXTENSION.extendedKeyUsage, isCritical, writeSequence(...purposes.map(writeOid)))
}

function subjectKeyIdentifier(publicKey: KeyObject): Buffer {
  return extension(EXTENSION.subjectKeyIdentifier, false, writeOctetString(makeKeyIdentifier(publicKey)))
}

/** Makes the authority key identifier, of the key of the CA. */
export function authorityKeyIdentifier(issuerPublicKey: KeyObject): Buffer {
  const keyId = writeDer(contextTag(0, 'primitive'), makeKeyIdentifier(issuerPublicKey))
  return extension(EXTENSION.authorityKeyIdentifier, false, writeSequence(keyId))
}

/** Makes the subject alternative names; none if there are no names, since an empty extension is invalid. */
export function subjectAltName({ dnsNames = [], uris = [], ipAddresses = [] }: SubjectAltNames): Buffer[] {
  const names = [
    ...dnsNames.map((name) => writeDer(GENERAL_NAME.dnsName, Buffer.from(name, 'latin1'))),
    ...uris.map(uriName),
    ...ipAddresses.map((address) => writeDer(GENERAL_NAME.ipAddress, addressBytes(address))),
  ]
  return names.length === 0 ? [] : [extension(EXTENSION.subjectAltName, false, writeSequence(...names))]
}

/** Makes the issuer alternative name with a URI. RFC 5280 section 4.2.1.7. */
export function issuerAltName(uri: string): Buffer {
  return extension(EXTENSION.issuerAltName, false, writeSequence(uriName(uri)))
}

/** Makes the distribution point of the certificate revocation list (CRL). RFC 5280 section 4.2.1.13. */
export function crlDistributionPoint(uri: string): Buffer {
  const fullName = writeDer(contextTag(0, 'constructed'), uriName(uri))
  const point = writeSequence(writeDer(contextTag(0, 'constructed'), fullName))
  return extension(EXTENSION.crlDistributionPoints, false, writeSequence(point))
}

function uriName(uri: string): Buffer {
  return writeDer(GENERAL_NAME.uri, Buffer.from(uri, 'latin1'))
}

/** Returns the SHA-1 of the key, which ISO/IEC 18013-5 annex B demands. RFC 5280 section 4.2.1.2, method 1. */
function makeKeyIdentifier(publicKey: KeyObject): Buffer {
  const members = readSequence(readDer(publicKey.export({ type: 'spki', format: 'der' })))
  takeMember(members, DER_TAG.sequence)
  const { bytes } = readBitString(takeMember(members, DER_TAG.bitString))
  return hash('sha1', bytes, 'buffer')
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  if (!isIPv6(address) || address.includes('%')) throw new TypeError(`${address} is not an IP address`)
  // A URL normalizes an IPv6 address: hexadecimal groups, with at most one `::`.
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const groups = (text: string) => text.split(':').filter((group) => group !== '')
  const [first, last] = [groups(head), groups(tail ?? '')]
  const gap = Array<string>(8 - first.length - last.length).fill('0')
  return Buffer.from([...first, ...gap, ...last].map((group) => group.padStart(4, '0')).join(''), 'hex')
}
