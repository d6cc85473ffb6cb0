/**
 * JSON from outside: parsed strictly and with a limited depth, and accessed by own members only. I-JSON forbids what
 * JSON.parse accepts: lone surrogates, duplicate members, and numbers that lose digits (RFC 7493 sections 2.1 to 2.3).
 */
import { malformed } from './malformed.ts'
import { utf8Text } from './utf8.ts'

export type Json = string | number | boolean | null | Json[] | JsonObject
export type JsonObject = { [member: string]: Json }

/** Tests whether a value is an object, and not an array or null. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Returns the member of an object with this name; never an inherited one, such as `constructor`. Returns undefined if
 * there is none, or if `value` is not an object.
 */
export function memberOf(value: Json | undefined, name: string): Json | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
}

/** Sets a member of the object, even one named `__proto__`. */
export function setMember(object: JsonObject, name: string, value: Json): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true })
}

/** Returns the strings in an array; empty if `value` is not an array. */
export function stringsIn(value: Json | undefined): readonly string[] {
  return Array.isArray(value) ? value.filter((element) => typeof element === 'string') : []
}

/** Returns a member like {@link memberOf} if it is a string; otherwise undefined. */
export function stringMemberOf(value: Json | undefined, name: string): string | undefined {
  const member = memberOf(value, name)
  return typeof member === 'string' ? member : undefined
}

/**
 * Parses JSON text, or UTF-8 bytes. Throws a MalformedError if it is not valid JSON, is nested deeper than 32, or has a
 * duplicate member or a number that would lose digits. RFC 8259; RFC 7493 sections 2.1 to 2.3.
 */
export function parseJson(json: string | Uint8Array): Json {
  const text = typeof json === 'string' ? json : utf8Text(json)
  let value: Json
  try {
    value = JSON.parse(text) as Json
  } catch (cause) {
    return malformed('it is not JSON', cause)
  }
  refuseUnlessIJson(text)
  return value
}

/** Throws a MalformedError if `value` has more than `most` members and elements, at all depths together. */
export function refuseMany(value: Json, most: number): void {
  if (countValues(value) > most) malformed(`it has more than ${most} values`)
}

/** Counts the members and elements of `value` at all depths. */
export function countValues(value: Json): number {
  if (typeof value !== 'object' || value === null) return 0
  const members = membersIn(value)
  let count = members.length
  for (const member of members) if (typeof member === 'object') count += countValues(member)
  return count
}

/** Returns the members of an object, or the array itself without a copy. */
function membersIn(value: Json[] | JsonObject): readonly Json[] {
  return Array.isArray(value) ? value : Object.values(value)
}

/** Parses a JSON object like {@link parseJson}. Throws a MalformedError if the value is not an object. */
export function parseJsonObject(json: string | Uint8Array): JsonObject {
  const value = parseJson(json)
  return isObject(value) ? value : malformed('it is not a JSON object')
}

/** The maximum nesting depth of objects and arrays. */
export const MAX_NESTING = 32

/** A valid JSON text, and the current position in it. */
interface Scan {
  readonly text: string
  at: number
  /** The path of the current value: member names and array indices. */
  readonly path: (string | number)[]
}

const [QUOTE, BACKSLASH, COMMA, MINUS, ZERO, NINE] = [0x22, 0x5c, 0x2c, 0x2d, 0x30, 0x39]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT, BLANK] = [0x5b, 0x5d, 0x7b, 0x7d, 0x20]
/** The number of decimal digits that a binary64 number always preserves (IEEE 754). */
const SAFE_DIGITS = 15
/** The maximum length of a path in a message. */
const MAX_PATH = 200

/**
 * Throws a MalformedError, whose message begins with the path, for what I-JSON does not allow (RFC 7493): a lone
 * surrogate, a duplicate member or a number that loses digits. Throws one if the depth exceeds {@link MAX_NESTING}.
 * `text` must be valid JSON.
 */
export function refuseUnlessIJson(text: string): void {
  readValue({ text, at: 0, path: [] })
}

function readValue(scan: Scan): void {
  const first = skipBlanks(scan)
  if (first === OPEN_OBJECT) readObject(scan)
  else if (first === OPEN_ARRAY) readArray(scan)
  else if (first === QUOTE) readText(scan)
  else readWord(scan, first === MINUS || (first >= ZERO && first <= NINE))
}

