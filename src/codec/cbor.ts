/**
 * A CBOR decoder with limits, for the deterministic encoding of ISO/IEC 18013-5: shortest integers and lengths, and no
 * indefinite lengths. Maps become a `Map`, and tags are kept. RFC 8949; cborg is the tokenizer.
 */
import { encode, Tagged, type Token, Tokenizer, Type } from 'cborg'
import { MAX_NESTING } from './json.ts'
import { malformed, readPart } from './malformed.ts'
import { utf8Text } from './utf8.ts'

export type Cbor = string | number | bigint | boolean | null | Uint8Array | Tagged | readonly Cbor[] | CborMap
/** The accepted types of map keys. */
export type CborKey = string | number | bigint
export type CborMap = ReadonlyMap<CborKey, Cbor>
export type { Tagged }

/** The used tag numbers. RFC 8949 section 3.4, RFC 8943. */
export const CBOR_TAG = { dateTime: 0, negativeBignum: 3, sign1: 18, encoded: 24, fullDate: 1004 } as const

/** The major type of byte strings, in the first byte. */
const BYTE_STRING = 0x40
const TAG_24 = Uint8Array.of(0xd8, CBOR_TAG.encoded)

const MAX_BYTES = 1024 * 1024
/** The maximum number of values in one CBOR value, including map keys. */
const MAX_VALUES = 20_000
/** The maximum number of integer keys in a map. V8 does not seed their hashes, so a sender can make all collide. */
const MAX_NUMBER_KEYS = 1000

const OPTIONS = {
  allowBigInt: true,
  allowIndefinite: false,
  allowUndefined: false,
  allowInfinity: false,
  allowNaN: false,
  retainStringBytes: true,
  strict: true,
}
/** Leaves map keys in their order. */
const IN_ORDER = { mapSorter: () => 0 }
/** Accepts integers and lengths that are not in the shortest form. */
const LONG_NUMBERS = { ...OPTIONS, strict: false }

/** The number of values that may still be decoded; several calls may share one budget. */
export interface Budget {
  readonly maxValues: number
  valuesLeft: number
}

interface Reader {
  readonly tokens: Tokenizer
  readonly budget: Budget
  readonly byteStringKeys: boolean
}

/** Creates a budget of `maxValues` for decoding. */
export function createBudget(maxValues = MAX_VALUES): Budget {
  return { maxValues, valuesLeft: maxValues }
}

/**
 * Decodes the single value in `bytes`. Throws a MalformedError for trailing bytes, a duplicate key, a key that is not
 * text or integer, a map with more than a thousand integer keys, invalid UTF-8, undefined and simple values, and a
 * depth over 32. With `longNumbers`, integers and lengths need not be in the shortest form. With `byteStringKeys`, a
 * key may also be a byte string, which becomes the text of {@link byteStringKey}. The decoded values are subtracted
 * from `budget`.
 */
export function decodeCbor(
  bytes: Uint8Array,
  { longNumbers = false, byteStringKeys = false, budget = createBudget() } = {},
): Cbor {
  if (bytes.length > MAX_BYTES) malformed(`the CBOR is larger than ${MAX_BYTES} bytes`)
  // The tokenizer copies slices of a Uint8Array; slices of a Buffer would share its memory.
  const plainBytes = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length)
  const tokens = new Tokenizer(plainBytes, longNumbers ? LONG_NUMBERS : OPTIONS)
  const reader = { tokens, budget, byteStringKeys }
  const value = readValue(reader, readToken(reader), MAX_NESTING)
  return reader.tokens.done() ? value : malformed('bytes follow the CBOR value')
}

/** Encodes a value. Map keys are sorted, shorter ones first. */
export function encodeCbor(value: Cbor): Uint8Array {
  return encode(value)
}

/** Encodes a value, like `encodeCbor` but with map keys in the order of each `Map`. */
export function encodeInOrder(value: Cbor): Uint8Array {
  return encode(value, IN_ORDER)
}

/** Wraps a value in a tag. */
export function makeTagged(tag: number, value: Cbor): Tagged {
  return new Tagged(tag, value)
}

/** Wraps an encoded value in tag 24, `24(<<value>>)`. RFC 8949 section 3.4.5.1. */
export function embedCbor(value: Cbor): Tagged {
  return makeTagged(CBOR_TAG.encoded, encodeCbor(value))
}

/** Encodes `24(bytes)`, like `encodeCbor` but five times as fast. RFC 8949 section 3.1. */
export function encodeEmbedded(bytes: Uint8Array): Uint8Array {
  // The head of a byte string is that of its length as an integer, with another major type.
  const head = encodeCbor(bytes.length)
  const encoded = Buffer.concat([TAG_24, head, bytes])
  encoded[TAG_24.length] = BYTE_STRING | (head[0] ?? 0)
  return encoded
}

/** Returns the content of a value with this tag; undefined for all other values. */
export function contentOfTag(value: Cbor | undefined, tag: number): Cbor | undefined {
  return value instanceof Tagged && value.tag === tag ? (value.value as Cbor) : undefined
}

export function isTagged(value: Cbor | undefined): value is Tagged {
  return value instanceof Tagged
}

