/** QR codes for a terminal: two modules to a character, so that a link fits on the screen. ISO/IEC 18004. */
import encodeQR from 'qr'

/** Light modules around the code. The standard has four; two are enough on a screen and save lines. */
const BORDER = 2
/** The characters by the upper and the lower module. */
const BLOCKS = [
  [' ', '▄'],
  ['▀', '█'],
] as const
/** The colours: those of every terminal first, then the same of the 256 that no theme changes. */
const BLACK_ON_WHITE = '\u001b[30;107m\u001b[38;5;16;48;5;231m'
const RESET = '\u001b[0m'

/**
 * Formats a code as lines of text: dark on light in every terminal with colours, also under NO_COLOR, because a camera
 * cannot read inverted codes. Without colours the code is drawn in light, which is right on a dark background.
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
  // The member is absent when stdout is not a terminal, although the types have it.
  const { stdout } = process as { stdout: { isTTY?: boolean } }
  return stdout.isTTY === true && process.env.TERM !== 'dumb'
}

function characterOf(upper: boolean, lower: boolean): string {
  return BLOCKS[upper ? 1 : 0][lower ? 1 : 0]
}