function readObject(scan: Scan): void {
  const names = new Set<string>()
  if (enterContainer(scan) === CLOSE_OBJECT) scan.at += 1
  else {
    do {
      skipBlanks(scan)
      const name = readText(scan)
      scan.path.push(name)
      if (names.has(name)) refuseAt(scan, 'this member is there twice')
      names.add(name)
      skipBlanks(scan)
      scan.at += 1
      readValue(scan)
      scan.path.pop()
    } while (skipSeparator(scan))
  }
}

function readArray(scan: Scan): void {
  if (enterContainer(scan) === CLOSE_ARRAY) scan.at += 1
  else {
    let index = 0
    do {
      scan.path.push(index)
      readValue(scan)
      scan.path.pop()
      index += 1
    } while (skipSeparator(scan))
  }
}

/** Enters an object or array and returns its first character. */
function enterContainer(scan: Scan): number {
  if (scan.path.length === MAX_NESTING) malformed(`it is nested deeper than ${MAX_NESTING}`)
  scan.at += 1
  return skipBlanks(scan)
}

/** Returns whether a comma follows; otherwise the object or array ends. */
function skipSeparator(scan: Scan): boolean {
  const next = skipBlanks(scan)
  scan.at += 1
  return next === COMMA
}

/** Reads a string. */
function readText(scan: Scan): string {
  const quotedText = readQuoted(scan)
  const text = quotedText.includes('\\') ? (JSON.parse(`"${quotedText}"`) as string) : quotedText
  if (!text.isWellFormed()) refuseAt(scan, 'this text has half of a character (a lone surrogate)')
  return text
}

/** Reads a string, with its escapes. */
function readQuoted(scan: Scan): string {
  const { text, at } = scan
  let end = text.indexOf('"', at + 1)
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  scan.at = end + 1
  return text.slice(at + 1, end)
}

/** Tests whether the quote is escaped: an odd number of backslashes precedes it. */
function isEscaped(text: string, at: number): boolean {
  let index = at - 1
  while (text.charCodeAt(index) === BACKSLASH) index -= 1
  return (at - index) % 2 === 0
}

/** Reads a number, or true, false or null. */
function readWord(scan: Scan, isNumber: boolean): void {
  const { text, at } = scan
  let end = at + 1
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end)
    if (code === COMMA || code === CLOSE_ARRAY || code === CLOSE_OBJECT || code <= BLANK) break
  }
  scan.at = end
  if (isNumber && !isExact(text.slice(at, end))) refuseAt(scan, 'this number loses digits; send it as text')
}

/**
 * Tests whether the number keeps its value when it is parsed, like `1.0`, `1e2` and `-0`. A fraction may have the 17
 * digits by which some writers name a binary number, in place of the fewest: `0.10000000000000001` is 0.1.
 */
function isExact(numberText: string): boolean {
  const value = Number(numberText)
  if (!Number.isFinite(value)) return false
  if (numberText.length <= SAFE_DIGITS && !/[eE]/.test(numberText)) return true
  const digits = normalizeDecimal(numberText)
  if (digits === normalizeDecimal(String(value))) return true
  return !Number.isInteger(value) && digits === normalizeDecimal(value.toPrecision(17))
}

/** Normalizes a number to its digits without leading and trailing zeros, and an exponent. */
function normalizeDecimal(numberText: string): string {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(numberText) ?? []
  const digits = whole + fraction
  const first = digits.search(/[1-9]/)
  if (first === -1) return '0'
  let end = digits.length
  while (digits.charCodeAt(end - 1) === ZERO) end -= 1
  return `${digits.slice(first, end)}e${whole.length - first + Number(exponent)}`
}

function skipBlanks(scan: Scan): number {
  while (scan.text.charCodeAt(scan.at) <= BLANK) scan.at += 1
  return scan.text.charCodeAt(scan.at)
}

function refuseAt({ path }: Scan, why: string): never {
  if (path.length === 0) return malformed(why)
  const pathText = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')
  const label = pathText.replace(/^\./, '')
  return malformed(`${label.length > MAX_PATH ? `${label.slice(0, MAX_PATH)}...` : label}: ${why}`)
}
