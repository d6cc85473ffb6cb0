import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { TIMES } from '../../test/support/seeds.ts'
import { fromBase64url, toBase64url } from './base64url.ts'
import { MalformedError } from './malformed.ts'

describe('base64url', () => {
  it.each([
    ['', ''],
    ['f', 'Zg'],
    ['fo', 'Zm8'],
    ['foo', 'Zm9v'],
    ['foob', 'Zm9vYg'],
    ['fooba', 'Zm9vYmE'],
    ['foobar', 'Zm9vYmFy'],
    ['\u00fb\u00ff\u00fe', 'w7vDv8O-'],
  ])('of %j is %j (RFC 4648 section 10)', (text, encoded) => {
    expect(toBase64url(text)).toBe(encoded)
    expect(fromBase64url(encoded).toString()).toBe(text)
  })

  it('gives any bytes back', () => {
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        const text = toBase64url(bytes)
        expect(text).toMatch(/^[\w-]*$/)
        expect(new Uint8Array(fromBase64url(text))).toEqual(bytes)
      }),
    )
  })

  it('has one text for one sequence of bytes, whatever else decodes to them', () => {
    const text = fc.string({ unit: fc.constantFrom(...Array.from('ABab01-_+/= \n')), maxLength: 9 })
    fc.assert(
      fc.property(text, (encoded) => {
        try {
          expect(toBase64url(fromBase64url(encoded))).toBe(encoded)
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedError)
        }
      }),
      { numRuns: 500 * TIMES },
    )
  })

  it.each([
    ['one character', 'Z'],
    ['five characters', 'Zm9vY'],
    ['padding', 'Zg=='],
    ['padding that is one too few', 'Zg='],
    ['the alphabet of base64', 'w7vDv8O+'],
    ['a slash', 'Zm9/'],
    ['left-over bits, two characters', 'Zh'],
    ['left-over bits, three characters', 'Zm9'],
    ['white space', 'Zm9v\n'],
    ['a blank inside', 'Zm 9v'],
    ['a letter of another script', 'Zm9ñ'],
    ['a NUL', 'Zm9\0'],
  ])('is not %s', (_, text) => {
    expect(() => fromBase64url(text)).toThrow(MalformedError)
  })
})
