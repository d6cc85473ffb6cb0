/**
 * Element values: what JSON a dataset has becomes CBOR when it is issued, and what CBOR becomes JSON when it is read.
 * ISO/IEC 18013-5 section 7.2.1, table 5, for what is a date and what is bytes; RFC 8949 section 6.1 for CBOR as JSON.
 */
import { toBase64url } from '../../codec/base64url.ts'
import { CBOR_TAG, type Cbor, isArray, isBytes, isMap, isTagged, makeTagged } from '../../codec/cbor.ts'
import { isObject, type Json, type JsonObject } from '../../codec/json.ts'
import { malformed } from '../../codec/malformed.ts'

/** The CBOR types of texts in a dataset; in a namespace that is not listed here, a text is a text. */
interface Types {
  readonly dates: readonly string[]
  readonly bytes: RegExp
}

const MDL: Types = {
  dates: ['birth_date', 'issue_date', 'expiry_date', 'portrait_capture_date'],
  bytes: /^(portrait|signature_usual_mark|biometric_template_.+)$/,
}
const PID: Types = { dates: ['birth_date', 'issue_date', 'issuance_date', 'expiry_date'], bytes: /^portrait$/ }
const TYPES: ReadonlyMap<string, Types> = new Map([
  ['org.iso.18013.5.1', MDL],
  ['eu.europa.ec.eudi.pid.1', PID],
])

/**
 * Returns the CBOR of the member `name` of `nameSpace`, at any depth. Throws a MalformedError that says what is wrong
 * with a text that should be a date or bytes, or that is not Unicode.
 */
export function toCbor(value: Json, nameSpace: string, name: string | undefined): Cbor {
  if (typeof value === 'string') return textToCbor(value, nameSpace, name)
  if (Array.isArray(value)) return value.map((element) => toCbor(element, nameSpace, undefined))
  if (!isObject(value)) return value
  return new Map(Object.entries(value).map(([key, member]) => [requireUnicode(key), toCbor(member, nameSpace, key)]))
}

/** Returns the JSON of a value. Throws a MalformedError when it has two members of one name. */
export function toJson(value: Cbor): Json {
  if (typeof value === 'bigint') return value.toString()
  if (isBytes(value)) return toBase64url(value)
  // A date is its text, and what another tag means is lost in JSON: RFC 8949 section 6.1.
  if (isTagged(value)) return toJson(value.value as Cbor)
  if (isArray(value)) return value.map(toJson)
  if (!isMap(value)) return value
  const members = [...value].map(([key, member]) => [String(key), toJson(member)] as const)
  const object: JsonObject = Object.fromEntries(members)
  // A number and the text of its digits.
  return Object.keys(object).length === members.length ? object : malformed('a map has two members of one name')
}

/** Returns a time in UTC and whole seconds, as ISO/IEC 18013-5 section 7.1 wants it: `0("2026-01-01T00:00:00Z")`. */
export function cborDateTime(time: Date): Cbor {
  return makeTagged(CBOR_TAG.dateTime, `${time.toISOString().slice(0, 19)}Z`)
}

/** Returns a text that has an encoding: no half of a surrogate pair. */
export function requireUnicode(text: string): string {
  return /\p{Surrogate}/u.test(text) ? malformed('a text is not Unicode') : text
}

function textToCbor(text: string, nameSpace: string, name: string | undefined): Cbor {
  const types = TYPES.get(nameSpace)
  if (name === undefined || types === undefined) return requireUnicode(text)
  if (types.dates.includes(name)) return dateToCbor(text)
  return types.bytes.test(name) ? decodeBase64(text) : requireUnicode(text)
}

function dateToCbor(text: string): Cbor {
  if (isCalendarTime(`${text}T00:00:00Z`)) return makeTagged(CBOR_TAG.fullDate, text)
  if (isCalendarTime(text)) return makeTagged(CBOR_TAG.dateTime, text)
  return malformed('it must be a date, as 2026-12-31 or 2026-12-31T23:59:59Z')
}

/**
 * Tests whether `time` is a time of the calendar, since Date takes February 30 for another day, and years that have a
 * sign.
 */
function isCalendarTime(time: string): boolean {
  const date = new Date(time)
  return /^\d/.test(time) && !Number.isNaN(date.getTime()) && `${date.toISOString().slice(0, 19)}Z` === time
}

/** Decodes base64 of either alphabet, by itself or in a `data:` URL. */
function decodeBase64(text: string): Uint8Array {
  const body = text.replace(/^data:[^,]*;base64,/, '')
  const unpadded = body.replace(/=+$/, '').replaceAll('+', '-').replaceAll('/', '_')
  const bytes = Buffer.from(unpadded, 'base64url')
  return toBase64url(bytes) === unpadded
    ? bytes
    : malformed('it must be bytes in base64 or base64url, or a data: URL of them')
}
