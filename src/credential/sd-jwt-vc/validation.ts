/**
 * Validates configurations and datasets of SD-JWT VCs, and queries for them. OpenID4VCI 1.0, appendix IETF SD-JWT VC;
 * OpenID4VP 1.0, IETF SD-JWT VC; SD-JWT VC, JWT Claims Set.
 */
import { hash } from 'node:crypto'
import { countValues, isObject, type JsonObject, memberOf } from '../../codec/json.ts'
import { MAX_DISCLOSURES } from '../../codec/sd-jwt.ts'
import type { CredentialConfiguration } from '../../protocol/credential-configuration.ts'
import { type ClaimQuery, readableClaims } from '../../protocol/dcql.ts'
import { findListMistakes, findTextMistakes, type Mistakes } from '../../protocol/dcql-parts.ts'
import { refuse } from '../../protocol/error.ts'
import { refuseBitstringStatus, refuseReservedNames } from '../validation.ts'

const REGISTERED_CLAIMS: ReadonlyMap<string, 'string' | 'number'> = new Map([
  ['iss', 'string'],
  ['vct', 'string'],
  ['iat', 'number'],
  ['nbf', 'number'],
  ['exp', 'number'],
])

/**
 * The members that the issuer sets and that must not be selectively disclosable. SD-JWT VC, JWT Claims Set; RFC 9901
 * adds `aud`.
 */
export const ALWAYS_SHOWN: readonly string[] = [
  'iss',
  'aud',
  'nbf',
  'exp',
  'cnf',
  'vct',
  'vct#integrity',
  'aka_vcts',
  'status',
]

/** The members that secure the credential and do not describe the subject. `sub` describes the subject. */
export const SECURING_MEMBERS: readonly string[] = [...ALWAYS_SHOWN, 'iat', 'jti']

/** The members that only configurations of this format have. */
export interface SdJwtVcMembers {
  readonly vct: string
  /** The further types of the credential. */
  readonly akaVcts?: readonly string[]
  /** The digest of the type metadata that the issuer serves. W3C Subresource Integrity. */
  readonly typeIntegrity?: string
}

/**
 * Parses the members of this format. Refuses with `invalid_request` a configuration without `vct`, and a
 * `selective_disclosure` path of a claim that must not be selectively disclosable.
 */
export function parseMembers(postedConfiguration: CredentialConfiguration): SdJwtVcMembers {
  const { vct, aka_vcts: akaVcts, selective_disclosure: disclosure } = postedConfiguration
  if (!vct) {
    return refuse(
      'invalid_request',
      'vct: this format needs it, a non-empty string that names the type of the credential',
    )
  }
  if (akaVcts?.includes(vct)) refuse('invalid_request', 'aka_vcts: leave the vct itself out')
  refuseBitstringStatus(postedConfiguration)
  for (const [index, [first]] of (Array.isArray(disclosure) ? disclosure : []).entries()) {
    if (typeof first !== 'string' || SECURING_MEMBERS.includes(first)) {
      refuse(
        'invalid_request',
        `selective_disclosure[${index}]: a path to a claim of the dataset; registered claims cannot be disclosed selectively`,
      )
    }
  }
  const typeMetadata = writeTypeMetadata(postedConfiguration)
  return {
    vct,
    ...(akaVcts && { akaVcts }),
    ...(typeMetadata && { typeIntegrity: `sha256-${hash('sha256', typeMetadata, 'base64')}` }),
  }
}

/**
 * Returns the type metadata of the configuration as the served text; undefined if it has none. Refuses with
 * `invalid_request` type metadata of another `vct`. SD-JWT VC, Type Metadata Format.
 */
export function writeTypeMetadata({ vct, type_metadata: metadata }: CredentialConfiguration): string | undefined {
  if (metadata === undefined) return undefined
  const { vct: statedVct = vct, ...members } = metadata as JsonObject
  if (statedVct !== vct) refuse('invalid_request', 'type_metadata.vct: it is not the vct of the configuration')
  return JSON.stringify({ vct, ...members })
}

/**
 * Refuses with `invalid_request` reserved names, top-level claims that the issuer sets, and a `sub` that is not a text
 * (RFC 7519 section 4.1.2).
 */
export function refuseInvalidDataset(dataset: JsonObject): void {
  const claims = claimsOf(dataset)
  const at = claims === dataset ? 'credential_dataset' : 'credential_dataset.credentialSubject'
  const registeredName = Object.keys(claims).find((name) => SECURING_MEMBERS.includes(name))
  if (registeredName !== undefined) {
    refuse('invalid_request', `${at}.${registeredName}: the issuer writes this claim; use another name`)
  }
  const sub = memberOf(claims, 'sub')
  if (sub !== undefined && typeof sub !== 'string') refuse('invalid_request', `${at}.sub: it must be a string`)
  refuseReservedNames(claims, at)
  // Each value may become a disclosure, and the parser limits their number.
  if (countValues(claims) > MAX_DISCLOSURES)
    refuse('invalid_request', `${at}: it holds more than ${MAX_DISCLOSURES} claims`)
}

/** Returns the members of the dataset, or those of `credentialSubject` if there are no others. */
export function claimsOf(dataset: JsonObject): JsonObject {
  const subject = memberOf(dataset, 'credentialSubject')
  return isObject(subject) && Object.keys(dataset).length === 1 ? subject : dataset
}

/**
 * Returns mistakes in `meta` and in the claims of a query. OpenID4VP 1.0, IETF SD-JWT VC, Parameters in the `meta`
 * parameter in Credential Query.
 */
export function* findOwnQueryMistakes(query: JsonObject, at: string): Mistakes {
  const meta = memberOf(query, 'meta')
  if (!isObject(meta)) return
  const types = memberOf(meta, 'vct_values')
  if (types !== undefined) yield* findListMistakes(types, `${at}.meta.vct_values`, findTextMistakes)
  for (const [index, claim] of readableClaims(memberOf(query, 'claims')).entries()) {
    if (claim !== undefined) yield* findRegisteredClaimMistakes(claim, `${at}.claims[${index}]`)
  }
}

/** Returns mistakes about a registered claim, which is a text or a number without members. RFC 7519 section 4.1. */
function* findRegisteredClaimMistakes({ path: [member, ...inside], values }: ClaimQuery, at: string): Mistakes {
  const kind = typeof member === 'string' ? REGISTERED_CLAIMS.get(member) : undefined
  if (kind === undefined) return
  if (inside.length > 0) yield `${at}.path: ${String(member)} is a ${kind}, with nothing inside it`
  else if (Array.isArray(values) && values.length > 0 && values.every((value) => typeof value !== kind)) {
    yield `${at}.values: ${String(member)} is a ${kind}, and none of these is one`
  }
}
