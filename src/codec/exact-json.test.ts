import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { partOfLimit } from '../../test/support/processor-time.ts'
import { TIMES } from '../../test/support/seeds.ts'
import { parseJson, refuseUnlessIJson } from './json.ts'
import { MalformedError } from './malformed.ts'

/** Reads a decimal number independently: mantissa and exponent of ten, by integers alone. */
function decimal(text: string): readonly [bigint, bigint] {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return [BigInt(whole + fraction), BigInt(exponent) - BigInt(fraction.length)]
}

function isSameNumber(one: string, other: string): boolean {
  const [a, atA] = decimal(one)
  const [b, atB] = decimal(other)
  const [shift = 0n] = [atA, atB].sort((left, right) => Number(left - right))
  if (a === 0n || b === 0n) return a === b
  return a * 10n ** (atA - shift) === b * 10n ** (atB - shift)
}

describe('a JSON text whose value says the same', () => {
  it('is whatever was written by JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 2), (value, space) => {
        expect(parseJson(JSON.stringify(value, undefined, space))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it.each(['{"a":1,"A":2}', '[{"a":1},{"a":2}]', '{"a":{"a":{"a":1}},"b":{"a":1}}', '{"a\\"":1,"a\\\\":2,"a":3}'])(
    'has names that are only alike: %s',
    (text) => expect(parseJson(text)).toEqual(JSON.parse(text)),
  )

  it.each(['{"a":"\\"a\\":1,\\"a\\":2"}', '["{\\"a\\":12345678901234567890}"]', '"1e400"', '{"1e400":1}'])(
    'has no members and numbers inside its texts: %s',
    (text) => expect(parseJson(text)).toEqual(JSON.parse(text)),
  )
})

describe('half of a character', () => {
  it.each([
    ['["\\ud83d"]', /^\[0\]: this text has half of a character/],
    ['{"a":{"b":"x\\uDE00"}}', /^a\.b: /],
    ['{"a":"\\ude00\\ud83d"}', /^a: /],
    ['{"a":"\\\\\\ud83d"}', /^a: /],
    ['{"a":{"\\ud83d":1}}', /^a: this text/],
    ['"\ud83d"', /^this text/],
  ])('is refused with its path: %s', (text, why) => {
    expect(() => parseJson(text)).toThrow(MalformedError)
    expect(() => parseJson(text)).toThrow(why)
  })

  it.each(['"\\ud83d\\ude00"', '"\\\\ud83d"', '{"\\uD83D\\uDE00":"\\u00e9"}', '"😀"'])('is not in %s', (text) =>
    expect(parseJson(text)).toEqual(JSON.parse(text)),
  )
})

describe('a member that stands there twice', () => {
  it.each([
    ['{"a":1,"a":1}', /^a: this member is there twice/],
    ['{"a":1,"\\u0061":2}', /^a: /],
    ['{"a":{},"b":[0,{"c":[{"d":1,"d":2}]}]}', /^b\[1\]\.c\[0\]\.d: /],
    ['{"a":"\\\\","a":""}', /^a: /],
    ['{"":1,"":2}', /twice/],
    ['{"__proto__":1,"__proto__":2}', /^__proto__: /],
    ['{ "a" :1 ,\n\t"a"\r\n: 2}', /^a: /],
    [`{"a":1,"b":${'{"c":'.repeat(30)}{"d":1,"d":2}${'}'.repeat(30)},"e":1}`, /d: this member/],
  ])('is refused with its path: %s', (text, why) => {
    expect(() => parseJson(text)).toThrow(MalformedError)
    expect(() => parseJson(text)).toThrow(why)
  })

  it('is found wherever it is put', () => {
    const objects = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ maxDepth: 2 }), { minKeys: 1 })
    fc.assert(
      fc.property(objects, fc.nat(), fc.nat({ max: 20 }), (object, which, depth) => {
        const members = Object.entries(object).map(
          ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
        )
        const text = `{${[...members, members[which % members.length]].join(',')}}`
        expect(() => parseJson(`${'[0,'.repeat(depth)}${text}${']'.repeat(depth)}`)).toThrow(/twice/)
      }),
    )
  })

  it('is told with a path that is no longer than a line', () => {
    const name = JSON.stringify('n'.repeat(100_000))
    expect(() => parseJson(`{${name}:1,${name}:2}`)).toThrow(/^n{200}\.\.\.: this member is there twice$/)
  })
})

