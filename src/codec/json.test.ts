import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isObject,
  type JsonObject,
  MAX_NESTING,
  memberOf,
  parseJson,
  parseJsonObject,
  setMember,
  stringMemberOf,
} from './json.ts'
import { MalformedError } from './malformed.ts'

const arrays = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
const objects = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`

describe('JSON from outside', () => {
  it('is what JSON.parse makes of it', () => {
    const same = (text: string) => {
      expect(parseJson(text)).toEqual(JSON.parse(text))
    }
    fc.assert(fc.property(fc.json({ maxDepth: 5 }), same))
  })

  it.each(['', ' ', 'undefined', '{', "{'a':1}", '{"a":1,}', '01', 'NaN', '"\n"', '{}{}', '\ufeff{}', '// x\n1'])(
    'is not %j',
    (text) => expect(() => parseJson(text)).toThrow(MalformedError),
  )

  it('may be as deep as 32, and no deeper', () => {
    for (const nested of [arrays, objects]) {
      expect(JSON.stringify(parseJson(nested(MAX_NESTING)))).toBe(nested(MAX_NESTING))
      expect(() => parseJson(nested(MAX_NESTING + 1))).toThrow(/nested deeper than 32/)
    }
    expect(() => parseJson(`{"a":[1,{"b":${arrays(MAX_NESTING)}}]}`)).toThrow(MalformedError)
  })

  it('is malformed, and nothing worse, when it is as deep as its text is long', () => {
    expect(() => parseJson(arrays(500_000))).toThrow(MalformedError)
    expect(() => parseJson('['.repeat(500_000))).toThrow(MalformedError)
  })

  it('may be wide', () => {
    expect(parseJson(`[${'[],'.repeat(10_000)}[]]`)).toHaveLength(10_001)
  })

  it.each(['[]', 'null', '"{}"', '1', 'true'])('is not an object when it is %s', (text) =>
    expect(() => parseJsonObject(text)).toThrow('it is not a JSON object'),
  )
})

describe('a member of an object from outside', () => {
  const polluted = parseJsonObject(
    '{"__proto__":{"admin":true},"constructor":"mine","text":"t","number":1,"none":null}',
  )

  it('is one of its own', () => {
    expect(memberOf(polluted, 'text')).toBe('t')
    expect(memberOf(polluted, 'none')).toBe(null)
    expect(memberOf(polluted, '__proto__')).toEqual({ admin: true })
    expect(memberOf(polluted, 'constructor')).toBe('mine')
    expect((polluted as Record<string, unknown>).admin).toBe(undefined)
  })

  it('is never inherited', () => {
    for (const name of ['toString', 'hasOwnProperty', 'valueOf', 'isPrototypeOf'])
      expect(memberOf(polluted, name)).toBe(undefined)
    expect(memberOf({}, '__proto__')).toBe(undefined)
    expect(memberOf({}, 'constructor')).toBe(undefined)
    expect(memberOf(Object.create({ text: 'inherited' }) as JsonObject, 'text')).toBe(undefined)
  })

  it('is set as one of its own, whatever its name', () => {
    const object: JsonObject = {}
    for (const name of ['a', '__proto__', 'constructor']) setMember(object, name, { admin: true })
    expect(JSON.stringify(object)).toBe('{"a":{"admin":true},"__proto__":{"admin":true},"constructor":{"admin":true}}')
    expect((object as Record<string, unknown>).admin).toBe(undefined)
  })

  it('is a text only when it is one', () => {
    expect(stringMemberOf(polluted, 'text')).toBe('t')
    for (const name of ['number', 'none', '__proto__', 'missing', 'toString'])
      expect(stringMemberOf(polluted, name)).toBe(undefined)
  })

  it('is asked only of objects', () => {
    expect([{}, [], null, 'x', 1, undefined, () => 1].map(isObject)).toEqual([true, ...Array<boolean>(6).fill(false)])
  })
})
