/** Whose certificates an issuer should stand under. OpenID4VP 1.0, Trusted Authorities Query. */
import { fromBase64url } from '../codec/base64url.ts'
import { isObject, type Json, own } from '../codec/json.ts'
import { MalformedError } from '../codec/malformed.ts'
import { inList, inText, type Mistakes } from './dcql-parts.ts'

export interface TrustedAuthoritiesQuery {
  /** We know `aki`; to others no credential of ours is an answer. */
  readonly type: string
  readonly values: readonly string[]
}

/** Longer than any hash that a key identifier is made with. */
const MAX_KEY_ID_BYTES = 64

/** Types that the specification defines and we do not process. */
const UNSUPPORTED = new Map([
  ['etsi_tl', 'trusted lists are not supported yet; name the authorities of the list by aki instead'],
  ['openid_federation', 'federations are not supported; name the authority above the issuer by aki instead'],
])

/** Whether a credential answers that comes with certificates by the authorities of these key identifiers (base64url). */
export function answersAuthorities(
  { trusted_authorities: wanted }: { readonly trusted_authorities?: readonly TrustedAuthoritiesQuery[] },
  keyIds: ReadonlySet<string>,
): boolean {
  return wanted?.some(({ type, values }) => type === 'aki' && values.some((value) => keyIds.has(value))) ?? true
}

/** What is wrong with its form, whatever its types mean. */
export function* inAuthorities(authorities: Json | undefined, at: string): Mistakes {
  yield* inList(authorities, at, function* (authority, authorityAt) {
    if (!isObject(authority)) return yield `${authorityAt}: must be an object`
    yield* inText(own(authority, 'type'), `${authorityAt}.type`)
    yield* inList(own(authority, 'values'), `${authorityAt}.values`, inText)
  })
}

/** What of it nobody could check: types other than `aki`, and values that are no key identifiers. */
export function* uncheckable(authorities: Json | undefined, at: string): Mistakes {
  for (const [i, authority] of (Array.isArray(authorities) ? authorities : []).entries()) {
    const type = isObject(authority) ? own(authority, 'type') : undefined
    if (!isObject(authority) || typeof type !== 'string' || type === '') continue
    if (type !== 'aki') yield `${at}[${i}].type: ${UNSUPPORTED.get(type) ?? 'must be aki'}`
    else yield* inKeyIds(own(authority, 'values'), `${at}[${i}].values`)
  }
}

function* inKeyIds(values: Json | undefined, at: string): Mistakes {
  for (const [i, value] of (Array.isArray(values) ? values : []).entries()) {
    const problem = typeof value === 'string' ? keyIdProblem(value) : undefined
    if (problem !== undefined) yield `${at}[${i}]: ${problem}`
  }
}

function keyIdProblem(value: string): string | undefined {
  // Certificate tools show key identifiers so, and as base64url it is the identifier of nothing.
  if (/^([0-9a-f]{2}:?){16,}$/i.test(value)) return 'is hexadecimal; write the bytes of the key identifier as base64url'
  try {
    const { length } = fromBase64url(value)
    return length > MAX_KEY_ID_BYTES
      ? `has ${length} bytes; a key identifier has at most ${MAX_KEY_ID_BYTES}`
      : undefined
  } catch (error) {
    if (error instanceof MalformedError) return 'must be a key identifier in base64url without padding'
    throw error
  }
}
