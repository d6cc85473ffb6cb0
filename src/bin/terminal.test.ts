import { describe, expect, it } from 'vitest'
import { hanging, indented, plain, plainLines, wrap } from './terminal.ts'

describe('wrapped text', () => {
  it('is broken between words, of which a long one stands alone', () => {
    expect(wrap('one two\nthree fourteen', 7)).toEqual(['one two', 'three', 'fourteen'])
  })

  it('has nothing in it that steers the terminal', () => {
    const evil = 'red \u001b[31m \u202edlrow\u0007'
    expect(hanging('- ', 2, evil)).toBe('- red \ufffd[31m \ufffddlrow\ufffd')
    expect(indented(evil, ' ')).toBe(' red \ufffd[31m \ufffddlrow\ufffd')
    for (const turn of ['\u061c', '\u200f', '\u202b', '\u2067', '\u206a']) expect(plain(turn)).toBe('\ufffd')
    expect(plainLines('one\n\u001b[2Jtwo')).toBe('one\n\ufffd[2Jtwo')
  })
})
