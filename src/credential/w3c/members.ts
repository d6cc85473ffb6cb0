/**
 * The members of all W3C credentials, independent of how they are secured, and their types as written in the credential
 * and as expanded by its contexts. VCDM 2.0 and VCDM 1.1; VC-JOSE-COSE.
 */

import { isDeepStrictEqual } from 'node:util'
import { isObject, type Json, type JsonObject, memberOf, stringsIn } from '../../codec/json.ts'
import { statusPurposes } from '../../codec/status-list.ts'
import { selectClaims } from '../../protocol/claim-path.ts'
import type { ClaimPath } from '../../protocol/claim-path-text.ts'
import {
  hasOrderedStatus,
  namesOf,
  readIsoDate,
  readNumericDate,
  readOneOrMoreStrings,
  statusEntriesOf,
  statusObject,
} from '../evidence.ts'
import type { Validity } from '../evidence-parts.ts'
import type { ClaimSource, Configuration, Evidence, Order } from '../format.ts'
import type { W3cMembers } from './validation.ts'

export const VCDM_1_CONTEXT = 'https://www.w3.org/2018/credentials/v1'
export const VCDM_2_CONTEXT = 'https://www.w3.org/ns/credentials/v2'

/** The members of a credential that the issuer writes, and that no dataset has. */
export const WRITTEN_MEMBERS: readonly string[] = [
  '@context',
  'type',
  'issuer',
  'validFrom',
  'validUntil',
  'issuanceDate',
  'expirationDate',
  'credentialStatus',
]

/** Makes the common evidence from the JWT (`payload`) and the credential in it (`claims`). Checks compare the two. */
export function w3cEvidence(
  payload: JsonObject,
  claims: JsonObject,
): Pick<Evidence, 'types' | 'validity' | 'status' | 'credentialStatus'> & { readonly identifiers: readonly string[] } {
  const entries = statusEntriesOf(memberOf(claims, 'credentialStatus'))
  return {
    identifiers: identifiersOf(payload, claims),
    types: readOneOrMoreStrings(memberOf(claims, 'type')),
    validity: validityOf(payload, claims),
    status: statusObject(memberOf(payload, 'status')),
    ...(entries === undefined ? {} : { credentialStatus: entries }),
  }
}

/**
 * Makes the member `credentialStatus`, if the order has bitstring status lists. Bitstring Status List,
 * BitstringStatusListEntry.
 */
export function credentialStatusMember({ status }: Pick<Order, 'status'>): {
  readonly credentialStatus?: JsonObject[]
} {
  if (status?.bitstrings === undefined) return {}
  const index = String(status.index)
  const credentialStatus = status.bitstrings.map(({ purpose, uri }) => ({
    // VCDM 1.1 requires an id.
    id: `${uri}#${index}`,
    type: 'BitstringStatusListEntry',
    statusPurpose: purpose,
    statusListIndex: index,
    statusListCredential: uri,
  }))
  return { credentialStatus }
}

/**
 * Returns where a claim comes from: the subject from the dataset, and other members that the issuer writes from it.
 * `dates` are the members with the validity.
 */
export function sourceOfMember(
  path: ClaimPath,
  { contexts, types, hasBitstringStatus }: Configuration<W3cMembers>,
  dates: readonly string[],
): ClaimSource | undefined {
  if (path[0] === 'credentialSubject') return 'dataset'
  const bitstrings = statusPurposes.map((purpose) => ({ purpose, uri: '' }))
  const writtenMembers = {
    '@context': [...contexts],
    type: [...types],
    issuer: '',
    ...Object.fromEntries(dates.map((name) => [name, ''])),
    ...(hasBitstringStatus && credentialStatusMember({ status: { index: 0, uri: '', bitstrings } })),
  }
  return 'problem' in selectClaims(writtenMembers, path) ? undefined : 'issuer'
}

/** Tests whether the credential has the subject and the status of the order. */
export function hasOrderedMembers(order: Order, evidence: Pick<Evidence, 'claims' | 'status'>): boolean {
  const { claims } = evidence
  return (
    isDeepStrictEqual(memberOf(claims, 'credentialSubject'), memberOf(order.dataset, 'credentialSubject')) &&
    isDeepStrictEqual(memberOf(claims, 'credentialStatus'), credentialStatusMember(order).credentialStatus) &&
    hasOrderedStatus(order, evidence)
  )
}

/**
 * Returns why a document is no Verifiable Credential, as part of a sentence that names the member; undefined if it is
 * one. `mayWithholdSubject` tells that the holder may have withheld the subject, or claims of the subject. Times, the
 * status, and a credential that names no issuer at all have checks of their own. VCDM 2.0 and VCDM 1.1: Contexts,
 * Types, Credential Subject, Issuer.
 */
