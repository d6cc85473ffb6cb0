/**
 * Evidence that formats make in the same way: the bound key, times, issuers and status, most of them members of JWTs.
 */
import { isDeepStrictEqual } from 'node:util'
import { isObject, type Json, type JsonObject, own, stringsIn } from '../codec/json.ts'
import { orProblem, within } from '../codec/malformed.ts'
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import { strangerText } from '../keys/certificate-name.ts'
import { type PublicJwk, readSigningJwk, thumbprint } from '../keys/jwk.ts'
import { pathText } from '../protocol/claim-path.ts'
import type { Evidence, Instant, Order, Validity } from './format.ts'

/** Returns the certificates of a header, which are parsed later. RFC 7515 section 4.1.6. */
export function chainOf(header: JsonObject): readonly Uint8Array[] {
  // Standard base64, not base64url.
  return readOneOrMoreStrings(own(header, 'x5c')).map((text) => Buffer.from(text, 'base64'))
}

/** Returns the key of `cnf`. RFC 7800 section 3.2. */
export function readConfirmedKey(payload: JsonObject): Evidence['boundKey'] {
  const confirmation = own(payload, 'cnf')
  if (!isObject(confirmation)) return { problem: 'the credential is not bound to a key (it has no cnf)' }
  return makeBoundKey('cnf.jwk', () => readSigningJwk(own(confirmation, 'jwk')))
}

/** Returns the key that `read` gives, or the problem with it, which begins with `what`. */
export function makeBoundKey(what: string, readKey: () => PublicJwk): Evidence['boundKey'] {
  return orProblem(() => {
    const jwk = within(what, readKey)
    return { jwk, thumbprint: thumbprint(jwk) }
  })
}

/** Returns the type header of a JWT, as a sentence part for people. */
export function statedTypeText(header: JsonObject): string {
  const typ = own(header, 'typ')
  if (typ === undefined) return 'it has no type (typ)'
  return `its type (typ) is ${typeof typ === 'string' ? strangerText(typ) : 'no text'}`
}

/** Returns the names among the values; a value that is not text becomes the empty name, which equals no other. */
export function namesOf(values: readonly (Json | undefined)[]): readonly string[] {
  return values.flatMap((name) => (name === undefined ? [] : typeof name === 'string' ? name : ''))
}

/** Reads a NumericDate; empty when there is none. RFC 7519 section 2. */
export function readNumericDate(payload: JsonObject, member: string): Instant[] {
  return readNumericInstants(member, own(payload, member))
}

/** Returns the times of a value that is a NumericDate. RFC 7519 section 2. */
export function readNumericInstants(member: string, value: unknown): Instant[] {
  if (value === undefined) return []
  return [makeInstant(member, typeof value === 'number' ? new Date(value * 1000) : undefined)]
}

/** Reads a date of the validity period; empty when there is none. VCDM 2.0, Validity Period. */
export function readIsoDate(claims: JsonObject, member: string): Instant[] {
  const value = own(claims, member)
  return value === undefined ? [] : [readDateTime(member, value)]
}

/** Reads a dateTimeStamp of XML Schema or a date-time of RFC 3339, both with their time zone. */
export function readDateTime(member: string, value: unknown): Instant {
  const isStamp = typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value)
  return makeInstant(member, isStamp ? new Date(value) : undefined)
}

/**
 * Returns the `iat` of a holder's proof: an invalid date where it is there and no time, undefined where it is not
 * there.
 */
export function readPresentationTime(payload: JsonObject): Date | undefined {
  const [time] = readNumericDate(payload, 'iat')
  return time && (time.at ?? new Date(Number.NaN))
}

/** Returns the status object; a status of another type becomes an empty object, which cannot be looked up. */
export function statusObject(entry: Json | undefined): JsonObject | undefined {
  if (entry === undefined) return undefined
  return isObject(entry) ? entry : {}
}

/**
 * Returns the status entries of a credential, one or several; undefined when it has no status. An entry that is no
 * object counts as one that cannot be looked up. VCDM 2.0, Status.
 */
export function statusEntriesOf(entries: Json | undefined): readonly JsonObject[] | undefined {
  if (entries === undefined) return undefined
  if (!Array.isArray(entries)) return [isObject(entries) ? entries : {}]
  return entries.length === 0 ? [{}] : entries.map((entry) => (isObject(entry) ? entry : {}))
}

export function readOneOrMoreStrings(value: Json | undefined): readonly string[] {
  if (typeof value === 'string') return [value]
  return stringsIn(value)
}

/** Returns the latest start, from which every member is valid. */
export function lastStart({ notBefore }: Validity): Date | undefined {
  const starts = notBefore.flatMap(({ at }) => at?.getTime() ?? [])
  return starts.length > 0 ? new Date(Math.max(...starts)) : undefined
}

/** Returns the earliest end, until which every member is valid. */
export function firstEnd({ notAfter }: Validity): Date | undefined {
  const ends = notAfter.flatMap(({ at }) => at?.getTime() ?? [])
  return ends.length > 0 ? new Date(Math.min(...ends)) : undefined
}

export function toEpochSeconds(time: Date): number {
  return Math.floor(time.getTime() / 1000)
}

/** Returns the instant of a member; its time is undefined when the date is invalid. */
function makeInstant(member: string, at: Date | undefined): Instant {
  return { member, at: at && !Number.isNaN(at.getTime()) ? at : undefined }
}

/** Returns the member `status`, when there is one to name. Token Status List, Referenced Token. */
export function statusMember({ status }: Order): { readonly status?: JsonObject } {
  return status === undefined ? {} : { status: { status_list: { idx: status.index, uri: status.uri } } }
}

/** Tests whether the credential names the entry that was ordered for it, or none when none was. */
export function hasOrderedStatus(order: Order, { status }: Pick<Evidence, 'status'>): boolean {
  return isDeepStrictEqual(status, statusMember(order).status)
}

/** Returns the path of a claim, without the member around the claims of the subject. */
export function subjectPositionText(position: ClaimPosition): string {
  return pathText(position[0] === 'credentialSubject' ? position.slice(1) : position)
}
