/** Formats text for a terminal: wrapping, colours, and removal of control characters in text of others. */
import { styleText } from 'node:util'
import { removeControlCharacters } from '../../codec/control-characters.ts'

const WIDTH = 80
const WIDEST_COLUMN = 32

type Style = Parameters<typeof styleText>[0]

/** A stream. Only terminals have `hasColors`, although Node's types always have it. */
interface Output {
  hasColors?(): boolean
}

/**
 * Tests whether to use colours: on a terminal with colours unless NO_COLOR is set, and always if FORCE_COLOR is set to
 * a value other than 0, like Node.
 */
export function hasColours(stream: Output = process.stdout, { NO_COLOR, FORCE_COLOR } = process.env): boolean {
  if (FORCE_COLOR) return FORCE_COLOR !== '0' && FORCE_COLOR !== 'false'
  if (NO_COLOR) return false
  return stream.hasColors?.() ?? false
}

export function paint(style: Style, text: string, stream: Output = process.stdout): string {
  return hasColours(stream) ? styleText(style, text, { validateStream: false }) : text
}

/**
 * Wraps the text to lines of at most `width`, between words. A longer word has a line of its own. The text must be
 * without colours.
 */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/).map(removeControlCharacters)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** Formats the text after `head` with a hanging indent. `head` has `headWidth` visible characters. */
export function hangingIndent(head: string, headWidth: number, text: string): string {
  return head + wrap(text, WIDTH - headWidth).join(`\n${' '.repeat(headWidth)}`)
}

/** Wraps the text to lines that begin with `indent`. */
export function wrapIndented(text: string, indent = ''): string {
  return wrap(text, WIDTH - indent.length)
    .map((line) => indent + line)
    .join('\n')
}

/** Calls {@link removeControlCharacters} for each line. */
export function removeControlCharactersByLine(text: string): string {
  return text.split('\n').map(removeControlCharacters).join('\n')
}

/** Returns the width of a column: that of its longest text, within limits. A longer text moves its own line alone. */
export function columnWidth(texts: readonly string[]): number {
  return Math.min(WIDEST_COLUMN, Math.max(0, ...texts.map(({ length }) => length)))
}

/** Formats two columns. */
export function formatColumns(rows: readonly (readonly [string, string])[], indent = ''): string[] {
  const width = columnWidth(rows.map(([left]) => left))
  return rows.map(([left, right]) => `${indent}${left.padEnd(width)}  ${right}`.trimEnd())
}

/** Formats a time, such as `2027-11-20 09:00 UTC`. */
export function timeText(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
