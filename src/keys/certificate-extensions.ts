/**
 * Parses the certificate extensions that this service processes, and lists the critical ones that it does not. RFC 5280
 * section 4.2.
 */
import {
  contextTag,
  DER_TAG,
  type DerValue,
  readBitString,
  readBoolean,
  readDer,
  readOctetString,
  readOid,
  readSequence,
  readSmallInteger,
  refuseMoreMembers,
  takeMember,
  takeOptionalMember,
} from '../codec/der.ts'
import { malformed, readPart } from '../codec/malformed.ts'
import { MAX_URL } from '../codec/url.ts'

/** The key usages, in the order of their bits. RFC 5280 section 4.2.1.3. */
export const KEY_USAGES = [
  'digitalSignature',
  'nonRepudiation',
  'keyEncipherment',
  'dataEncipherment',
  'keyAgreement',
  'keyCertSign',
  'cRLSign',
  'encipherOnly',
  'decipherOnly',
] as const
export type KeyUsage = (typeof KEY_USAGES)[number]

export const EXTENSION = {
  subjectKeyIdentifier: '2.5.29.14',
  keyUsage: '2.5.29.15',
  subjectAltName: '2.5.29.17',
  issuerAltName: '2.5.29.18',
  basicConstraints: '2.5.29.19',
  crlNumber: '2.5.29.20',
  nameConstraints: '2.5.29.30',
  crlDistributionPoints: '2.5.29.31',
  authorityKeyIdentifier: '2.5.29.35',
  extendedKeyUsage: '2.5.29.37',
} as const

/** The tags of the general names that are used. RFC 5280 section 4.2.1.6. */
export const GENERAL_NAME = {
  dnsName: contextTag(2, 'primitive'),
  uri: contextTag(6, 'primitive'),
  ipAddress: contextTag(7, 'primitive'),
} as const

export interface CertificateExtensions {
  /** The `cA` of the basic constraints. */
  readonly isCa: boolean
  readonly pathLength: number | undefined
  /** The key usages; undefined if the extension is absent. */
  readonly keyUsage: ReadonlySet<KeyUsage> | undefined
  readonly dnsNames: readonly string[]
  readonly uris: readonly string[]
  /** The IP addresses in the form of URLs: `192.0.2.1`, `[2001:db8::1]`. */
  readonly ipAddresses: readonly string[]
  readonly hasSubjectAltName: boolean
  /** The OIDs of critical extensions that this service does not process. A certificate with any of them is refused. */
  readonly unknownCritical: readonly string[]
  /**
   * The OIDs of the extended key usages; undefined if the extension is absent. `certificate-purpose.ts` decides what
   * they allow.
   */
  readonly extendedKeyUsage: readonly string[] | undefined
  readonly extendedKeyUsageIsCritical: boolean
  /** The subject key identifier. It helps to find issuers and proves nothing. */
  readonly subjectKeyIdentifier: Buffer | undefined
  /**
   * The authority key identifier, which `trusted_authorities` of the type `aki` refer to. It proves nothing by itself.
   * OpenID4VP 1.0, Authority Key Identifier.
   */
  readonly authorityKeyIdentifier: Buffer | undefined
}

interface Extension {
  readonly critical: boolean
  readonly value: Buffer
}

const PROCESSED_EXTENSIONS: readonly string[] = [
  EXTENSION.subjectKeyIdentifier,
  EXTENSION.keyUsage,
  EXTENSION.subjectAltName,
  EXTENSION.basicConstraints,
  EXTENSION.authorityKeyIdentifier,
  EXTENSION.extendedKeyUsage,
]
/** The maximum number of subject alternative names. */
const MAX_NAMES = 100
/** The maximum length of a DNS name. RFC 1035 section 3.1. */
const MAX_DNS_NAME = 253

/** Parses the extensions of a certificate; `extensions` is undefined if there are none. */
export function readExtensions(extensions: DerValue | undefined): CertificateExtensions {
  const byOid = extensions === undefined ? new Map<string, Extension>() : readAllExtensions(extensions)
  const names = readExtension(byOid, EXTENSION.subjectAltName, readGeneralNames) ?? []
  return {
    ...(readExtension(byOid, EXTENSION.basicConstraints, readBasicConstraints) ?? {
      isCa: false,
      pathLength: undefined,
    }),
    keyUsage: readExtension(byOid, EXTENSION.keyUsage, readKeyUsage),
    dnsNames: names.filter(({ tag }) => tag === GENERAL_NAME.dnsName).map(({ content }) => content.toString('latin1')),
    uris: names.filter(({ tag }) => tag === GENERAL_NAME.uri).map(({ content }) => content.toString('latin1')),
    ipAddresses: names.filter(({ tag }) => tag === GENERAL_NAME.ipAddress).map(({ content }) => formatAddress(content)),
    hasSubjectAltName: byOid.has(EXTENSION.subjectAltName),
    unknownCritical: [...byOid].filter(([oid, { critical }]) => mustBeKnown(oid, critical)).map(([oid]) => oid),
    extendedKeyUsage: readExtension(byOid, EXTENSION.extendedKeyUsage, readExtendedKeyUsage),
    extendedKeyUsageIsCritical: byOid.get(EXTENSION.extendedKeyUsage)?.critical ?? false,
    subjectKeyIdentifier: readExtension(byOid, EXTENSION.subjectKeyIdentifier, (value) =>
      Buffer.from(readOctetString(value)),
    ),
    authorityKeyIdentifier: readExtension(byOid, EXTENSION.authorityKeyIdentifier, readKeyIdentifier),
  }
}

