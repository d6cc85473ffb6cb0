/**
 * Parses the tokens of status lists, as JWT and as CWT, and of identifier lists. `verdict.ts` looks up the status of a
 * credential in them. Token Status List, Status List Token; ISO/IEC 18013-5, second edition, 12.3.6.
 */
import type { KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, inflate } from 'node:zlib'
import { fromBase64url } from '../../codec/base64url.ts'
import {
  asBytes,
  asMap,
  type Cbor,
  type CborKey,
  type CborMap,
  contentOfTag,
  createBudget,
  decodeCbor,
  isByteStringKey,
} from '../../codec/cbor.ts'
import { readSign1, type Sign1 } from '../../codec/cose.ts'
import { isObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import { readJws } from '../../codec/jws.ts'
import { malformed } from '../../codec/malformed.ts'
import {
  CWT_CLAIM,
  capacityOf,
  IDENTIFIER_LIST_MEDIA_TYPE,
  STATUS_LIST_MEDIA_TYPES,
  type StatusWidth,
  statusAt,
} from '../../codec/status-list.ts'
import { readNumericInstants, readX5cHeader } from '../../credential/evidence.ts'
import type { Validity } from '../../credential/evidence-parts.ts'
import { isJwsSignedBy, isSign1SignedBy } from '../../keys/signature.ts'
import type { StatusReference } from './status-reference.ts'

export interface FetchedStatusList {
  /** The certificates of the list (DER), that of its key first; empty if those of the credential apply. */
  readonly chain: readonly Uint8Array[]
  isSignedBy(key: KeyObject): boolean
  readonly validity: Validity
  /** The ttl of the list, if it has one. */
  readonly ttlSeconds: number | undefined
  /** The issuers that the list names; empty if it names none. */
  readonly identifiers: readonly string[]
  /** The purposes of the list; empty for a status list token. */
  readonly purposes: readonly string[]
  /** Returns the status value of an entry, 0 for a valid one; undefined if the list has no such entry. */
  findStatus(entry: StatusReference['entry']): number | undefined
  /** The estimated size of the content in memory. */
  readonly memoryBytes: number
}

/**
 * Makes the content of a list whose entries have `width` bits each. `positionOf` maps an index to a position counted
 * from the lowest bits of the first byte.
 */
export function makeEntries(
  bytes: Uint8Array,
  width: StatusWidth,
  positionOf: (index: number) => number = (index) => index,
): Pick<FetchedStatusList, 'findStatus' | 'memoryBytes'> {
  return {
    findStatus: (index) =>
      typeof index === 'number' && index < capacityOf(bytes, width)
        ? statusAt(bytes, width, positionOf(index))
        : undefined,
    memoryBytes: bytes.length,
  }
}

/** The maximum size of a response with a list. */
export const MAX_LIST_BYTES = 2 * 1024 * 1024
/** The maximum size after decompression: four million entries of two bits. Decompressing them takes up to 20 ms. */
const MAX_UNPACKED_BYTES = 1024 * 1024

interface Decompression {
  readonly buffer: Uint8Array
  /** `bytesWritten` is the number of bytes of the compressed data, without those that follow its end. */
  readonly engine: { readonly bytesWritten: number }
}

/**
 * Decompresses a list. Throws a MalformedError if it is not compressed that way, if other bytes follow, or if it is too
 * large.
 */
export async function unpack(packedList: Uint8Array, by: 'zlib' | 'gzip'): Promise<Uint8Array> {
  const unpacking = by === 'zlib' ? promisify(inflate) : promisify(gunzip)
  let decompression: Decompression
  try {
    // The types of Node.js do not have the result of `info`.
    decompression = (await unpacking(packedList, {
      maxOutputLength: MAX_UNPACKED_BYTES,
      info: true,
    })) as unknown as Decompression
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      return malformed(`its list is larger than ${MAX_UNPACKED_BYTES} bytes when it is unpacked`)
    }
    return malformed(`its list is not packed by ${by}`, error)
  }
  if (decompression.engine.bytesWritten !== packedList.length)
    return malformed(`its list is not packed by ${by} alone: other bytes follow`)
  return decompression.buffer
}

/** The tag of a CWT. RFC 8392 section 6. */
const CWT_TAG = 61
/**
 * The accepted types of a CWT status list token, both as texts, since no CoAP content format is registered yet. Token
 * Status List, IANA.
 */
const CWT_TYPES: readonly [string, string] = [STATUS_LIST_MEDIA_TYPES.cwt, 'statuslist+cwt']
const WIDTHS: readonly unknown[] = [1, 2, 4, 8]

/** The maximum number of values in an identifier list, two for each identifier: as many as one megabyte has. */
const MAX_IDENTIFIER_VALUES = 120_000
/** The status value of an identifier that is in the list. ISO/IEC 18013-5, second edition, 12.3.6.1. */
const REVOKED = 1
/** The estimated size of an identifier in memory. */
const IDENTIFIER_BYTES = 100

/** The claims that every list has, as they are in the token. */
interface ListClaims {
  readonly sub: unknown
  readonly iat: unknown
  readonly nbf: unknown
  readonly exp: unknown
  readonly ttl: unknown
}

