/**
 * Texts for people at a terminal: wrapped lines, colours when they are wanted, and no control characters from other
 * parties.
 */
import { styleText } from 'node:util'

export const WIDTH = 80
const WIDEST_COLUMN = 32

type Style = Parameters<typeof styleText>[0]

/** A stream, which has the method only when it is a terminal, although the types of Node have it always. */
interface Output {
  hasColors?(): boolean
}

/**
 * Tests whether a stream gets colours: a terminal that has them, unless NO_COLOR is set, and any stream where
 * FORCE_COLOR is set to something else than 0, whatever NO_COLOR is, as Node does it.
 */
export function hasColours(stream: Output = process.stdout, { NO_COLOR, FORCE_COLOR } = process.env): boolean {
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  if (NO_COLOR) return false
  return stream.hasColors?.() ?? false
}

export function paint(style: Style, text: string, stream: Output = process.stdout): string {
  return hasColours(stream) ? styleText(style, text, { validateStream: false }) : text
}

/** Wraps the text to lines of at most `width`, between words; a longer word stands alone. Each word is plain. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/).map(removeControlCharacters)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** Formats the text after `head` with a hanging indent. `head` is `headWidth` characters wide without colours. */
export function hangingIndent(head: string, headWidth: number, text: string): string {
  return head + wrap(text, WIDTH - headWidth).join(`\n${' '.repeat(headWidth)}`)
}

/** Wraps the text to lines that begin with `indent`. */
export function wrapIndented(text: string, indent = ''): string {
  return wrap(text, WIDTH - indent.length)
    .map((line) => indent + line)
    .join('\n')
}

/** Removes from `text` what moves the cursor, changes colours or turns the direction of writing. */
export function removeControlCharacters(text: string): string {
  return text.replace(/[\p{Cc}\u061c\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u206f]/gu, '\ufffd')
}

/** Makes each line of `text` {@link removeControlCharacters}. */
export function removeControlCharactersByLine(text: string): string {
  return text.split('\n').map(removeControlCharacters).join('\n')
}

/** Formats two columns; the first is as wide as its widest text, within limits. */
export function formatColumns(rows: readonly (readonly [string, string])[], indent = ''): string[] {
  const width = Math.min(WIDEST_COLUMN, Math.max(0, ...rows.map(([left]) => left.length)))
  return rows.map(([left, right]) => `${indent}${left.padEnd(width)}  ${right}`.trimEnd())
}

/** Formats a time, such as `2027-11-20 09:00 UTC`. */
export function timeText(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