export function conformanceProblem(
  payload: JsonObject,
  claims: JsonObject,
  mayWithholdSubject: boolean,
): string | undefined {
  const [context] = [memberOf(claims, '@context')].flat()
  if (context !== VCDM_2_CONTEXT && context !== VCDM_1_CONTEXT)
    return `its @context does not begin with ${VCDM_2_CONTEXT} or ${VCDM_1_CONTEXT}`
  if (!readOneOrMoreStrings(memberOf(claims, 'type')).includes('VerifiableCredential'))
    return 'its type has no VerifiableCredential'
  const subjects = [memberOf(claims, 'credentialSubject') ?? []].flat()
  if (!subjects.every(isObject)) return 'its credentialSubject is not an object'
  const hasClaims = subjects.length > 0 && subjects.every((subject) => Object.keys(subject).length > 0)
  if (!hasClaims && !mayWithholdSubject) return 'its credentialSubject has no claims'
  return isIssuerInIssAlone(payload, claims) ? 'its issuer is named by iss alone' : undefined
}

/** Tests whether only `iss` names the issuer, which is enough for a credential in `vc`. VCDM 1.1, JWT Encoding. */
function isIssuerInIssAlone(payload: JsonObject, claims: JsonObject): boolean {
  const issuer = memberOf(claims, 'issuer')
  if (memberOf(payload, 'iss') === undefined) return false
  if (isObject(issuer)) return memberOf(issuer, 'id') === undefined
  return issuer === undefined && !isObject(memberOf(payload, 'vc'))
}

/** Returns the identifiers of the issuer. A missing issuer, which is required, is an empty text. */
function identifiersOf(payload: JsonObject, claims: JsonObject): readonly string[] {
  const issuer = memberOf(claims, 'issuer')
  const identifiers = namesOf([memberOf(payload, 'iss'), isObject(issuer) ? memberOf(issuer, 'id') : issuer])
  return identifiers.length === 0 ? [''] : identifiers
}

function validityOf(payload: JsonObject, claims: JsonObject): Validity {
  return {
    notBefore: [
      readNumericDate(payload, 'nbf'),
      readIsoDate(claims, 'validFrom'),
      readIsoDate(claims, 'issuanceDate'),
      readNumericDate(payload, 'iat'),
    ].flat(),
    notAfter: [
      readNumericDate(payload, 'exp'),
      readIsoDate(claims, 'validUntil'),
      readIsoDate(claims, 'expirationDate'),
    ].flat(),
  }
}

/** Formats a time as an XML Schema dateTime, with whole seconds. */
export function isoSeconds(time: Date): string {
  return time.toISOString().replace(/\.\d{3}Z$/, 'Z')
}

const CREDENTIALS = 'https://www.w3.org/2018/credentials#'

/** The expanded types of the known contexts. */
const expansions: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map(
  [VCDM_2_CONTEXT, VCDM_1_CONTEXT].map((context) => [
    context,
    new Map(['VerifiableCredential', 'VerifiablePresentation'].map((type) => [type, `${CREDENTIALS}${type}`])),
  ]),
)

/** Makes the `meta` that requests all types of a configuration; empty if it has no types. */
export function typeValuesOf(configuration: JsonObject): JsonObject {
  const definition = memberOf(configuration, 'credential_definition')
  const names = stringsIn(memberOf(definition, 'type'))
  return names.length > 0 ? { type_values: [[...names]] } : {}
}

/**
 * Tests whether a credential with these types and claims matches `type_values`. OpenID4VP 1.0, W3C Verifiable
 * Credentials, `type_values`.
 */
export function matchesTypeValues(
  { types, claims }: { readonly types: readonly string[]; readonly claims: JsonObject },
  meta: JsonObject,
): boolean {
  const typeValues = memberOf(meta, 'type_values')
  if (typeValues === undefined) return true
  // Accepts both the written and the expanded type. The specification requires the expanded one, but people use both.
  const names = new Set<Json>(types)
  for (const context of new Set([memberOf(claims, '@context')].flat())) {
    const expansion = typeof context === 'string' ? expansions.get(context) : undefined
    for (const [type, expandedType] of expansion ?? []) if (names.has(type)) names.add(expandedType)
  }
  return (
    Array.isArray(typeValues) &&
    typeValues.some((set) => Array.isArray(set) && set.length > 0 && set.every((type) => names.has(type)))
  )
}
