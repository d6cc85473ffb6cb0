/** QR codes for a terminal, with two modules per character. ISO/IEC 18004. */
import encodeQR from 'qr'

/** The width of the quiet zone. The standard requires 4; 2 are enough on a screen. */
const BORDER = 2
/** The characters for the upper and the lower module. */
const BLOCKS = [
  [' ', '▄'],
  ['▀', '█'],
] as const
/** Sets the colours: first the standard ones, then those of the 256-colour palette, which themes do not change. */
const BLACK_ON_WHITE = '\u001b[30;107m\u001b[38;5;16;48;5;231m'
const RESET = '\u001b[0m'

/**
 * Formats a QR code as lines of text: dark on light in terminals with colours, even with NO_COLOR, since cameras cannot
 * read inverted codes. Without colours, light modules are drawn, which is right on a dark background.
 */
export function qrLines(text: string, hasColours = isColourTerminal()): string[] {
  const dark = encodeQR(text, 'raw', { ecc: 'low', border: BORDER })
  const lines: string[] = []
  for (let row = 0; row < dark.length; row += 2) {
    const upper = dark[row] ?? []
    const lower = dark[row + 1] ?? []
    const line = upper
      .map((isDark, column) => characterOf(isDark === hasColours, (lower[column] ?? false) === hasColours))
      .join('')
    lines.push(hasColours ? `${BLACK_ON_WHITE}${line}${RESET}` : line)
  }
  return lines
}

function isColourTerminal(): boolean {
  // `isTTY` is absent if stdout is not a terminal.
  const { stdout } = process as { stdout: { isTTY?: boolean } }
  return stdout.isTTY === true && process.env.TERM !== 'dumb'
}

function characterOf(upper: boolean, lower: boolean): string {
  return BLOCKS[upper ? 1 : 0][lower ? 1 : 0]
}
