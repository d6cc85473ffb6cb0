/**
 * The parts of the evidence that several formats read in the same way, and judge: the bound key, times, issuers and
 * status.
 */
import { isDeepStrictEqual } from 'node:util'
import { isObject, type Json, type JsonObject, memberOf, stringMemberOf, stringsIn } from '../codec/json.ts'
import { decodeX5c } from '../codec/jws.ts'
import { readOrProblem, readPart } from '../codec/malformed.ts'
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import { isCalendarDay } from '../codec/time.ts'
import { untrustedText } from '../codec/untrusted-text.ts'
import { readDid } from '../keys/did.ts'
import { type PublicJwk, readSigningJwk, thumbprint } from '../keys/jwk.ts'
import { pathText } from '../protocol/claim-path-text.ts'
import type { Instant, Validity } from './evidence-parts.ts'
import type { Evidence, Order } from './format.ts'

/**
 * Returns the certificates in `x5c` of a header as DER, not parsed; empty if it is absent. Throws a MalformedError
 * unless it is an array of base64 strings. RFC 7515 section 4.1.6.
 */
export function readX5cHeader(header: JsonObject): readonly Uint8Array[] {
  const x5c = memberOf(header, 'x5c')
  return x5c === undefined ? [] : decodeX5c(x5c)
}

/** Returns the key in `cnf`: its `jwk`, or else the key that the DID in its `kid` is. RFC 7800 sections 3.2 and 3.4. */
export function readConfirmedKey(payload: JsonObject): Evidence['boundKey'] {
  const confirmation = memberOf(payload, 'cnf')
  if (!isObject(confirmation)) return { problem: 'the credential is not bound to a key (it has no cnf)' }
  const kid = stringMemberOf(confirmation, 'kid')
  if (memberOf(confirmation, 'jwk') === undefined && kid !== undefined)
    return makeBoundKey('cnf.kid', () => readDid(kid))
  return makeBoundKey('cnf.jwk', () => readSigningJwk(memberOf(confirmation, 'jwk')))
}

/** Returns the result of `readKey` as the bound key, or its problem, which begins with `what`. */
export function makeBoundKey(what: string, readKey: () => PublicJwk): Evidence['boundKey'] {
  return readOrProblem(() => {
    const jwk = readPart(what, readKey)
    return { jwk, thumbprint: thumbprint(jwk) }
  })
}

/** Describes the `typ` of a JWT, as part of a sentence. */
export function statedTypeText(header: JsonObject): string {
  const typ = memberOf(header, 'typ')
  if (typ === undefined) return 'it has no type (typ)'
  return `its type (typ) is ${typeof typ === 'string' ? untrustedText(typ) : 'no text'}`
}

/** Returns why no proof in a format without approvals approves the transactions; undefined if there are none. */
export function approvalProblemOfNone(transactionData: readonly string[]): string | undefined {
  return transactionData.length === 0 ? undefined : 'its format has no approvals'
}

/** Returns the texts among the values. A value of another type becomes an empty text, which equals no name. */
export function namesOf(values: readonly (Json | undefined)[]): readonly string[] {
  return values.flatMap((name) => (name === undefined ? [] : typeof name === 'string' ? name : ''))
}

/** Reads the NumericDate of a member; empty if the member is absent. RFC 7519 section 2. */
export function readNumericDate(payload: JsonObject, member: string): Instant[] {
  return readNumericInstants(member, memberOf(payload, member))
}

/** The greatest number of milliseconds from the epoch that a Date can have, in either direction. */
const MAX_DATE_MS = 8.64e15

/**
 * Reads a NumericDate; empty if it is undefined. A time that is farther away than a Date can be becomes the farthest.
 * RFC 7519 section 2.
 */
export function readNumericInstants(member: string, value: unknown): Instant[] {
  if (value === undefined) return []
  if (typeof value !== 'number') return [makeInstant(member, undefined)]
  return [makeInstant(member, new Date(Math.max(-MAX_DATE_MS, Math.min(value * 1000, MAX_DATE_MS))))]
}

