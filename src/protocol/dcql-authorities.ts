/**
 * Trusted authorities: the authorities of which one must have certified the issuer. OpenID4VP 1.0, Trusted Authorities
 * Query.
 */
import { fromBase64url } from '../codec/base64url.ts'
import { isObject, type Json, memberOf } from '../codec/json.ts'
import { readOrUndefined } from '../codec/malformed.ts'
import { findListMistakes, findTextMistakes, type Mistakes } from './dcql-parts.ts'

export interface TrustedAuthoritiesQuery {
  /** The type of the authorities. Only `aki` is supported; a query with another type matches no credential. */
  readonly type: string
  readonly values: readonly string[]
}

/** The maximum size of a key identifier. */
const MAX_KEY_ID_BYTES = 64

/** The unsupported types of the specification, each with an alternative. */
const UNSUPPORTED_TYPES = new Map([
  ['etsi_tl', 'trusted lists are not supported yet; name the authorities of the list by aki instead'],
  ['openid_federation', 'federations are not supported; name the authority above the issuer by aki instead'],
])

/**
 * Tests whether a credential matches `trusted_authorities`. `keyIds` are the authority key identifiers of its
 * certificates in base64url.
 */
export function answersAuthorities(
  { trusted_authorities: authorities }: { readonly trusted_authorities?: readonly TrustedAuthoritiesQuery[] },
  keyIds: ReadonlySet<string>,
): boolean {
  return authorities?.some(({ type, values }) => type === 'aki' && values.some((value) => keyIds.has(value))) ?? true
}

/** Returns the mistakes in the form of `trusted_authorities`, for all types. */
export function* findAuthorityMistakes(authorities: Json | undefined, at: string): Mistakes {
  yield* findListMistakes(authorities, at, function* (authority, authorityAt) {
    if (!isObject(authority)) return yield `${authorityAt}: must be an object`
    yield* findTextMistakes(memberOf(authority, 'type'), `${authorityAt}.type`)
    yield* findListMistakes(memberOf(authority, 'values'), `${authorityAt}.values`, findTextMistakes)
  })
}

/** Returns the authorities that cannot be checked: with a type other than `aki`, or an invalid key identifier. */
export function* findUncheckableAuthorities(authorities: Json | undefined, at: string): Mistakes {
  for (const [i, authority] of (Array.isArray(authorities) ? authorities : []).entries()) {
    const type = memberOf(authority, 'type')
    if (!isObject(authority) || typeof type !== 'string' || type === '') continue
    if (type !== 'aki') yield `${at}[${i}].type: ${UNSUPPORTED_TYPES.get(type) ?? 'must be aki'}`
    else yield* findKeyIdMistakes(memberOf(authority, 'values'), `${at}[${i}].values`)
  }
}

function* findKeyIdMistakes(values: Json | undefined, at: string): Mistakes {
  for (const [i, value] of (Array.isArray(values) ? values : []).entries()) {
    const problem = typeof value === 'string' ? keyIdProblem(value) : undefined
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
