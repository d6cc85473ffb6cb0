/**
 * Trusted authorities: the authorities of which one must have certified the issuer. OpenID4VP 1.0, Trusted Authorities
 * Query.
 */
import { fromBase64url } from '../codec/base64url.ts'
import { isObject, type Json, memberOf } from '../codec/json.ts'
import { readOrUndefined } from '../codec/malformed.ts'
import { findListMistakes, findTextMistakes, type Mistakes } from './dcql-parts.ts'

export interface TrustedAuthoritiesQuery {
  /** The type of the authorities: `aki`, or `etsi_tl`. A query with another type matches no credential. */
  readonly type: string
  readonly values: readonly string[]
}

/** The maximum size of a key identifier. */
const MAX_KEY_ID_BYTES = 64

const FEDERATION_PROBLEM = 'federations are not supported; name the authority above the issuer by aki instead'
const UNKNOWN_LIST_PROBLEM =
  'is not the url of one of trustLists of this verifier; name a list that it has, or the authorities of the list by aki'

/**
 * Tests whether a credential matches `trusted_authorities` by its authority key identifiers. `keyIds` are those of its
 * certificates in base64url.
 */
export function answersAuthorities(
  { trusted_authorities: authorities }: { readonly trusted_authorities?: readonly TrustedAuthoritiesQuery[] },
  keyIds: ReadonlySet<string>,
): boolean {
  return authorities?.some(({ type, values }) => type === 'aki' && values.some((value) => keyIds.has(value))) ?? true
}

/** Tests whether `trusted_authorities` names one of the trust lists, by their URLs. */
export function namesTrustList(
  { trusted_authorities: authorities = [] }: { readonly trusted_authorities?: readonly TrustedAuthoritiesQuery[] },
  listUrls: readonly string[],
): boolean {
  return authorities.some(({ type, values }) => type === 'etsi_tl' && values.some((value) => listUrls.includes(value)))
}

/** Returns the mistakes in the form of `trusted_authorities`, for all types. */
export function* findAuthorityMistakes(authorities: Json | undefined, at: string): Mistakes {
  yield* findListMistakes(authorities, at, function* (authority, authorityAt) {
    if (!isObject(authority)) return yield `${authorityAt}: must be an object`
    yield* findTextMistakes(memberOf(authority, 'type'), `${authorityAt}.type`)
    yield* findListMistakes(memberOf(authority, 'values'), `${authorityAt}.values`, findTextMistakes)
  })
}

/**
 * Returns the authorities that cannot be checked: with a type other than `aki` and `etsi_tl`, an invalid key
 * identifier, or a list that is not one of `listUrls`.
 */
export function* findUncheckableAuthorities(
  authorities: Json | undefined,
  at: string,
  listUrls: readonly string[] = [],
): Mistakes {
  for (const [i, authority] of (Array.isArray(authorities) ? authorities : []).entries()) {
    const type = memberOf(authority, 'type')
    if (!isObject(authority) || typeof type !== 'string' || type === '') continue
    const values = memberOf(authority, 'values')
    if (type === 'aki') yield* findValueMistakes(values, `${at}[${i}].values`, keyIdProblem)
    else if (type === 'etsi_tl') {
      const listProblem = (url: string) => (listUrls.includes(url) ? undefined : UNKNOWN_LIST_PROBLEM)
      yield* findValueMistakes(values, `${at}[${i}].values`, listProblem)
    } else yield `${at}[${i}].type: ${type === 'openid_federation' ? FEDERATION_PROBLEM : 'must be aki or etsi_tl'}`
  }
}

function* findValueMistakes(
  values: Json | undefined,
  at: string,
  problemOf: (value: string) => string | undefined,
): Mistakes {
  for (const [i, value] of (Array.isArray(values) ? values : []).entries()) {
    const problem = typeof value === 'string' ? problemOf(value) : undefined
    if (problem !== undefined) yield `${at}[${i}]: ${problem}`
  }
}

function keyIdProblem(value: string): string | undefined {
  // Certificate tools show key identifiers in hexadecimal, which is also valid base64url but for different bytes.
  if (/^([0-9a-f]{2}:?){16,}$/i.test(value)) return 'is hexadecimal; write the bytes of the key identifier as base64url'
  const bytes = readOrUndefined(() => fromBase64url(value))
  if (bytes === undefined) return 'must be a key identifier in base64url without padding'
  return bytes.length > MAX_KEY_ID_BYTES
    ? `has ${bytes.length} bytes; a key identifier has at most ${MAX_KEY_ID_BYTES}`
    : undefined
}
