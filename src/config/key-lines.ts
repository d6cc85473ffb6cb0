/**
 * Files of random keys: 32 bytes in base64 or base64url on each line. Empty lines and lines that begin with `#` are
 * ignored.
 */
import { type Files, unreadableReason } from './files.ts'
import { pathForMessages } from './path-for-messages.ts'

export interface KeyFile {
  /** The setting with the path of the file, for messages. */
  readonly setting: string
  readonly path: string
  /** The words that a line may have instead of a key. */
  readonly words?: readonly string[]
}

/** A key, or a word in place of one. */
export type KeyLine = Uint8Array | string

export type ReadKeyLines =
  | { readonly lines: readonly [KeyLine, ...KeyLine[]] }
  | { readonly mistakes: readonly string[] }

const KEY_BYTES = 32
/** The minimum number of different bytes. 32 random bytes very rarely have fewer than 24. */
const MIN_DIFFERENT_BYTES = 16
const KEY_ADVICE = 'make one with: openssl rand -base64 32'
const NOT_A_KEY = `it must be ${KEY_BYTES} bytes in base64 or base64url; ${KEY_ADVICE}`
/** The maximum number of line numbers in a message. */
const NAMED_LINES = 3

/** Reads the keys of a file, or returns the mistakes, which have line numbers but no content. */
export function readKeyLines({ setting, path, words = [] }: KeyFile, files: Pick<Files, 'read'>): ReadKeyLines {
  let text: string
  try {
    text = files.read(path)
  } catch (error) {
    const why = unreadableReason(error)
    // If the file exists but cannot be read, the message does not suggest a new key, which could not decrypt existing
    // data.
    const advice = (error as NodeJS.ErrnoException).code === 'ENOENT' ? `; ${KEY_ADVICE}` : ''
    return { mistakes: [`${setting}: ${why}: ${pathForMessages(path)}${advice}`] }
  }
  const numberedLines = text.split(/\r?\n/).map((line, index) => ({ text: line.trim(), number: index + 1 }))
  const keyLines = numberedLines.filter((line) => line.text !== '' && !line.text.startsWith('#'))
  const lines = keyLines.map((line) => (words.includes(line.text) ? line.text : Buffer.from(line.text, 'base64url')))
  const [first, ...others] = lines
  if (first === undefined) return { mistakes: [`${setting}: ${path} has no key; ${KEY_ADVICE}`] }
  const lineNumbersByProblem = new Map<string, number[]>()
  for (const [index, { text: line, number }] of keyLines.entries()) {
    const problem = lineProblem(line, lines, index)
    if (problem === undefined) continue
    const numbers = lineNumbersByProblem.get(problem) ?? []
    numbers.push(number)
    lineNumbersByProblem.set(problem, numbers)
  }
  if (keyLines.length > 1 && lineNumbersByProblem.get(NOT_A_KEY)?.length === keyLines.length) {
    const rule = `a line of it is ${KEY_BYTES} bytes in base64 or base64url`
    return { mistakes: [`${setting}: ${path} is another kind of file: ${rule}; name another, or ${KEY_ADVICE}`] }
  }
  const mistakes = [...lineNumbersByProblem].map(
    ([problem, numbers]) => `${setting}: ${path}, ${linesText(numbers)}: ${problem}`,
  )
  return mistakes.length > 0 ? { mistakes } : { lines: [first, ...others] }
}

/** Lists line numbers, at most {@link NAMED_LINES}. */
function linesText(numbers: readonly number[]): string {
  const omittedCount = numbers.length - NAMED_LINES
  const texts = omittedCount > 1 ? [...numbers.slice(0, NAMED_LINES), `${omittedCount} more`] : numbers.map(String)
  const last = texts.at(-1) ?? ''
  return texts.length < 2 ? `line ${last}` : `lines ${texts.slice(0, -1).join(', ')} and ${last}`
}

function lineProblem(text: string, lines: readonly (Buffer | string)[], index: number): string | undefined {
  const value = lines[index]
  const linesBefore = lines.slice(0, index)
  if (typeof value === 'string') return linesBefore.includes(value) ? `${value} stands there twice` : undefined
  // Only complete base64 or base64url is accepted, since the decoder ignores other characters.
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text) || value?.length !== KEY_BYTES) {
    return NOT_A_KEY
  }
  if (new Set(value).size < MIN_DIFFERENT_BYTES || value.every((byte) => byte >= 0x20 && byte < 0x7f)) {
    return `it is not random; ${KEY_ADVICE}`
  }
  const isRepeated = linesBefore.some((each) => typeof each !== 'string' && each.equals(value))
  return isRepeated ? 'the same key stands there twice' : undefined
}
