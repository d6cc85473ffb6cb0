/**
 * DER, the encoding of certificates: a strict parser, and an encoder for what certificates need. X.690 sections 8, 10
 * and 11.
 */
import { isUtf8 } from 'node:buffer'
import { malformed } from './malformed.ts'

/** A DER element. A constructed element has `children`; a primitive one has none. */
export interface DerValue {
  readonly tag: number
  /** The whole element, including its tag and length. */
  readonly der: Buffer
  readonly content: Buffer
  readonly children: readonly DerValue[]
}

/** The identifier octets of the types in certificates. */
export const DER_TAG = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  teletexString: 0x14,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  bmpString: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const

const MAX_BYTES = 64 * 1024
const MAX_DEPTH = 16
// The maximum size of an OID in bytes (one with a UUID has 20), since decoding large arcs is expensive.
const MAX_OID_BYTES = 128
const CONSTRUCTED_BIT = 0x20
/** The universal types that are constructed: EXTERNAL, EMBEDDED PDV, SEQUENCE and SET. All others are primitive. */
const CONSTRUCTED_TYPES: readonly number[] = [0x08, 0x0b, 0x10, 0x11]

/** Returns the identifier octet of the context-specific tag `[number]`. */
export function contextTag(number: number, form: 'primitive' | 'constructed'): number {
  return 0x80 | number | (form === 'constructed' ? CONSTRUCTED_BIT : 0)
}

/**
 * Parses the single element in `bytes`, recursively. Throws a MalformedError for anything that is not strict DER, or is
 * larger than `maxBytes`.
 */
export function readDer(bytes: Uint8Array, maxBytes = MAX_BYTES): DerValue {
  if (bytes.length > maxBytes) malformed(`the DER is larger than ${maxBytes} bytes`)
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const value = readElement(buffer, MAX_DEPTH)
  if (value.der.length !== buffer.length) malformed('bytes follow the DER element')
  return value
}

/** Returns the members of a SEQUENCE. The functions `take…` remove them from the front. */
export function readSequence(value: DerValue): DerValue[] {
  return [...expectTag(value, DER_TAG.sequence).children]
}

/** Removes and returns the next member, which must have `tag`. */
export function takeMember(members: DerValue[], tag: number): DerValue {
  return takeOptionalMember(members, tag) ?? malformed(`a DER element with the tag ${tagText(tag)} is missing`)
}

/** Removes and returns the next member if it has `tag`. */
export function takeOptionalMember(members: DerValue[], tag: number): DerValue | undefined {
  return members[0]?.tag === tag ? members.shift() : undefined
}

/** Throws a MalformedError if there are members left. */
export function refuseMoreMembers(members: readonly DerValue[]): void {
  const [next] = members
  if (next !== undefined) malformed(`a DER element with the tag ${tagText(next.tag)} is out of place`)
}

/** Reads a BOOLEAN. */
export function readBoolean(value: DerValue): boolean {
  const [octet] = expectTag(value, DER_TAG.boolean).content
  if (value.content.length !== 1 || (octet !== 0x00 && octet !== 0xff)) malformed('a DER BOOLEAN is neither 00 nor FF')
  return octet === 0xff
}

/** Returns the two's complement bytes of an INTEGER, which must be in the shortest form. */
export function readInteger(value: DerValue): Buffer {
  const { content } = expectTag(value, DER_TAG.integer)
  const [first, second] = content
  if (first === undefined) malformed('a DER INTEGER is empty')
  const padding = second === undefined ? undefined : second < 0x80 ? 0x00 : 0xff
  if (first === padding) malformed('a DER INTEGER is not minimal')
  return content
}

/** Reads an INTEGER from 0 to 2^31-1, such as a version or a length. */
export function readSmallInteger(value: DerValue): number {
  const content = readInteger(value)
  if (content.length > 4) malformed('a DER INTEGER is too large')
  const number = content.readIntBE(0, content.length)
  return number < 0 ? malformed('a DER INTEGER is negative') : number
}

/** Reads a BIT STRING. The unused bits of its last byte must be zero. */
export function readBitString(value: DerValue): { readonly bytes: Buffer; readonly unusedBits: number } {
  const { content } = expectTag(value, DER_TAG.bitString)
  const unusedBits = content[0] ?? malformed('a DER BIT STRING is empty')
  const bytes = content.subarray(1)
  if (unusedBits > (bytes.length === 0 ? 0 : 7)) malformed('a DER BIT STRING has too many unused bits')
  if (((bytes.at(-1) ?? 0) & ((1 << unusedBits) - 1)) !== 0) malformed('a DER BIT STRING has unused bits that are set')
  return { bytes, unusedBits }
}

