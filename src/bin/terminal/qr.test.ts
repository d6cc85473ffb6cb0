import decodeQR from 'qr/decode.js'
import { describe, expect, it } from 'vitest'
import { qrLines } from './qr.ts'

const link = `haip-vci://?credential_offer_uri=${encodeURIComponent(`http://192.168.1.17:8079/offer/${'aB3_'.repeat(8)}`)}`
const PIXELS = 4

/** Returns what a camera would see of the lines: half blocks are drawn, the rest is background. */
function picture(lines: readonly string[], drawnIsDark: boolean): { width: number; height: number; data: Uint8Array } {
  const rows = lines.flatMap((line) => [
    Array.from(line, (character) => '▀█'.includes(character)),
    Array.from(line, (character) => '▄█'.includes(character)),
  ])
  const width = (rows[0]?.length ?? 0) * PIXELS
  const data = rows.flatMap((row) =>
    Array.from({ length: PIXELS }, () =>
      row.flatMap((drawn) =>
        Array.from({ length: PIXELS }, () => (drawn === drawnIsDark ? [0, 0, 0] : [255, 255, 255])),
      ),
    ).flat(2),
  )
  return { width, height: rows.length * PIXELS, data: Uint8Array.from(data) }
}

describe('a QR code in the terminal', () => {
  it('is drawn in light on a dark background without colours', () => {
    const lines = qrLines(link, false)
    expect(decodeQR(picture(lines, false))).toBe(link)
    expect(lines.join('')).toMatch(/^[ ▀▄█]+$/)
  })

  it('says its colours where it can: dark on light, whatever the terminal has', () => {
    const [colours, end] = ['\u001b[30;107m\u001b[38;5;16;48;5;231m', '\u001b[0m']
    const bare = qrLines(link, true).map((line) => {
      expect(line.startsWith(colours) && line.endsWith(end)).toBe(true)
      return line.slice(colours.length, -end.length)
    })
    expect(decodeQR(picture(bare, true))).toBe(link)
  })

  it('fits beside a page of text', () => {
    const lines = qrLines(link, false)
    expect(lines.length).toBeLessThan(32)
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(64)
  })
})