export function isMap(value: Cbor | undefined): value is CborMap {
  return value instanceof Map
}

export function isArray(value: Cbor | undefined): value is readonly Cbor[] {
  return Array.isArray(value)
}

export function isBytes(value: Cbor | undefined): value is Uint8Array {
  return value instanceof Uint8Array
}

/** Returns the value if it is a map. Throws a MalformedError that begins with `what` if it is not. */
export function asMap(value: Cbor | undefined, what: string): CborMap {
  return isMap(value) ? value : malformed(`${what} is not a CBOR map`)
}

/** Returns the value if it is an array. Throws a MalformedError that begins with `what` if it is not. */
export function asArray(value: Cbor | undefined, what: string): readonly Cbor[] {
  return isArray(value) ? value : malformed(`${what} is not a CBOR array`)
}

/** Returns the value if it is a byte string. Throws a MalformedError that begins with `what` if it is not. */
export function asBytes(value: Cbor | undefined, what: string): Uint8Array {
  return isBytes(value) ? value : malformed(`${what} is not a byte string`)
}

/** Returns the value if it is a text. Throws a MalformedError that begins with `what` if it is not. */
export function asText(value: Cbor | undefined, what: string): string {
  return typeof value === 'string' ? value : malformed(`${what} is not a text`)
}

/** Returns the bytes inside `24(bytes)` unchanged. */
export function asEmbeddedBytes(value: Cbor | undefined, what: string): Uint8Array {
  const bytes = contentOfTag(value, CBOR_TAG.encoded)
  return isBytes(bytes) ? bytes : malformed(`${what} is not embedded CBOR (tag 24)`)
}

/** Decodes the value embedded in `24(bytes)`. Throws a MalformedError that names `what`. */
export function readEmbedded(value: Cbor | undefined, what: string): Cbor {
  const bytes = asEmbeddedBytes(value, what)
  return readPart(what, () => decodeCbor(bytes))
}

function readToken({ tokens }: Reader): Token {
  if (tokens.done()) malformed('the CBOR is cut short')
  try {
    return tokens.next()
  } catch (error) {
    return malformed((error as Error).message, error)
  }
}

function readValue(reader: Reader, token: Token, depthLeft: number): Cbor {
  if (--reader.budget.valuesLeft < 0) malformed(`the CBOR has more than ${reader.budget.maxValues} values`)
  const { type } = token
  if (type.terminal) return type === Type.string ? readText(token) : (token.value as Cbor)
  if (depthLeft === 0) malformed(`the CBOR is nested deeper than ${MAX_NESTING}`)
  const next = () => readValue(reader, readToken(reader), depthLeft - 1)
  if (type === Type.array) return readArray(token, next)
  if (type === Type.map) return readMap(token, reader, next)
  if (type === Type.tag) return readTagged(token.value as number | bigint, next)
  return malformed('the CBOR has a break outside of anything')
}

function readArray(token: Token, next: () => Cbor): Cbor[] {
  const elements: Cbor[] = []
  for (let remaining = token.value as number; remaining > 0; remaining--) elements.push(next())
  return elements
}

function readMap(token: Token, reader: Reader, next: () => Cbor): CborMap {
  const members = new Map<CborKey, Cbor>()
  let numberKeys = 0
  for (let remaining = token.value as number; remaining > 0; remaining--) {
    const key = readKey(reader)
    if (typeof key !== 'string') numberKeys += 1
    if (numberKeys > MAX_NUMBER_KEYS) malformed(`a CBOR map has more than ${MAX_NUMBER_KEYS} keys that are numbers`)
    if (members.has(key)) malformed('a CBOR map has a key twice')
    members.set(key, next())
  }
  return members
}

function readTagged(tag: number | bigint, next: () => Cbor): Tagged {
  return typeof tag === 'number' ? new Tagged(tag, next()) : malformed('the CBOR has a tag number above 2^53')
}

/** Returns a byte string as the key of a map, in the diagnostic notation `h'00ff'`. RFC 8949 section 8. */
export function byteStringKey(bytes: Uint8Array): string {
  return `h'${Buffer.from(bytes).toString('hex')}'`
}

/** Tests whether a key is the result of {@link byteStringKey}. */
export function isByteStringKey(key: CborKey): boolean {
  return typeof key === 'string' && /^h'[0-9a-f]*'$/.test(key)
}

function readKey(reader: Reader): CborKey {
  const token = readToken(reader)
  if (reader.byteStringKeys && token.type === Type.bytes)
    return byteStringKey(readValue(reader, token, 0) as Uint8Array)
  const isKeyType = token.type === Type.string || token.type === Type.uint || token.type === Type.negint
  return isKeyType
    ? (readValue(reader, token, 0) as CborKey)
    : malformed('a key of a CBOR map is neither a text nor an integer')
}

function readText({ byteValue = new Uint8Array(), value }: Token): string {
  // cborg has decoded the text, and replaced what is not UTF-8. A text in ASCII is decoded only once.
  return byteValue.every((byte) => byte < 0x80) ? (value as string) : utf8Text(byteValue)
}
