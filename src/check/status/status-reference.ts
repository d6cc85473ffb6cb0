/**
 * The references of a credential to status lists of any kind. Token Status List, Referenced Token; Bitstring Status
 * List 1.0, BitstringStatusListEntry; ISO/IEC 18013-5, second edition, 12.3.6.2.
 */
import { fromBase64url } from '../../codec/base64url.ts'
import { byteStringKey } from '../../codec/cbor.ts'
import { isObject, type Json, type JsonObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import { malformed, readPart } from '../../codec/malformed.ts'
import { isStatusPurpose, type StatusPurpose } from '../../codec/status-list.ts'
import { parseUrl } from '../../codec/url.ts'
import type { CredentialFormat, Evidence } from '../../credential/format.ts'

/** A reference of a credential to an entry of a list. */
export interface StatusReference {
  readonly kind: 'token' | 'bitstring' | 'identifier list'
  readonly uri: string
  /** The index of the entry; for an identifier list, the identifier as {@link byteStringKey} writes it. */
  readonly entry: number | string
  /** The purpose of a bitstring; undefined for the other kinds, whose values have a defined meaning. */
  readonly purpose: StatusPurpose | undefined
  /** The certificate (DER) to which those of the list must lead, if the credential names one. */
  readonly trustPoint?: Uint8Array
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
 * Returns the references of a credential to lists. Those of mobile documents, whose `listType` is `cwt`, may be to an
 * identifier list, and name a certificate. Throws a MalformedError if a status is present and cannot be parsed.
 */
export function readStatusReferences({
  status,
  credentialStatus = [],
  listType,
}: Pick<Evidence, 'status' | 'credentialStatus'> & {
  readonly listType: CredentialFormat['statusListType']
}): StatusReferences {
  if (credentialStatus.length > MAX_ENTRIES) malformed(`credentialStatus has more than ${MAX_ENTRIES} entries`)
  const entries = credentialStatus.map((entry, at) =>
    readPart(`credentialStatus[${at}]`, () => readBitstringEntry(entry)),
  )
  const readMembers = listType === 'cwt' ? MDOC_MEMBERS : JSON_MEMBERS
  return {
    references: [
      ...(status === undefined ? [] : readStatusMembers(status, readMembers)),
      ...entries.flatMap((entry) => ('reference' in entry ? [entry.reference] : [])),
    ],
    ignored: [
      ...Object.keys(status ?? {}).flatMap((name) => (readMembers.has(name) ? [] : ['another member of status'])),
      ...entries.flatMap((entry) => ('ignored' in entry ? [entry.ignored] : [])),
    ],
  }
}

type MemberReader = (list: JsonObject) => StatusReference

/** The members of `status` that are read in a credential in JSON. Token Status List, Referenced Token. */
const JSON_MEMBERS: ReadonlyMap<string, MemberReader> = new Map([['status_list', readTokenReference]])

/** The members of `status` that are read in a mobile document. ISO/IEC 18013-5, second edition, 12.3.6.2. */
const MDOC_MEMBERS: ReadonlyMap<string, MemberReader> = new Map([
  ['status_list', (list) => ({ ...readTokenReference(list), ...readTrustPoint(list, 'status_list') })],
  ['identifier_list', (list) => ({ ...readIdentifierReference(list), ...readTrustPoint(list, 'identifier_list') })],
])

function readStatusMembers(
  status: JsonObject,
  readMembers: ReadonlyMap<string, MemberReader>,
): readonly StatusReference[] {
  const references = [...readMembers].flatMap(([name, readMember]) => {
    const list = memberOf(status, name)
    return isObject(list) ? [readMember(list)] : list === undefined ? [] : malformed(`${name} is not an object`)
  })
  if (references.length > 0) return references
  return malformed(`its status has no ${[...readMembers.keys()].join(' and no ')}, and no other way is supported`)
}

function readTokenReference(list: JsonObject): StatusReference {
  const index = memberOf(list, 'idx')
  if (typeof index !== 'number' || !isIndex(index)) return malformed('idx of its status_list is not an index')
  const uri = readUri(memberOf(list, 'uri'), 'uri of its status_list')
  return { kind: 'token', uri, entry: index, purpose: undefined }
}

function readIdentifierReference(list: JsonObject): StatusReference {
  const identifier = readBytes(list, 'id', 'identifier_list')
  if (identifier === undefined) return malformed('its identifier_list has no id')
  const uri = readUri(memberOf(list, 'uri'), 'uri of its identifier_list')
  return { kind: 'identifier list', uri, entry: byteStringKey(identifier), purpose: undefined }
}

function readTrustPoint(list: JsonObject, listName: string): Pick<StatusReference, 'trustPoint'> {
  const trustPoint = readBytes(list, 'certificate', listName)
  return trustPoint === undefined ? {} : { trustPoint }
}

/** Returns the bytes of a member, which a mobile document has in base64url; undefined if the member is absent. */
function readBytes(list: JsonObject, name: string, listName: string): Uint8Array | undefined {
  const text = memberOf(list, name)
  if (text === undefined) return undefined
  if (typeof text !== 'string') return malformed(`${name} of its ${listName} is not a byte string`)
  return readPart(`${name} of its ${listName}`, () => fromBase64url(text))
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
  return { reference: { kind: 'bitstring', uri, entry: Number(index), purpose } }
}

function isIndex(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

function readUri(value: Json | undefined, name: string): string {
  if (typeof value !== 'string' || parseUrl(value) === undefined) return malformed(`${name} is not a URL`)
  return value
}
