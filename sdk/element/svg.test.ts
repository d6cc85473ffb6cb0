import encodeQR from 'qr'
import { expect, it } from 'vitest'
import { encodeModules } from './svg.ts'

it('draws the modules that the QR package does, for every length of a link', () => {
  for (let length = 1; length <= 2000; length += length < 300 ? 1 : 37) {
    const link = `haip-vp://?request_uri=https%3A%2F%2F${'a-B.9_'.repeat(400)}`.slice(0, length)
    expect(encodeModules(link)).toEqual(
      encodeQR(link, 'raw', { ecc: 'low', encoding: 'byte', border: 1 })
        .slice(1, -1)
        .map((row) => row.slice(1, -1)),
    )
  }
})
