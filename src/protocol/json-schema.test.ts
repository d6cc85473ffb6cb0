import * as Type from 'typebox'
import { expect, test } from 'vitest'
import { compileSchema, dropAbsentMembers } from './json-schema.ts'
import { describeMistakes } from './mistakes.ts'

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
  [{ name: 1, limits: { bytes: 0 } }, ['limits.bytes: must be >= 1', 'name: must be string']],
  [{ name: 'a', plase: {} }, ['plase: unknown setting or field; did you mean place?']],
  [
    { name: 'a', place: { hots: 'b' } },
    ['place.host: required', 'place.hots: unknown setting or field; did you mean host?'],
  ],
  [
    { name: 'a', places: [{ host: 'b' }, { port: '1' }] },
    ['places[1].host: required', 'places[1].port: must be integer'],
  ],
  [{ name: 'a', kind: { host: 1 } }, ['kind.host: must be string']],
  [{ name: 'a', place: 'b', limits: null }, ['limits: must be object', 'place: must be object']],
  ['a', ['the body: must be object']],
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

test('a schema is compiled once, apart for the first mistake and for all', () => {
  expect(compileSchema(Place, { all: true })).toBe(compileSchema(Place, { all: true }))
  expect(compileSchema(Place, { all: false })).not.toBe(compileSchema(Place, { all: true }))
})