describe('a number', () => {
  it.each(['0', '-0', '0.0', '1.0', '1.50', '1e2', '1E+2', '100e-2', '0e999', '5e-324', '1e300', '9007199254740992'])(
    'keeps its value: %s',
    (text) => expect(parseJson(text)).toBe(Number(text)),
  )

  // Such are the times of Apple's JSONSerialization, and PHP's fractions: 17 digits name one binary number.
  it.each([0.1, 8.34, 1_753_862_400.123_456, -2.5e-7, Math.PI])('may have 17 digits: %d', (value) => {
    const text = value.toPrecision(17)
    expect(text).not.toBe(String(value))
    expect(parseJson(`{"iat":${text}}`)).toEqual({ iat: value })
    expect(() => parseJson(`{"iat":${text.replace(/(?=e|$)/, '1')}}`)).toThrow(/loses digits/)
  })

  it.each([
    '90071992547409936',
    '9007199254740993',
    '12345678901234567890',
    '1e400',
    '-1e400',
    '1e-400',
    '0.1000000000000000001',
  ])('would be another: %s', (number) => {
    expect(() => parseJson(`{"a":[1,{"b":${number}}]}`)).toThrow(/^a\[1\]\.b: this number loses digits/)
    expect(() => parseJson(number)).toThrow(/^this number loses digits/)
    expect(() => parseJson(`[ ${number} ]`)).toThrow(/^\[0\]: /)
  })

  it('is taken exactly when its value, written again in the fewest or in 17 digits, is the same number', () => {
    const digits = fc.stringMatching(/^\d{1,22}$/)
    const whole = digits.map((text) => text.replace(/^0+(?=\d)/, ''))
    const number = fc
      .tuple(fc.constantFrom('', '-'), whole, fc.option(digits), fc.option(fc.integer({ min: -350, max: 350 })))
      .map(([sign, before, after, exponent]) => {
        return `${sign}${before}${after === null ? '' : `.${after}`}${exponent === null ? '' : `e${exponent}`}`
      })
    const isTaken = (text: string): boolean => {
      try {
        refuseUnlessIJson(text)
        return true
      } catch {
        return false
      }
    }
    fc.assert(
      fc.property(number, (text) => {
        const value = Number(text)
        const isSame =
          Number.isFinite(value) &&
          (isSameNumber(text, String(value)) || (!Number.isInteger(value) && isSameNumber(text, value.toPrecision(17))))
        expect([text, isTaken(text)]).toEqual([text, isSame])
      }),
      { numRuns: 500 * TIMES },
    )
  })
})

it('takes a time that grows with the text, whatever is in it', async () => {
  const size = 500_000
  const texts = [
    `"${'\\\\'.repeat(size / 2)}"`,
    `"${'\\"'.repeat(size / 2)}"`,
    `[1${'0'.repeat(size)}e-${size}]`,
    `[0.${'0'.repeat(size)}1]`,
    `${' '.repeat(size)}1${' '.repeat(size)}`,
    `[${'1e2,'.repeat(size / 4)}1]`,
    `{${Array.from({ length: size / 10 }, (_, at) => `"${at}":0`).join(',')}}`,
  ]
  for (const text of texts) {
    const attempt = (): void => {
      try {
        refuseUnlessIJson(text)
      } catch (error) {
        expect(error).toBeInstanceOf(MalformedError)
      }
    }
    // Quadratic behaviour would take minutes.
    expect(await partOfLimit(1000, attempt)).toBeLessThan(1)
  }
})
