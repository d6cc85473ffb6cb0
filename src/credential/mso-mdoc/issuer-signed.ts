/**
 * Parses IssuerSigned, the part of an mdoc that the issuer signed. Unknown members are refused, so that the unsigned
 * ones cannot be renamed unnoticed. ISO/IEC 18013-5 sections 8.3.2.1.2.2 and 9.1.2.
 */
import {
  asArray,
  asBytes,
  asEmbeddedBytes,
  asMap,
  asText,
  type Cbor,
  type CborMap,
  decodeCbor,
  readEmbedded,
} from '../../codec/cbor.ts'
import { readSign1, type Sign1 } from '../../codec/cose.ts'
import { malformed, readPart } from '../../codec/malformed.ts'
import { untrustedText } from '../../codec/untrusted-text.ts'

export const MDOC_VERSION = '1.0'

/** The maximum number of elements of an mdoc, since each is hashed before the signature is verified. */
export const MAX_ELEMENTS = 1000
export const MAX_NAMESPACES = 32

export interface IssuerSigned {
  /** The items of each namespace, as the bytes inside of tag 24. */
  readonly nameSpaces: ReadonlyMap<string, readonly Uint8Array[]>
  readonly issuerAuth: Sign1
  /** The IssuerAuth as it was received, for presentations. */
  readonly rawIssuerAuth: Cbor
  readonly mso: MobileSecurityObject
}

/** The MobileSecurityObject (MSO), which the issuer signs. */
export interface MobileSecurityObject {
  /** The payload of the COSE_Sign1. */
  readonly bytes: Uint8Array
  readonly version: Cbor | undefined
  readonly docType: string
  readonly digestAlgorithm: Cbor | undefined
  readonly valueDigests: CborMap
  readonly deviceKeyInfo: CborMap
  readonly validityInfo: CborMap
  readonly status: Cbor | undefined
}

/** Parses an IssuerSigned. Throws a MalformedError. */
export function readIssuerSigned(value: Cbor | undefined): IssuerSigned {
  const issuerSigned = readClosedMap(value, 'issuerSigned', ['nameSpaces', 'issuerAuth'])
  const rawIssuerAuth = issuerSigned.get('issuerAuth') ?? malformed('there is no issuerAuth')
  const issuerAuth = readSign1(rawIssuerAuth, 'issuerAuth')
  return {
    nameSpaces: readNameSpaces(issuerSigned.get('nameSpaces')),
    issuerAuth,
    rawIssuerAuth,
    mso: readMso(issuerAuth.payload ?? malformed('issuerAuth has no payload')),
  }
}

/**
 * Returns the value as a map. Throws a MalformedError if it has other members than these; version 1.0 has no others.
 */
export function readClosedMap(value: Cbor | undefined, what: string, members: readonly string[]): CborMap {
  const map = asMap(value, what)
  const stray = [...map.keys()].some((key) => typeof key !== 'string' || !members.includes(key))
  return stray ? malformed(`${what} has members other than ${members.join(', ')}`) : map
}

function readNameSpaces(value: Cbor | undefined): IssuerSigned['nameSpaces'] {
  if (value === undefined) return new Map()
  const nameSpaces = [...asMap(value, 'nameSpaces')]
  if (nameSpaces.length > MAX_NAMESPACES) malformed(`it has more than ${MAX_NAMESPACES} namespaces`)
  const itemsByNameSpace = new Map(
    nameSpaces.map(([name, items]) => [
      asText(name, 'a namespace'),
      asArray(items, 'a namespace').map((item) => asEmbeddedBytes(item, 'an element')),
    ]),
  )
  const elements = [...itemsByNameSpace.values()].reduce((count, items) => count + items.length, 0)
  return elements > MAX_ELEMENTS ? malformed(`it has more than ${MAX_ELEMENTS} elements`) : itemsByNameSpace
}

/** Describes the version of a structure, as part of a sentence. */
export function versionText(version: Cbor | undefined): string {
  if (version === undefined) return 'of no version'
  return typeof version === 'string' ? `of version ${untrustedText(version)}` : 'of a version that is not text'
}

function readMso(payload: Uint8Array): MobileSecurityObject {
  const name = 'the mobile security object'
  const embeddedMso = readPart(name, () => decodeCbor(payload))
  const mso = asMap(readEmbedded(embeddedMso, name), name)
  const version = mso.get('version')
  // Another version may lack the members that are read below, so the error has the version.
  const what = version === MDOC_VERSION ? name : `${name}, which is ${versionText(version)},`
  return {
    bytes: asBytes(payload, what),
    version: mso.get('version'),
    docType: asText(mso.get('docType'), `docType of ${what}`),
    digestAlgorithm: mso.get('digestAlgorithm'),
    valueDigests: asMap(mso.get('valueDigests'), `valueDigests of ${what}`),
    deviceKeyInfo: asMap(mso.get('deviceKeyInfo'), `deviceKeyInfo of ${what}`),
    validityInfo: asMap(mso.get('validityInfo'), `validityInfo of ${what}`),
    status: mso.get('status'),
  }
}
