/**
 * Validates configurations and datasets of mdocs, and queries for them. OpenID4VCI 1.0, appendix ISO mdoc; OpenID4VP
 * 1.0, Mobile Documents or mdocs (ISO/IEC 18013 and ISO/IEC 23220).
 */
import { countValues, isObject, type Json, type JsonObject, memberOf } from '../../codec/json.ts'
import { readOrElse } from '../../codec/malformed.ts'
import { type ClaimPosition, DIGEST_MEMBERS } from '../../codec/sd-jwt.ts'
import { pathText } from '../../protocol/claim-path-text.ts'
import type { CredentialConfiguration } from '../../protocol/credential-configuration.ts'
import { findBooleanMistakes, findTextMistakes, type Mistakes } from '../../protocol/dcql-parts.ts'
import { refuse, refuseMalformed } from '../../protocol/error.ts'
import type { ClaimDescription, Evidence } from '../format.ts'
import { MAX_DEPTH, refuseBitstringStatus } from '../validation.ts'
import { MAX_ELEMENTS, MAX_NAMESPACES } from './issuer-signed.ts'
import { refuseUntyped, requireUnicode, toCbor } from './values.ts'

/** The maximum number of members and elements of a dataset, so that the CBOR stays within the limits of the parser. */
const MAX_VALUES = 3000

/** The members that only configurations of this format have. */
export interface MdocMembers {
  readonly doctype: string
}

/**
 * Parses the members of this format. Refuses with `invalid_request` a configuration without `doctype`, with a bitstring
 * status, or with a `selective_disclosure` other than "all".
 */
export function parseMembers(postedConfiguration: CredentialConfiguration): MdocMembers {
  const { doctype, selective_disclosure: disclosure = 'all', credential_metadata: metadata } = postedConfiguration
  refuseBitstringStatus(postedConfiguration)
  if (!doctype) return refuse('invalid_request', 'doctype: this format needs it, a text such as org.iso.18013.5.1.mDL')
  if (disclosure !== 'all') {
    refuse('invalid_request', 'selective_disclosure: must be "all": every element of an mdoc can be left out')
  }
  refuseShortPaths(metadata?.claims ?? [])
  return { doctype }
}

/**
 * Refuses with `invalid_request` a dataset that is not an object of namespaces with elements, or has a value that an
 * mdoc cannot have.
 */
export function refuseInvalidDataset(dataset: JsonObject): void {
  const nameSpaces = Object.entries(dataset)
  const elements = nameSpaces.reduce((count, [, each]) => count + (isObject(each) ? Object.keys(each).length : 0), 0)
  if (nameSpaces.length === 0) {
    refuse('invalid_request', 'credential_dataset: it must have a namespace, such as org.iso.18013.5.1')
  }
  if (nameSpaces.length > MAX_NAMESPACES || elements > MAX_ELEMENTS) {
    const most = `${MAX_NAMESPACES} namespaces and ${MAX_ELEMENTS} elements`
    refuse('invalid_request', `credential_dataset: it may have ${most}, and no more`)
  }
  if (countValues(dataset) > MAX_VALUES) {
    refuse('invalid_request', `credential_dataset: it holds more than ${MAX_VALUES} values`)
  }
  for (const [nameSpace, value] of nameSpaces) refuseInvalidNameSpace(nameSpace, value)
}

/** Returns mistakes in `meta` and in the claims of a query. OpenID4VP 1.0, Mobile Documents or mdocs. */
export function* findOwnQueryMistakes(query: JsonObject, at: string): Mistakes {
  const meta = memberOf(query, 'meta')
  if (isObject(meta)) {
    const type = memberOf(meta, 'doctype_value')
    if (type !== undefined) yield* findTextMistakes(type, `${at}.meta.doctype_value`)
  }
  const claims = memberOf(query, 'claims')
  if (!Array.isArray(claims)) return
  for (const [index, claim] of claims.entries()) {
    if (isObject(claim)) yield* findClaimMistakes(claim, `${at}.claims[${index}]`)
  }
}

