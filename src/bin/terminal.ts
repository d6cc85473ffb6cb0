/** Text for people at a terminal: lines of one width, colours where they are wanted, and nothing that a stranger could steer it with. */
import { styleText } from 'node:util'

export const WIDTH = 80
const WIDEST_COLUMN = 32

type Style = Parameters<typeof styleText>[0]

/** Whether stdout is a terminal that shows colours, and neither NO_COLOR nor its kind says otherwise. */
export function hasColours(): boolean {
  // The method is absent where stdout is no terminal, whatever the types say.
  const { stdout } = process as { stdout: { hasColors?: () => boolean } }
  return stdout.hasColors?.() ?? false
}

export function paint(style: Style, text: string): string {
  return hasColours() ? styleText(style, text, { validateStream: false }) : text
}

/** The text in lines of at most `width`, broken between words; a longer word stands alone. Each word is plain. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/).map(plain)) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}

/** The text after `head`, its further lines below its first. `head` is `headWidth` characters wide without colours. */
export function hanging(head: string, headWidth: number, text: string): string {
  return head + wrap(text, WIDTH - headWidth).join(`\n${' '.repeat(headWidth)}`)
}

/** The text in lines after `indent`. */
export function indented(text: string, indent = ''): string {
  return wrap(text, WIDTH - indent.length)
    .map((line) => indent + line)
    .join('\n')
}

/** `text` from somebody else, without what moves the cursor, changes colours or turns the direction of writing. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\u061c\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u206f]/gu, '\ufffd')
}

/** `text` line by line, each {@link plain}. */
export function plainLines(text: string): string {
  return text.split('\n').map(plain).join('\n')
}

/** Two columns, the first as wide as its widest text within reason. */
export function columns(rows: readonly (readonly [string, string])[], indent = ''): string[] {
  const width = Math.min(WIDEST_COLUMN, Math.max(0, ...rows.map(([left]) => left.length)))
  return rows.map(([left, right]) => `${indent}${left.padEnd(width)}  ${right}`.trimEnd())
}

/** 2027-11-20 09:00 UTC */
export function timeText(time: Date): string {
  return `${time.toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