/** Parses a JWT status list token. Throws a MalformedError if the text is not a list for `uri`. */
export async function readStatusListJwt(text: string, uri: string): Promise<FetchedStatusList> {
  const jws = readJws(text)
  const { header, payload } = jws
  if (stringMemberOf(header, 'typ') !== 'statuslist+jwt') malformed('its type is not statuslist+jwt')
  const [sub, iat, nbf, exp, ttl, list] = ['sub', 'iat', 'nbf', 'exp', 'ttl', 'status_list'].map((name) =>
    memberOf(payload, name),
  )
  const lst = stringMemberOf(list, 'lst')
  if (!isObject(list) || lst === undefined) return malformed('it has no status_list with a lst')
  return {
    chain: readX5cHeader(header),
    isSignedBy: (key) => isJwsSignedBy(jws, key),
    ...readListClaims({ sub, iat, nbf, exp, ttl }, uri),
    ...(await readEntries(memberOf(list, 'bits'), fromBase64url(lst))),
  }
}

/** Parses a CWT status list token. Throws a MalformedError if the bytes are not a list for `uri`. */
export async function readStatusListCwt(bytes: Uint8Array, uri: string): Promise<FetchedStatusList> {
  const { sign1, payload } = readCwt(bytes, CWT_TYPES)
  const claims = asMap(decodeCbor(payload, { longNumbers: true }), 'its payload')
  const list = asMap(claims.get(CWT_CLAIM.statusList), 'its status_list')
  return {
    ...signatureOf(sign1, payload),
    ...readListClaims(listClaimsOf(claims), uri),
    ...(await readEntries(list.get('bits'), asBytes(list.get('lst'), 'its lst'))),
  }
}

/**
 * Parses an identifier list, which names the mobile documents that are revoked. Throws a MalformedError if the bytes
 * are not a list for `uri`. ISO/IEC 18013-5, second edition, 12.3.6.3 and 12.3.6.4.
 */
export function readIdentifierListCwt(bytes: Uint8Array, uri: string): FetchedStatusList {
  const { sign1, payload } = readCwt(bytes, [IDENTIFIER_LIST_MEDIA_TYPE])
  const budget = createBudget(MAX_IDENTIFIER_VALUES)
  const claims = asMap(decodeCbor(payload, { longNumbers: true, byteStringKeys: true, budget }), 'its payload')
  if (claims.has(CWT_CLAIM.statusList)) malformed('it is a list of identifiers and a status list at once')
  if (!claims.has(CWT_CLAIM.exp)) malformed('it does not say until when it is valid (exp)')
  const list = asMap(claims.get(CWT_CLAIM.identifierList), 'its identifier list')
  const identifiers: ReadonlySet<CborKey> = new Set(
    asMap(list.get('identifiers'), 'identifiers of its identifier list').keys(),
  )
  if (![...identifiers].every(isByteStringKey)) malformed('an identifier of it is not a byte string')
  return {
    ...signatureOf(sign1, payload),
    ...readListClaims(listClaimsOf(claims), uri),
    findStatus: (identifier) => (identifiers.has(identifier) ? REVOKED : 0),
    memoryBytes: identifiers.size * IDENTIFIER_BYTES,
  }
}

function readCwt(
  bytes: Uint8Array,
  types: readonly [string, ...string[]],
): { readonly sign1: Sign1; readonly payload: Uint8Array } {
  const token = decodeCbor(bytes, { longNumbers: true })
  const sign1 = readSign1(contentOfTag(token, CWT_TAG) ?? token, 'the token')
  const { typ, payload } = sign1
  if (!types.some((type) => type === typ)) malformed(`its type is not ${types[0]}`)
  return payload === undefined ? malformed('it has no payload') : { sign1, payload }
}

function signatureOf(sign1: Sign1, payload: Uint8Array): Pick<FetchedStatusList, 'chain' | 'isSignedBy'> {
  return { chain: sign1.x5chain, isSignedBy: (key) => isSign1SignedBy(sign1, payload, key) }
}

function listClaimsOf(claims: CborMap): ListClaims {
  const claim = (name: keyof ListClaims): Cbor | undefined => claims.get(CWT_CLAIM[name])
  return { sub: claim('sub'), iat: claim('iat'), nbf: claim('nbf'), exp: claim('exp'), ttl: claim('ttl') }
}

function readListClaims(
  { sub, iat, nbf, exp, ttl }: ListClaims,
  uri: string,
): Pick<FetchedStatusList, 'validity' | 'ttlSeconds' | 'identifiers' | 'purposes'> {
  if (sub !== uri) malformed('its sub is not the address that it was fetched from')
  if (iat === undefined) malformed('it does not say when it was issued (iat)')
  if (ttl !== undefined && !(typeof ttl === 'number' && ttl > 0)) malformed('its ttl is not a positive number')
  return {
    validity: {
      notBefore: [...readNumericInstants('iat', iat), ...readNumericInstants('nbf', nbf)],
      notAfter: readNumericInstants('exp', exp),
    },
    ttlSeconds: ttl,
    identifiers: [],
    purposes: [],
  }
}

async function readEntries(
  bits: unknown,
  packedList: Uint8Array,
): Promise<Pick<FetchedStatusList, 'findStatus' | 'memoryBytes'>> {
  if (!WIDTHS.includes(bits)) malformed('`bits` must be 1, 2, 4 or 8')
  return makeEntries(await unpack(packedList, 'zlib'), bits as StatusWidth)
}