/**
 * Tests whether a certificate with the extension `oid` must be refused: a critical one that is not processed, and name
 * constraints, critical or not, since they limit a CA.
 */
function mustBeKnown(oid: string, critical: boolean): boolean {
  return oid === EXTENSION.nameConstraints || (critical && !PROCESSED_EXTENSIONS.includes(oid))
}

function readAllExtensions(extensions: DerValue): Map<string, Extension> {
  const byOid = new Map<string, Extension>()
  for (const extension of readSequence(extensions)) {
    const members = readSequence(extension)
    const oid = readOid(takeMember(members, DER_TAG.oid))
    const critical = takeOptionalMember(members, DER_TAG.boolean)
    const value = readOctetString(takeMember(members, DER_TAG.octetString))
    refuseMoreMembers(members)
    if (byOid.has(oid)) malformed(`the certificate has the extension ${oid} twice`)
    // Strict DER omits FALSE, but some CAs encode it, and its meaning is clear.
    byOid.set(oid, { critical: critical !== undefined && readBoolean(critical), value })
  }
  return byOid.size === 0 ? malformed('the certificate has an empty list of extensions') : byOid
}

function readExtension<T>(
  byOid: ReadonlyMap<string, Extension>,
  oid: string,
  readValue: (value: DerValue) => T,
): T | undefined {
  const extension = byOid.get(oid)
  return extension && readPart(`the extension ${oid}`, () => readValue(readDer(extension.value)))
}

function readBasicConstraints(value: DerValue): Pick<CertificateExtensions, 'isCa' | 'pathLength'> {
  const members = readSequence(value)
  const isCa = takeOptionalMember(members, DER_TAG.boolean)
  const pathLength = takeOptionalMember(members, DER_TAG.integer)
  refuseMoreMembers(members)
  return {
    isCa: isCa !== undefined && readBoolean(isCa),
    pathLength: pathLength === undefined ? undefined : readSmallInteger(pathLength),
  }
}

function readKeyUsage(value: DerValue): ReadonlySet<KeyUsage> {
  const { bytes } = readBitString(value)
  const isSet = (bit: number) => (((bytes[bit >> 3] ?? 0) << (bit & 7)) & 0x80) !== 0
  const usages = new Set(KEY_USAGES.filter((_, bit) => isSet(bit)))
  return usages.size === 0 ? malformed('it allows no usage at all') : usages
}

function readExtendedKeyUsage(value: DerValue): readonly string[] {
  const purposes = readSequence(value).map(readOid)
  return purposes.length === 0 ? malformed('it names no purpose') : purposes
}

/**
 * Returns all general names of all kinds. Checks the text of the kinds that are used, so that none contains a NUL or a
 * space.
 */
function readGeneralNames(value: DerValue): readonly DerValue[] {
  const names = readSequence(value)
  if (names.length === 0) malformed('it is empty')
  if (names.length > MAX_NAMES) malformed(`it has more than ${MAX_NAMES} names`)
  for (const { tag, content } of names) {
    if (tag < 0x80 || tag >= 0xc0 || (tag & 0x1f) > 8) malformed('it holds something that is not a name')
    const isText = tag === GENERAL_NAME.dnsName || tag === GENERAL_NAME.uri
    if (isText && content.length > (tag === GENERAL_NAME.uri ? MAX_URL : MAX_DNS_NAME))
      malformed('a name in it is too long')
    if (isText && !/^[\x21-\x7e]+$/.test(content.toString('latin1'))) malformed('a name in it is not printable ASCII')
  }
  return names
}

/** Formats an IP address of 4 or 16 bytes. RFC 5280 section 4.2.1.6. */
function formatAddress(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.')
  if (bytes.length !== 16) return malformed('an IP address in it has neither 4 nor 16 bytes')
  const groups = Buffer.from(bytes).toString('hex').match(/.{4}/g) ?? []
  return new URL(`http://[${groups.join(':')}]`).hostname
}

function readKeyIdentifier(value: DerValue): Buffer | undefined {
  const identifier = takeOptionalMember(readSequence(value), contextTag(0, 'primitive'))
  return identifier && Buffer.from(identifier.content)
}
