import * as Type from 'typebox'
import { describe, expect, it, test } from 'vitest'
import { compileSchema, describeMistakes, dropAbsentMembers } from './json-schema.ts'

const Place = Type.Object({ host: Type.String(), port: Type.Optional(Type.Integer()) }, { additionalProperties: false })
const Settings = Type.Object(
  {
    name: Type.String(),
    place: Type.Optional(Place),
    places: Type.Optional(Type.Array(Place)),
    kind: Type.Optional(Type.Union([Type.Literal('file'), Place])),
    limits: Type.Optional(Type.Object({ bytes: Type.Optional(Type.Integer({ minimum: 1 })) })),
  },
  { additionalProperties: false },
)

const mistakesOf = (schema: object, value: unknown): string[] => {
  const validate = compileSchema(schema, { all: true })
  return validate(value) ? [] : describeMistakes(validate.errors ?? [])
}

test.each([
  [{ name: 'a' }, []],
  [{ name: 'a', place: { host: 'b', port: 1 }, places: [{ host: 'c' }], kind: 'file', limits: { bytes: 1 } }, []],
  [{}, ['name: required']],
  [{ name: 1, limits: { bytes: 0 } }, ['limits.bytes: must be at least 1', 'name: must be a string']],
  [{ name: 'a', plase: {} }, ['plase: unknown setting or field; did you mean place?']],
  [
    { name: 'a', place: { hots: 'b' } },
    ['place.host: required', 'place.hots: unknown setting or field; did you mean host?'],
  ],
  [
    { name: 'a', places: [{ host: 'b' }, { port: '1' }] },
    ['places[1].host: required', 'places[1].port: must be an integer; write it without quotation marks'],
  ],
  [{ name: 'a', limits: { bytes: 'many' } }, ['limits.bytes: must be an integer']],
  [{ name: 'a', kind: { host: 1 } }, ['kind.host: must be a string']],
  [{ name: 'a', place: 'b', limits: null }, ['limits: must be an object', 'place: must be an object']],
  ['a', ['the body: must be an object']],
] as const)('a schema without the rules for absent members finds the same mistakes in %j', (value, mistakes) => {
  expect(mistakesOf(dropAbsentMembers(Settings, value), value).sort()).toEqual(mistakes)
  expect(mistakesOf(Settings, value).sort()).toEqual(mistakes)
})

test('a schema without the rules for absent members keeps their names and loses their rules', () => {
  expect(dropAbsentMembers(Settings, { name: 'a', place: {} }).properties).toMatchObject({
    name: { type: 'string' },
    place: { properties: { host: {}, port: {} }, required: ['host'] },
    places: {},
  })
  expect(dropAbsentMembers(Settings, { name: 'a' }).properties.place).toEqual({})
})

test.each([
  [{ type: 'boolean' }, 1, 'must be true or false'],
  [{ type: ['string', 'null'] }, 1, 'must be a string or null'],
  [{ maximum: 65_535 }, 65_536, 'must be at most 65535'],
  [{ exclusiveMinimum: 0 }, 0, 'must be more than 0'],
  [{ minLength: 1 }, '', 'must not be empty'],
  [{ maxLength: 2 }, 'abc', 'must have at most 2 characters'],
  [{ minItems: 2 }, [1], 'must have at least 2 entries'],
  [{ uniqueItems: true }, [1, 1], 'must not have an entry twice'],
  [{ maxProperties: 1 }, { a: 1, b: 2 }, 'must have at most 1 members'],
  [{ pattern: '^a$' }, 'b', 'must match pattern "^a$"'],
])('the rule %j is told in words', (rule, value, words) => {
  expect(mistakesOf(rule, value)).toEqual([`the body: ${words}`])
})

test('a required member that is misspelt is named where unknown members are ignored', () => {
  const schema = {
    ...{ type: 'object', required: ['query_id'] },
    properties: { query_id: { type: 'string' }, query_ids: { type: 'array' } },
  }
  expect(mistakesOf(schema, { queryid: 'a' })).toEqual(['query_id: required; is queryid misspelt?'])
  expect(mistakesOf(schema, { query_ids: [], other: 1 })).toEqual(['query_id: required'])
})

test('a required member that is misspelt is named once where unknown members are refused', () => {
  const validate = compileSchema(Place, { all: false })
  expect(validate({ hots: 'b' })).toBe(false)
  expect(describeMistakes(validate.errors ?? [])).toEqual(['host: required; is hots misspelt?'])
  expect(mistakesOf(Place, { hots: 'b' })).toEqual([
    'host: required',
    'hots: unknown setting or field; did you mean host?',
  ])
})

test('a member whose name one object beside it knows is said to belong there', () => {
  const places = { properties: { a: {} } }
  const schema = { properties: { places, other: { properties: { b: {} } } }, additionalProperties: false }
  expect(mistakesOf(schema, { a: 1 })).toEqual(['a: unknown setting or field; does it belong in places?'])
  const ambiguous = { properties: { places, other: places }, additionalProperties: false }
  expect(mistakesOf(ambiguous, { a: 1 })).toEqual(['a: unknown setting or field'])
})

