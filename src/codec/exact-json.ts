/**
 * Finds what JSON.parse would change in a text without a word: members that stand there twice, and numbers that become other numbers.
 * RFC 7493 (I-JSON) sections 2.2 and 2.3, which ask for texts without them. One pass over the text, linear in its length.
 */
import { malformed } from './malformed.ts'

/** How deep containers may stand in each other. */
export const MAX_DEPTH = 32

/** A text that JSON.parse has taken, and how far it was read. */
interface Scan {
  readonly text: string
  at: number
  /** Where the value stands that is read now: member names and array indices. */
  readonly path: (string | number)[]
}

const [QUOTE, BACKSLASH, COMMA, MINUS, ZERO, NINE] = [0x22, 0x5c, 0x2c, 0x2d, 0x30, 0x39]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT, BLANK] = [0x5b, 0x5d, 0x7b, 0x7d, 0x20]
/** Decimal digits that a number always keeps (IEEE 754, binary64). */
const SAFE_DIGITS = 15
/** Characters of a path in a message: its names are the sender's. */
const MAX_PATH = 200

/**
 * Throws a MalformedError that begins with the path of what JSON.parse would change in silence: a doubled member, or a number that
 * would be another when it is written again; and one for containers deeper than {@link MAX_DEPTH}. `text` must be JSON.
 */
export function refuseInexact(text: string): void {
  readValue({ text, at: 0, path: [] })
}

function readValue(scan: Scan): void {
  const first = skipBlanks(scan)
  if (first === OPEN_OBJECT) readObject(scan)
  else if (first === OPEN_ARRAY) readArray(scan)
  else if (first === QUOTE) readQuoted(scan)
  else readWord(scan, first === MINUS || (first >= ZERO && first <= NINE))
}

function readObject(scan: Scan): void {
  const names = new Set<string>()
  if (enter(scan) === CLOSE_OBJECT) scan.at += 1
  else {
    do {
      skipBlanks(scan)
      const name = nameOf(readQuoted(scan))
      scan.path.push(name)
      if (names.has(name)) refuseAt(scan, 'this member is there twice')
      names.add(name)
      skipBlanks(scan)
      scan.at += 1
      readValue(scan)
      scan.path.pop()
    } while (goesOn(scan))
  }
}

function readArray(scan: Scan): void {
  if (enter(scan) === CLOSE_ARRAY) scan.at += 1
  else {
    let index = 0
    do {
      scan.path.push(index)
      readValue(scan)
      scan.path.pop()
      index += 1
    } while (goesOn(scan))
  }
}

/** The first character inside of a container. */
function enter(scan: Scan): number {
  if (scan.path.length === MAX_DEPTH) malformed(`it is nested deeper than ${MAX_DEPTH}`)
  scan.at += 1
  return skipBlanks(scan)
}

/** Whether a comma comes after a member or an element, and not the end of its container. */
function goesOn(scan: Scan): boolean {
  const next = skipBlanks(scan)
  scan.at += 1
  return next === COMMA
}

/** The text between two quotes, as it is written. */
function readQuoted(scan: Scan): string {
  const { text, at } = scan
  let end = text.indexOf('"', at + 1)
  while (isEscaped(text, end)) end = text.indexOf('"', end + 1)
  scan.at = end + 1
  return text.slice(at + 1, end)
}

/** Whether an odd number of backslashes stands before it. */
function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text.charCodeAt(before) === BACKSLASH) before -= 1
  return (at - before) % 2 === 0
}

function nameOf(written: string): string {
  return written.includes('\\') ? (JSON.parse(`"${written}"`) as string) : written
}

/** A number, or true, false, null. */
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

/** Whether the number is the same when it is written again, as `1.0`, `1e2` and `-0` are. */
function isExact(written: string): boolean {
  const value = Number(written)
  if (!Number.isFinite(value)) return false
  if (written.length <= SAFE_DIGITS && !/[eE]/.test(written)) return true
  return decimalOf(written) === decimalOf(String(value))
}

/** Writes equal numbers as equal texts: the digits without zeros around them, and where the point is from the first of them. */
function decimalOf(written: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(written) ?? []
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
  const place = path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`)).join('')
  const shown = place.replace(/^\./, '')
  return malformed(`${shown.length > MAX_PATH ? `${shown.slice(0, MAX_PATH)}...` : shown}: ${why}`)
}
