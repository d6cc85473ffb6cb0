import { describe, expect, it } from 'vitest'
import { removeControlCharacters } from '../../codec/control-characters.ts'
import { hangingIndent, hasColours, removeControlCharactersByLine, wrap, wrapIndented } from './terminal.ts'

describe('wrapped text', () => {
  it('is broken between words, of which a long one stands alone', () => {
    expect(wrap('one two\nthree fourteen', 7)).toEqual(['one two', 'three', 'fourteen'])
  })

  it('has nothing in it that steers the terminal', () => {
    const evil = 'red \u001b[31m \u202edlrow\u0007'
    expect(hangingIndent('- ', 2, evil)).toBe('- red \ufffd[31m \ufffddlrow\ufffd')
    expect(wrapIndented(evil, ' ')).toBe(' red \ufffd[31m \ufffddlrow\ufffd')
    for (const mark of ['\u061c', '\u200e', '\u200f']) expect(removeControlCharacters(`a${mark}b`)).toBe('ab')
    for (const turn of ['\u202b', '\u2067', '\u206a']) expect(removeControlCharacters(turn)).toBe('\ufffd')
    expect(removeControlCharactersByLine('one\n\u001b[2Jtwo')).toBe('one\n\ufffd[2Jtwo')
  })
})

describe('colours', () => {
  const terminal = { hasColors: () => true }
  const pipe = {}

  it.each([
    ['a terminal', terminal, {}, true],
    ['a pipe', pipe, {}, false],
    ['a terminal with NO_COLOR', terminal, { NO_COLOR: '1' }, false],
    ['a terminal with an empty NO_COLOR', terminal, { NO_COLOR: '' }, true],
    ['a pipe with FORCE_COLOR', pipe, { FORCE_COLOR: '1' }, true],
    ['a terminal with FORCE_COLOR=0', terminal, { FORCE_COLOR: '0' }, false],
    ['a pipe with both', pipe, { NO_COLOR: '1', FORCE_COLOR: '1' }, true],
  ])('of %s', (_, stream, variables, expected) => {
    expect(hasColours(stream, variables)).toBe(expected)
  })
})