test('a schema is compiled once, apart for the first mistake and for all', () => {
  expect(compileSchema(Place, { all: true })).toBe(compileSchema(Place, { all: true }))
  expect(compileSchema(Place, { all: false })).not.toBe(compileSchema(Place, { all: true }))
})

const member = (name: string, schema: object) => ({ type: 'object', properties: { [name]: schema } })

describe('a mistake in what a JSON Schema describes', () => {
  it.each<[string, object, unknown, readonly string[]]>([
    ['of the whole', { type: 'object' }, 7, ['the body: must be an object']],
    ['of a member', member('a', { type: 'string' }), { a: 7 }, ['a: must be a string']],
    [
      'of a member of a member',
      member('a', member('b', { type: 'string' })),
      { a: { b: 7 } },
      ['a.b: must be a string'],
    ],
    ['of an element', member('a', { items: { type: 'string' } }), { a: ['x', 7] }, ['a[1]: must be a string']],
    ['of an element of the whole', { items: { type: 'string' } }, [7], ['[0]: must be a string']],
    [
      'of a member of an element',
      { items: { properties: { a: { type: 'string' } } } },
      [{ a: 7 }],
      ['[0].a: must be a string'],
    ],
    ['of a name with a digit', member('a1', { type: 'string' }), { a1: 7 }, ['a1: must be a string']],
    ['of a name that begins with a digit', member('1a', { type: 'string' }), { '1a': 7 }, ['1a: must be a string']],
    ['of a name with / and ~', member('a/b~c', { type: 'string' }), { 'a/b~c': 7 }, ['a/b~c: must be a string']],
    ['that it is missing', { required: ['a'] }, {}, ['a: required']],
    ['that it is missing below', member('a', { required: ['b'] }), { a: {} }, ['a.b: required']],
    ['that nobody knows it', { additionalProperties: false }, { x: 1 }, ['x: unknown setting or field']],
    [
      'that nobody knows it below',
      member('a', { additionalProperties: false }),
      { a: { x: 1 } },
      ['a.x: unknown setting or field'],
    ],
    [
      'that it is nearly another',
      { properties: { port: {} }, additionalProperties: false },
      { prot: 1 },
      ['prot: unknown setting or field; did you mean port?'],
    ],
    ['of a constant', member('a', { const: 'x' }), { a: 7 }, ['a: must be "x"']],
    ['of an enumeration', member('a', { enum: ['x', 'y'] }), { a: 7 }, ['a: must be one of x, y']],
  ])('is told with its path: %s', (_, schema, value, expected) => {
    expect(mistakesOf(schema, value)).toEqual(expected)
  })

  it('is told once, and each of several', () => {
    const schema = { required: ['a', 'b'], allOf: [{ required: ['a'] }] }
    expect([...mistakesOf(schema, {})].sort()).toEqual(['a: required', 'b: required'])
  })

  it('without words of the schema is not valid all the same', () => {
    const error = { keyword: 'x', instancePath: '/a', schemaPath: '', params: {} }
    expect(describeMistakes([error])).toEqual(['a: is not valid'])
  })
})

describe('a mistake in a value of several allowed forms', () => {
  const forms = [{ const: 'all' }, { const: 'none' }, { type: 'array', items: { type: 'string' } }]

  it('names the forms when it has none of them, each once', () => {
    expect(mistakesOf(member('a', { anyOf: forms }), { a: 7 })).toEqual(['a: must be "all" or "none" or an array'])
    const twice = [{ type: 'string', minLength: 1 }, { type: 'string' }]
    expect(mistakesOf(member('a', { anyOf: twice }), { a: 7 })).toEqual(['a: must be a string'])
  })

  it('names no form whose type the value has', () => {
    const form = { anyOf: [{ type: 'string', pattern: '^a' }, { type: 'array' }] }
    expect(mistakesOf(form, 'b')).toEqual([': must be an array'])
  })

  it.each([-1, 1.5, true])('names the lowest number of a form: %s', (value) => {
    const step = [{ type: 'string' }, { type: 'integer', minimum: 0 }, { type: 'null' }]
    expect(mistakesOf({ items: { anyOf: step } }, ['a', value])).toEqual([
      '[1]: must be a string or an integer of at least 0 or null',
    ])
  })

  it('names no form that is one by something else', () => {
    const odd = [{ type: 'string' }, { minimum: 8 }]
    expect(mistakesOf(member('a', { anyOf: odd }), { a: 7 })).toEqual(['a: must be a string'])
  })

  it('is the one inside where a form was met', () => {
    expect(mistakesOf(member('a', { anyOf: forms }), { a: [7] })).toEqual(['a[0]: must be a string'])
  })

  it('is told beside those of other members, also of one whose name begins alike', () => {
    const schema = { properties: { a: { anyOf: forms }, ab: { type: 'string' } } }
    expect([...mistakesOf(schema, { a: 7, ab: 7 })].sort()).toEqual([
      'a: must be "all" or "none" or an array',
      'ab: must be a string',
    ])
  })
})
