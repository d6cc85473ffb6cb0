/**
 * Parses the references of a credential to status lists. Token Status List, Referenced Token; Bitstring Status List
 * 1.0, BitstringStatusListEntry.
 */
import { isObject, type Json, type JsonObject, memberOf, own, ownString } from '../../codec/json.ts'
import { malformed, within } from '../../codec/malformed.ts'
import { parseUrl } from '../../codec/url.ts'
import type { Evidence } from '../../credential/format.ts'

/** The parts of a credential or a wallet attestation that its status check needs. */
export type StatusEvidence = Pick<Evidence, 'formats' | 'issuer' | 'status' | 'credentialStatus'>

export interface StatusReference {
  readonly kind: 'token' | 'bitstring'
  readonly uri: string
  readonly index: number
  /** The purpose of a bitstring; undefined for a status list token, whose values have a defined meaning. */
  readonly purpose: 'revocation' | 'suspension' | undefined
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
}: Pick<StatusEvidence, 'status' | 'credentialStatus'>): StatusReferences {
  if (credentialStatus.length > MAX_ENTRIES) malformed(`credentialStatus has more than ${MAX_ENTRIES} entries`)
  const entries = credentialStatus.map((entry, at) =>
    within(`credentialStatus[${at}]`, () => readBitstringEntry(entry)),
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
  const list = own(status, 'status_list')
  if (!isObject(list)) return malformed('its status has no status_list, and no other way is supported')
  const index = own(list, 'idx')
  if (typeof index !== 'number' || !isIndex(index)) return malformed('idx of its status_list is not an index')
  return { kind: 'token', uri: readUri(own(list, 'uri'), 'uri of its status_list'), index, purpose: undefined }
}

function readBitstringEntry(entry: JsonObject): BitstringEntry {
  if (own(entry, 'type') !== 'BitstringStatusListEntry') malformed('it is not a BitstringStatusListEntry')
  const purpose = ownString(entry, 'statusPurpose')
  if (purpose === undefined) return malformed('it has no statusPurpose')
  // Entries with other purposes do not affect validity.
  if (purpose !== 'revocation' && purpose !== 'suspension')
    return { ignored: 'a statusPurpose that is neither revocation nor suspension' }
  const [size, index] = [memberOf(entry, 'statusSize') ?? 1, own(entry, 'statusListIndex')]
  if (size !== 1) malformed(`its statusSize is not 1, which it has to be for ${purpose}`)
  if (typeof index !== 'string' || !/^\d{1,16}$/.test(index) || !isIndex(Number(index))) {
    return malformed('statusListIndex is not an index, as a text')
  }
  const uri = readUri(own(entry, 'statusListCredential'), 'statusListCredential')
  return { reference: { kind: 'bitstring', uri, index: Number(index), purpose } }
}

function isIndex(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

function readUri(value: Json | undefined, name: string): string {
  if (typeof value !== 'string' || parseUrl(value) === undefined) return malformed(`${name} is not a URL`)
  return value
}
