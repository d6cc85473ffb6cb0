/**
 * Converts element values from the JSON of a dataset to CBOR, and back: RFC 8949 section 6.1, CBOR as JSON. Which
 * elements are dates and bytes the definition of each namespace says.
 */
import { toBase64url } from '../../codec/base64url.ts'
import { CBOR_TAG, type Cbor, isArray, isBytes, isMap, isTagged, makeTagged, type Tagged } from '../../codec/cbor.ts'
import { isObject, type Json, type JsonObject } from '../../codec/json.ts'
import { malformed } from '../../codec/malformed.ts'
import { isCalendarDay, isCalendarTime } from '../../codec/time.ts'

/** A `full-date`, a `tdate`, or either of them. */
type DateType = 'day' | 'time' | 'day or time'

/** The elements of a namespace that are dates or bytes. In all other namespaces, texts stay texts. */
interface Types {
  readonly dates: ReadonlyMap<string, DateType>
  readonly bytes?: RegExp
}

const DATES: readonly (readonly [name: string, type: DateType])[] = [
  ['birth_date', 'day'],
  ['issue_date', 'day or time'],
  ['expiry_date', 'day or time'],
]
/** ISO/IEC 18013-5 section 7.2.1, table 5. */
const MDL: Types = {
  dates: new Map([...DATES, ['portrait_capture_date', 'time']]),
  bytes: /^(portrait|signature_usual_mark|biometric_template_.+)$/,
}
/** AAMVA Mobile Driver's License Implementation Guidelines: also the days in `domestic_driving_privileges`. */
const AAMVA: Types = { dates: new Map([...DATES, ['hazmat_endorsement_expiration_date', 'day']]) }
/**
 * ISO/IEC 23220-2, for the Photo ID of ISO/IEC TS 23220-4 annex C. Issuers do not agree on whether the capture of the
 * portrait has a time.
 */
const PHOTO_ID: Types = {
  dates: new Map([...DATES, ['portrait_capture_date', 'day or time']]),
  bytes: /^(portrait|enrolment_portrait_image|biometric_template_.+)$/,
}
/** The data groups of a passport, in a digital travel credential beside a Photo ID. */
const DTC: Types = { dates: new Map(), bytes: /^(dtc_sod|dtc_dg\d{1,2}|dg_content_info)$/ }
const PID: Types = { dates: new Map([...DATES, ['issuance_date', 'day or time']]), bytes: /^portrait$/ }
const TYPES: ReadonlyMap<string, Types> = new Map([
  ['org.iso.18013.5.1', MDL],
  ['org.iso.18013.5.1.aamva', AAMVA],
  ['org.iso.23220.1', PHOTO_ID],
  // The namespace of the Photo ID's own elements, in both of its spellings: some issuers have all elements in it.
  ['org.iso.23220.photoID.1', PHOTO_ID],
  ['org.iso.23220.photoid.1', PHOTO_ID],
  ['org.iso.23220.dtc.1', DTC],
  ['eu.europa.ec.eudi.pid.1', PID],
])

/**
 * Converts the member `name` of `nameSpace` to CBOR, at any depth. Throws a MalformedError if a text is not the
 * required date or bytes, or is not valid Unicode. Dates inside of an element, as in `driving_privileges`, are days.
 */
export function toCbor(value: Json, nameSpace: string, name: string | undefined, isInElement = false): Cbor {
  if (typeof value === 'string') return textToCbor(value, nameSpace, name, isInElement)
  if (Array.isArray(value)) return value.map((element) => toCbor(element, nameSpace, undefined, true))
  if (!isObject(value)) return value
  return new Map(
    Object.entries(value).map(([key, member]) => [requireUnicode(key), toCbor(member, nameSpace, key, true)]),
  )
}

/**
 * Throws a MalformedError if an element is defined as a date or as bytes and `value` is not a text. A date may be an
 * object, as the birth date of a Photo ID that is known in part.
 */
export function refuseUntyped(value: Json, nameSpace: string, element: string | undefined): void {
  const types = TYPES.get(nameSpace)
  if (typeof value === 'string' || types === undefined || element === undefined) return
  if (types.bytes?.test(element) === true) malformed('it must be a text in base64 or base64url')
  if (types.dates.has(element) && !isObject(value)) malformed('it must be a text with a date, as 2026-12-31')
}

/** Converts a value to JSON. Throws a MalformedError if two members of a map get the same name. */
export function toJson(value: Cbor): Json {
  if (typeof value === 'bigint') return value.toString()
  if (isBytes(value)) return toBase64url(value)
  if (isTagged(value)) return taggedToJson(value)
  if (isArray(value)) return value.map(toJson)
  if (!isMap(value)) return value
  const members = [...value].map(([key, member]) => [String(key), toJson(member)] as const)
  const object: JsonObject = Object.fromEntries(members)
  // The keys may be a number and the text of the same number.
  return Object.keys(object).length === members.length ? object : malformed('a map has two members of one name')
}

/** Drops the tag, so that a date becomes its text; a tilde tells a negative bignum. RFC 8949 section 6.1. */
function taggedToJson({ tag, value }: Tagged): Json {
  const content = value as Cbor
  return tag === CBOR_TAG.negativeBignum && isBytes(content) ? `~${toBase64url(content)}` : toJson(content)
}

/** Makes a tdate in UTC with whole seconds, as ISO/IEC 18013-5 section 7.1 requires: `0("2026-01-01T00:00:00Z")`. */
export function cborDateTime(time: Date): Cbor {
  return makeTagged(CBOR_TAG.dateTime, `${time.toISOString().slice(0, 19)}Z`)
}

/** Returns the text. Throws a MalformedError if it has lone surrogates, which UTF-8 cannot encode. */
export function requireUnicode(text: string): string {
  return text.isWellFormed() ? text : malformed('a text is not Unicode')
}

function textToCbor(text: string, nameSpace: string, name: string | undefined, isInElement: boolean): Cbor {
  const types = TYPES.get(nameSpace)
  if (name === undefined || types === undefined) return requireUnicode(text)
  const dateType = types.dates.get(name)
  if (dateType !== undefined) return dateToCbor(text, isInElement ? 'day' : dateType)
  return types.bytes?.test(name) ? decodeBase64(text) : requireUnicode(text)
}

const DATE_EXAMPLES: Readonly<Record<DateType, string>> = {
  day: '2026-12-31',
  time: '2026-12-31T23:59:59Z',
  'day or time': '2026-12-31 or 2026-12-31T23:59:59Z',
}

function dateToCbor(text: string, type: DateType): Cbor {
  if (type !== 'time' && isCalendarDay(text)) return makeTagged(CBOR_TAG.fullDate, text)
  if (type !== 'day' && isCalendarTime(text)) return makeTagged(CBOR_TAG.dateTime, text)
  return malformed(`it must be a date, as ${DATE_EXAMPLES[type]}`)
}

/** Decodes base64 or base64url, plain or in a `data:` URL. */
function decodeBase64(text: string): Uint8Array {
  const body = text.replace(/^data:[^,]*;base64,/, '')
  const unpadded = body
    .replace(/={1,2}$/, '')
    .replaceAll('+', '-')
    .replaceAll('/', '_')
  const bytes = Buffer.from(unpadded, 'base64url')
  return toBase64url(bytes) === unpadded
    ? bytes
    : malformed('it must be bytes in base64 or base64url, or a data: URL of them')
}