export function readOctetString(value: DerValue): Buffer {
  return expectTag(value, DER_TAG.octetString).content
}

/** Reads an OBJECT IDENTIFIER in dotted form, such as `2.5.4.3`. */
export function readOid(value: DerValue): string {
  const { content } = expectTag(value, DER_TAG.oid)
  if (content.length > MAX_OID_BYTES) malformed('a DER OBJECT IDENTIFIER is too long')
  if ((content.at(-1) ?? 0x80) >= 0x80) malformed('a DER OBJECT IDENTIFIER is cut short')
  const arcs: bigint[] = []
  let arc = 0n
  for (const octet of content) {
    if (arc === 0n && octet === 0x80) malformed('a DER OBJECT IDENTIFIER is not minimal')
    arc = (arc << 7n) | BigInt(octet & 0x7f)
    if (octet < 0x80) {
      arcs.push(arc)
      arc = 0n
    }
  }
  const [first = 0n, ...rest] = arcs
  const root = first < 80n ? first / 40n : 2n
  return [root, first - root * 40n, ...rest].join('.')
}

/** Reads a UTCTime or GeneralizedTime in UTC with whole seconds. RFC 5280 section 4.1.2.5. */
export function readTime(value: DerValue): Date {
  const text = value.content.toString('latin1')
  const full = value.tag === DER_TAG.utcTime ? `${text < '50' ? '20' : '19'}${text}` : text
  if (value.tag !== DER_TAG.utcTime) expectTag(value, DER_TAG.generalizedTime)
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(full) ?? []
  if (year === undefined) malformed('a DER time is not in UTC with seconds')
  const iso = `${year}-${month}-${day}T${hour}:${minute}:${second}.000Z`
  const date = new Date(iso)
  // Date accepts invalid times, such as February 30, as other times.
  if (Number.isNaN(date.getTime()) || date.toISOString() !== iso) malformed('a DER time does not exist')
  return date
}

/** Reads a string of the types in distinguished names. */
export function readString(value: DerValue): string {
  const { tag, content } = value
  if (tag === DER_TAG.utf8String && isUtf8(content)) return content.toString('utf8')
  if ((tag === DER_TAG.printableString || tag === DER_TAG.ia5String) && isAscii(content))
    return content.toString('latin1')
  if (tag === DER_TAG.teletexString) return content.toString('latin1')
  if (tag === DER_TAG.bmpString && content.length % 2 === 0) return Buffer.from(content).swap16().toString('utf16le')
  return malformed('a DER string is not of its type')
}

function isAscii(bytes: Uint8Array): boolean {
  return bytes.every((octet) => octet < 0x80)
}

/** Makes an element with the identifier octet `tag` and the concatenated `parts`. */
export function writeDer(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  if (content.length < 0x80) return Buffer.concat([Uint8Array.of(tag, content.length), content])
  const length = encodeUnsigned(content.length)
  return Buffer.concat([Uint8Array.of(tag, 0x80 | length.length), length, content])
}

export function writeSequence(...members: readonly Uint8Array[]): Buffer {
  return writeDer(DER_TAG.sequence, ...members)
}

/** Makes a SET OF, whose members are sorted. X.690 section 11.6. */
export function writeSet(...members: readonly Uint8Array[]): Buffer {
  return writeDer(DER_TAG.set, ...[...members].sort((a, b) => Buffer.compare(a, b)))
}

export function writeBoolean(value: boolean): Buffer {
  return writeDer(DER_TAG.boolean, Uint8Array.of(value ? 0xff : 0x00))
}

/** Makes a non-negative INTEGER from a number, or from big-endian bytes. */
export function writeInteger(value: number | Uint8Array): Buffer {
  const octets = typeof value === 'number' ? encodeUnsigned(value) : value
  const start = octets.findIndex((octet) => octet !== 0)
  const minimalOctets = start === -1 ? Uint8Array.of(0) : octets.subarray(start)
  return writeDer(DER_TAG.integer, Uint8Array.of(...((minimalOctets[0] ?? 0) >= 0x80 ? [0] : [])), minimalOctets)
}