/** Tests whether a presentation has the `doctype_value` of a query. OpenID4VP 1.0, Mobile Documents or mdocs. */
export function matchesMeta({ types }: Pick<Evidence, 'types'>, meta: JsonObject): boolean {
  const doctype = memberOf(meta, 'doctype_value')
  return doctype === undefined || types.some((type) => type === doctype)
}

/**
 * Refuses with `invalid_request` a claim description whose path lacks a namespace or an element identifier. OpenID4VCI
 * 1.0, Claims Path Pointer, Semantics for ISO mdoc-based credentials.
 */
function refuseShortPaths(claims: readonly ClaimDescription[]): void {
  for (const [index, { path }] of claims.entries()) {
    if (path.length < 2 || path.slice(0, 2).some((step) => typeof step !== 'string')) {
      const rule = 'must begin with two strings, a namespace and an element'
      refuse('invalid_request', `credential_metadata.claims[${index}].path: ${rule}`)
    }
  }
}

function refuseInvalidNameSpace(nameSpace: string, elements: Json): void {
  const path: ClaimPosition = ['credential_dataset', nameSpace]
  if (!isObject(elements) || Object.keys(elements).length === 0) {
    refuse('invalid_request', `${pathText(path)}: it must be an object with the elements of the namespace`)
  }
  refuseInvalidName(nameSpace, path)
  for (const [name, value] of Object.entries(elements)) {
    refuseIfMalformed([...path, name], () => refuseUntyped(value, nameSpace, name))
    refuseInvalidValue(value, { path: [...path, name], nameSpace, name, depthLeft: MAX_DEPTH })
  }
}

interface ValuePosition {
  readonly path: ClaimPosition
  readonly nameSpace: string
  /** The name of the member; undefined for an element of an array. */
  readonly name: string | undefined
  readonly depthLeft: number
}

function refuseInvalidValue(value: Json, { path, nameSpace, name, depthLeft }: ValuePosition): void {
  if (depthLeft === 0) refuse('invalid_request', `${pathText(path)}: nested deeper than ${MAX_DEPTH}`)
  if (name !== undefined) refuseInvalidName(name, path)
  if (typeof value !== 'object' || value === null) {
    refuseIfMalformed(path, () => toCbor(value, nameSpace, name, depthLeft < MAX_DEPTH))
  } else if (Array.isArray(value)) {
    for (const [index, element] of value.entries()) {
      refuseInvalidValue(element, { path: [...path, index], nameSpace, name: undefined, depthLeft: depthLeft - 1 })
    }
  } else {
    for (const [key, member] of Object.entries(value)) {
      refuseInvalidValue(member, { path: [...path, key], nameSpace, name: key, depthLeft: depthLeft - 1 })
    }
  }
}

/** The names that are refused at any depth in a dataset of any format. */
const RESERVED_NAMES: readonly string[] = ['__proto__', ...DIGEST_MEMBERS]

function refuseInvalidName(name: string, path: ClaimPosition): void {
  if (RESERVED_NAMES.includes(name)) refuse('invalid_request', `${pathText(path)}: this name is reserved`)
  refuseIfMalformed(path, () => requireUnicode(name))
}

/** Refuses with `invalid_request` if `convert` throws a MalformedError. The path is formatted only then. */
function refuseIfMalformed(path: ClaimPosition, convert: () => unknown): void {
  readOrElse(convert, (error) => refuseMalformed('invalid_request', pathText(path), error))
}

function* findClaimMistakes(claim: JsonObject, at: string): Mistakes {
  const path = memberOf(claim, 'path')
  if (!Array.isArray(path) || path.length !== 2 || path.some((step) => typeof step !== 'string')) {
    yield `${at}.path: must be two strings, a namespace and an element`
  }
  yield* findBooleanMistakes(claim, 'intent_to_retain', at)
}
