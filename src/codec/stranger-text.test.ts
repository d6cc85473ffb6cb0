import { describe, expect, it } from 'vitest'
import { partOfLimit } from '../../test/support/processor-time.ts'
import { strangerText } from './stranger-text.ts'

describe('the text of a stranger', () => {
  it('is escaped and shortened to 200 characters', () => {
    expect(strangerText('a\n\u202e')).toBe('a\\0a\\e2\\80\\ae')
    expect(strangerText('x'.repeat(200))).toBe('x'.repeat(200))
    expect(strangerText('x'.repeat(201))).toBe(`${'x'.repeat(200)}…`)
  })

  it('does not end in half of a surrogate pair', () => {
    expect(strangerText(`${'x'.repeat(199)}\u{1f600}y`)).toBe(`${'x'.repeat(199)}…`)
  })

  it('costs what is shown of it, and not what was sent', async () => {
    const text = '\u200b'.repeat(5_000_000)
    expect(strangerText(text).length).toBe(201)
    expect(await partOfLimit(40, () => strangerText(text))).toBeLessThan(1)
  })
})
