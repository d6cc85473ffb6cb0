/** Text for people at a terminal: colours where there is one, and nothing in it that a stranger could steer it with. */

type Colour = (text: string) => string

export interface Paint {
  readonly bold: Colour
  readonly dim: Colour
  readonly green: Colour
  readonly yellow: Colour
  readonly red: Colour
}

const ESCAPE = '\u001b['
const WIDEST_COLUMN = 32

/** Colours for `stream`, or none: when it is no terminal, or `NO_COLOR` is set (https://no-color.org). */
export function paintFor(stream: { readonly isTTY?: boolean }, environment: NodeJS.ProcessEnv): Paint {
  const colours = stream.isTTY === true && !environment.NO_COLOR
  const between =
    (on: number, off: number): Colour =>
    (text) =>
      colours ? `${ESCAPE}${on}m${text}${ESCAPE}${off}m` : text
  return {
    bold: between(1, 22),
    dim: between(2, 22),
    green: between(32, 39),
    yellow: between(33, 39),
    red: between(31, 39),
  }
}

/** `text` from somebody else, without what moves the cursor, changes colours or turns the direction of writing. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu, '\ufffd')
}

/** The words of `text` in lines of at most `width` characters, each after `indent`. */
export function wrap(text: string, width: number, indent = ''): string {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && indent.length + line.length + 1 + word.length > width) {
      lines.push(line)
      line = word
    } else {
      line = line === '' ? word : `${line} ${word}`
    }
  }
  return [...lines, line].map((each) => indent + each).join('\n')
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
