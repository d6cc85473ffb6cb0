import { describe, expect, it } from 'vitest'
import { partOfLimit } from '../../test/support/processor-time.ts'
import { untrustedText } from './untrusted-text.ts'

describe('an untrusted text', () => {
  it('is escaped and shortened to 200 characters', () => {
    expect(untrustedText('a\n\u202e')).toBe('a\\0a\\e2\\80\\ae')
    expect(untrustedText('x'.repeat(200))).toBe('x'.repeat(200))
    expect(untrustedText('x'.repeat(201))).toBe(`${'x'.repeat(200)}…`)
  })

  it('does not end in half of a surrogate pair', () => {
    expect(untrustedText(`${'x'.repeat(199)}\u{1f600}y`)).toBe(`${'x'.repeat(199)}…`)
  })

  it('costs what is shown of it, and not what was sent', async () => {
    const text = '\u200b'.repeat(5_000_000)
    expect(untrustedText(text).length).toBe(201)
    expect(await partOfLimit(40, () => untrustedText(text))).toBeLessThan(1)
  })
})
