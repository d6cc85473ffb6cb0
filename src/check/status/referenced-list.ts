/**
 * References to status lists of any kind, the content of a loaded list, and the parsing of status list tokens, as JWT
 * and as CWT. `verdict.ts` looks up the status of a credential. Token Status List, Referenced Token and Status List
 * Token; Bitstring Status List 1.0.
 */
import type { KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { gunzip, inflate } from 'node:zlib'
import { fromBase64url } from '../../codec/base64url.ts'
import { asBytes, asMap, type Cbor, contentOfTag, decodeCbor } from '../../codec/cbor.ts'
import { readSign1 } from '../../codec/cose.ts'
import { isObject, type Json, type JsonObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import { readJws } from '../../codec/jws.ts'
import { malformed, readPart } from '../../codec/malformed.ts'
import {
  CWT_CLAIM,
  isStatusPurpose,
  STATUS_LIST_TYPES,
  type StatusPurpose,
  type StatusWidth,
} from '../../codec/status-list.ts'
import { parseUrl } from '../../codec/url.ts'
import { readNumericInstants, readX5cHeader } from '../../credential/evidence.ts'
import type { Evidence, Validity } from '../../credential/format.ts'
import { isJwsSignedBy, isSign1SignedBy } from '../../keys/signature.ts'

/** A reference of a credential to an entry of a status list. */
export interface StatusReference {
  readonly kind: 'token' | 'bitstring'
  readonly uri: string
  readonly index: number
  /** The purpose of a bitstring; undefined for a status list token, whose values have a defined meaning. */
  readonly purpose: StatusPurpose | undefined
}

interface StatusReferences {
  readonly references: readonly StatusReference[]
  /** Descriptions of the entries that are ignored. */
  readonly ignored: readonly string[]
}

/** A parsed entry of `credentialStatus`: a reference to a list, or why the entry is ignored. */
type BitstringEntry = { readonly reference: StatusReference } | { readonly ignored: string }

/** The maximum number of status entries of a credential, since each may cost a request. */
const MAX_ENTRIES = 8

/**
 * Returns the references of a credential to status lists. Throws a MalformedError if a status is present and cannot be
 * parsed.
 */
export function readStatusReferences({
  status,
  credentialStatus = [],
}: Pick<Evidence, 'status' | 'credentialStatus'>): StatusReferences {
  if (credentialStatus.length > MAX_ENTRIES) malformed(`credentialStatus has more than ${MAX_ENTRIES} entries`)
  const entries = credentialStatus.map((entry, at) =>
    readPart(`credentialStatus[${at}]`, () => readBitstringEntry(entry)),
  )
  return {
    references: [
      ...(status === undefined ? [] : [readTokenReference(status)]),
      ...entries.flatMap((entry) => ('reference' in entry ? [entry.reference] : [])),
    ],
    ignored: [
      ...Object.keys(status ?? {}).flatMap((name) => (name === 'status_list' ? [] : ['another member of status'])),
      ...entries.flatMap((entry) => ('ignored' in entry ? [entry.ignored] : [])),
    ],
  }
}

function readTokenReference(status: JsonObject): StatusReference {
  const list = memberOf(status, 'status_list')
  if (!isObject(list)) return malformed('its status has no status_list, and no other way is supported')
  const index = memberOf(list, 'idx')
  if (typeof index !== 'number' || !isIndex(index)) return malformed('idx of its status_list is not an index')
  return { kind: 'token', uri: readUri(memberOf(list, 'uri'), 'uri of its status_list'), index, purpose: undefined }
}

function readBitstringEntry(entry: JsonObject): BitstringEntry {
  if (memberOf(entry, 'type') !== 'BitstringStatusListEntry') malformed('it is not a BitstringStatusListEntry')
  const purpose = stringMemberOf(entry, 'statusPurpose')
  if (purpose === undefined) return malformed('it has no statusPurpose')
  // Entries with other purposes do not affect validity.
  if (!isStatusPurpose(purpose)) return { ignored: 'a statusPurpose that is neither revocation nor suspension' }
  const [size, index] = [memberOf(entry, 'statusSize') ?? 1, memberOf(entry, 'statusListIndex')]
  if (size !== 1) malformed(`its statusSize is not 1, which it has to be for ${purpose}`)
  if (typeof index !== 'string' || !/^\d{1,16}$/.test(index) || !isIndex(Number(index))) {
    return malformed('statusListIndex is not an index, as a text')
  }
  const uri = readUri(memberOf(entry, 'statusListCredential'), 'statusListCredential')
  return { reference: { kind: 'bitstring', uri, index: Number(index), purpose } }
}

function isIndex(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

function readUri(value: Json | undefined, name: string): string {
  if (typeof value !== 'string' || parseUrl(value) === undefined) return malformed(`${name} is not a URL`)
  return value
}

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
  readonly width: StatusWidth
  /** Whether index 0 is in the lowest or the highest bits of the first byte. */
  readonly first: 'lowest' | 'highest'
  readonly bytes: Uint8Array
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
const CWT_TYPES: readonly unknown[] = [STATUS_LIST_TYPES.cwt, 'statuslist+cwt']
const WIDTHS: readonly unknown[] = [1, 2, 4, 8]

/** The claims of a token in either form, as JSON values; only `lst` is decoded. */
interface Claims {
  readonly sub: unknown
  readonly iat: unknown
  readonly nbf: unknown
  readonly exp: unknown
  readonly ttl: unknown
  readonly bits: unknown
  readonly packedList: Uint8Array
}

/** Parses a JWT status list token. Throws a MalformedError if the text is not a list for `uri`. */
export async function readStatusListJwt(text: string, uri: string): Promise<FetchedStatusList> {
  const jws = readJws(text)
  const { header, payload } = jws
  if (stringMemberOf(header, 'typ') !== 'statuslist+jwt') malformed('its type is not statuslist+jwt')
  const claim = (name: string): Json | undefined => memberOf(payload, name)
  const list = claim('status_list')
  const lst = stringMemberOf(list, 'lst')
  if (!isObject(list) || lst === undefined) return malformed('it has no status_list with a lst')
  const claims = { sub: claim('sub'), iat: claim('iat'), nbf: claim('nbf'), exp: claim('exp'), ttl: claim('ttl') }
  return {
    chain: readX5cHeader(header),
    isSignedBy: (key) => isJwsSignedBy(jws, key),
    ...(await readContent({ ...claims, bits: memberOf(list, 'bits'), packedList: fromBase64url(lst) }, uri)),
  }
}

/** Parses a CWT status list token. Throws a MalformedError if the bytes are not a list for `uri`. */
export async function readStatusListCwt(bytes: Uint8Array, uri: string): Promise<FetchedStatusList> {
  const token = decodeCbor(bytes, { longNumbers: true })
  const sign1 = readSign1(contentOfTag(token, CWT_TAG) ?? token, 'the token')
  if (!CWT_TYPES.includes(sign1.typ)) malformed(`its type is not ${STATUS_LIST_TYPES.cwt}`)
  const { payload } = sign1
  if (payload === undefined) return malformed('it has no payload')
  const claims = asMap(decodeCbor(payload, { longNumbers: true }), 'its payload')
  const claim = (name: keyof typeof CWT_CLAIM): Cbor | undefined => claims.get(CWT_CLAIM[name])
  const list = asMap(claim('statusList'), 'its status_list')
  const times = { iat: claim('iat'), nbf: claim('nbf'), exp: claim('exp'), ttl: claim('ttl') }
  const content = { sub: claim('sub'), bits: list.get('bits'), packedList: asBytes(list.get('lst'), 'its lst') }
  return {
    chain: sign1.x5chain,
    isSignedBy: (key) => isSign1SignedBy(sign1, payload, key),
    ...(await readContent({ ...times, ...content }, uri)),
  }
}

async function readContent(claims: Claims, uri: string): Promise<Omit<FetchedStatusList, 'chain' | 'isSignedBy'>> {
  const { sub, iat, nbf, exp, ttl, bits, packedList } = claims
  if (sub !== uri) malformed('its sub is not the address that it was fetched from')
  if (iat === undefined) malformed('it does not say when it was issued (iat)')
  if (ttl !== undefined && !(typeof ttl === 'number' && ttl > 0)) malformed('its ttl is not a positive number')
  if (!WIDTHS.includes(bits)) malformed('`bits` must be 1, 2, 4 or 8')
  return {
    validity: {
      notBefore: [...readNumericInstants('iat', iat), ...readNumericInstants('nbf', nbf)],
      notAfter: readNumericInstants('exp', exp),
    },
    ttlSeconds: ttl,
    identifiers: [],
    purposes: [],
    width: bits as StatusWidth,
    first: 'lowest',
    bytes: await unpack(packedList, 'zlib'),
  }
}