export function writeBitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return writeDer(DER_TAG.bitString, Uint8Array.of(unusedBits), bytes)
}

export function writeOctetString(bytes: Uint8Array): Buffer {
  return writeDer(DER_TAG.octetString, bytes)
}

export function writeOid(dottedOid: string): Buffer {
  const [root = 0n, second = 0n, ...rest] = dottedOid.split('.').map(BigInt)
  return writeDer(DER_TAG.oid, ...[root * 40n + second, ...rest].map(writeArc))
}

/** Makes a UTCTime until 2049 and a GeneralizedTime from 2050, with whole seconds. RFC 5280 section 4.1.2.5. */
export function writeTime(date: Date): Buffer {
  const text = `${date.toISOString().replace(/[-:T]|\.\d+Z$/g, '')}Z`
  const short = date.getUTCFullYear() >= 1950 && date.getUTCFullYear() < 2050
  return short
    ? writeDer(DER_TAG.utcTime, Buffer.from(text.slice(2), 'latin1'))
    : writeDer(DER_TAG.generalizedTime, Buffer.from(text, 'latin1'))
}

function readElement(bytes: Buffer, depthLeft: number): DerValue {
  if (depthLeft === 0) malformed(`the DER is nested deeper than ${MAX_DEPTH}`)
  const tag = bytes[0] ?? malformed('the DER is cut short')
  refuseTag(tag)
  const { start, length } = readLength(bytes)
  const end = start + length
  if (end > bytes.length) malformed('the DER is cut short')
  const content = bytes.subarray(start, end)
  const children = (tag & CONSTRUCTED_BIT) === 0 ? [] : readElements(content, depthLeft - 1)
  if (tag === DER_TAG.set) refuseUnsorted(children)
  return { tag, der: bytes.subarray(0, end), content, children }
}

function readElements(bytes: Buffer, depthLeft: number): DerValue[] {
  const elements: DerValue[] = []
  for (let offset = 0; offset < bytes.length; ) {
    const element = readElement(bytes.subarray(offset), depthLeft)
    elements.push(element)
    offset += element.der.length
  }
  return elements
}

function refuseTag(tag: number): void {
  const number = tag & 0x1f
  if (number === 0x1f) malformed('the DER has a tag of several octets')
  if (tag >= 0x40) return
  if (number === 0) malformed('the DER has the reserved tag 00')
  const isConstructed = (tag & CONSTRUCTED_BIT) !== 0
  if (isConstructed !== CONSTRUCTED_TYPES.includes(number))
    malformed(`the DER has the tag ${tagText(tag)}, which only BER allows`)
}

/** Reads a length, which must be definite and in the shortest form. X.690 sections 8.1.3 and 10.1. */
function readLength(bytes: Buffer): { readonly start: number; readonly length: number } {
  const first = bytes[1] ?? malformed('the DER is cut short')
  if (first < 0x80) return { start: 2, length: first }
  if (first === 0x80) malformed('a DER length is indefinite')
  const octets = first & 0x7f
  if (octets > 4) malformed('a DER length is too large')
  const start = 2 + octets
  if (start > bytes.length) malformed('the DER is cut short')
  const length = bytes.readUIntBE(2, octets)
  if (length < 0x80 || length < 2 ** (8 * (octets - 1))) malformed('a DER length is not minimal')
  return { start, length }
}

function refuseUnsorted(members: readonly DerValue[]): void {
  for (const [index, { der }] of members.entries()) {
    const next = members[index + 1]
    if (next !== undefined && der.compare(next.der) > 0) malformed('a DER SET is not sorted')
  }
}

function expectTag(value: DerValue, tag: number): DerValue {
  return value.tag === tag
    ? value
    : malformed(`a DER element has the tag ${tagText(value.tag)} instead of ${tagText(tag)}`)
}

function writeArc(arc: bigint): Buffer {
  const octets = [Number(arc & 0x7fn)]
  for (let rest = arc >> 7n; rest > 0n; rest >>= 7n) octets.unshift(Number(rest & 0x7fn) | 0x80)
  return Buffer.from(octets)
}

function encodeUnsigned(value: number): Buffer {
  const digits = value.toString(16)
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, 'hex')
}

function tagText(tag: number): string {
  return tag.toString(16).padStart(2, '0')
}
