/** Text for a terminal: lines of one width, and colours where they are wanted. */
import { styleText } from 'node:util'

export const WIDTH = 80

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

/** The text in lines of at most `width`, broken between words; a longer word stands alone. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(/\s+/)) {
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