/** Reads a date of the validity period; empty if it is absent. VCDM 2.0, Validity Period. */
export function readIsoDate(claims: JsonObject, member: string): Instant[] {
  const value = memberOf(claims, member)
  return value === undefined ? [] : [readDateTime(member, value)]
}

/** Reads a date and time with a time zone: an XML Schema dateTimeStamp or an RFC 3339 date-time. */
export function readDateTime(member: string, value: unknown): Instant {
  const isStamp = typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value)
  return makeInstant(member, isStamp && isCalendarDay(value.slice(0, 10)) ? new Date(value) : undefined)
}

/** Returns the `iat` of a holder's proof; undefined if it is absent, and an invalid date if it is not a number. */
export function readPresentationTime(payload: JsonObject): Date | undefined {
  const [time] = readNumericDate(payload, 'iat')
  return time && (time.at ?? new Date(Number.NaN))
}

/** Returns the status object. A status of another type becomes an empty object, whose look-up fails. */
export function statusObject(entry: Json | undefined): JsonObject | undefined {
  if (entry === undefined) return undefined
  return isObject(entry) ? entry : {}
}

/**
 * Returns the status entries of a credential; undefined if there are none. An entry that is not an object becomes an
 * empty object, whose look-up fails. VCDM 2.0, Status.
 */
export function statusEntriesOf(entries: Json | undefined): readonly JsonObject[] | undefined {
  if (entries === undefined) return undefined
  if (!Array.isArray(entries)) return [isObject(entries) ? entries : {}]
  return entries.length === 0 ? [{}] : entries.map((entry) => (isObject(entry) ? entry : {}))
}

/** Returns the text, or the texts in an array. Ignores other values. */
export function readOneOrMoreStrings(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return [value]
  return stringsIn(value)
}

/** Makes the instant of a member. Its time is undefined if the date is invalid. */
function makeInstant(member: string, at: Date | undefined): Instant {
  return { member, at: at && !Number.isNaN(at.getTime()) ? at : undefined }
}

/** Makes the member `status` of a credential, if the order has a status. Token Status List, Referenced Token. */
export function statusMember({ status }: Pick<Order, 'status'>): { readonly status?: JsonObject } {
  return status === undefined ? {} : { status: { status_list: { idx: status.index, uri: status.uri } } }
}

/** Tests whether the credential has exactly the status entry of the order. */
export function hasOrderedStatus(order: Order, { status }: Pick<Evidence, 'status'>): boolean {
  return isDeepStrictEqual(status, statusMember(order).status)
}

/** Formats the position of a claim for people, without a leading `credentialSubject`. */
export function subjectPositionText(position: ClaimPosition): string {
  return pathText(position[0] === 'credentialSubject' ? position.slice(1) : position)
}

/**
 * Returns the latest `notBefore` time; undefined if there is none. `iat` does not count: a credential may be valid
 * since a time before it was signed.
 */
export function latestStart({ notBefore }: Validity): Date | undefined {
  const starts = notBefore.flatMap(({ member, at }) => (member === 'iat' ? [] : (at?.getTime() ?? [])))
  return starts.length > 0 ? new Date(Math.max(...starts)) : undefined
}

/** Returns the earliest `notAfter` time; undefined if there is none. */
export function earliestEnd({ notAfter }: Validity): Date | undefined {
  const ends = notAfter.flatMap(({ at }) => at?.getTime() ?? [])
  return ends.length > 0 ? new Date(Math.min(...ends)) : undefined
}

/**
 * Returns the first limit that does not hold at `now`, where clocks may differ, and whether it is a beginning;
 * undefined if all hold.
 */
export function findTimeProblem(
  { notBefore, notAfter }: Validity,
  now: Date,
  clockSkewSeconds: number,
): (Instant & { readonly isEarly: boolean }) | undefined {
  const skew = clockSkewSeconds * 1000
  const early = notBefore.find(({ at }) => at === undefined || at.getTime() > now.getTime() + skew)
  if (early !== undefined) return { ...early, isEarly: true }
  const late = notAfter.find(({ at }) => at === undefined || at.getTime() + skew <= now.getTime())
  return late && { ...late, isEarly: false }
}
