/** The changes of a source, and what is left alone. */
import { expect, it } from 'vitest'
import { mutantsOf } from './mutants.ts'

const mutated = (source: string): string[] =>
  mutantsOf(source).map(({ start, end, text }) => source.slice(0, start) + text + source.slice(end))

it.each([
  ['if (a) b()', ['if (true) b()', 'if (false) b()', 'if (a) ;']],
  ['x = a && b', [';', 'x = a || b', 'x = a', 'x = b']],
  ['x = a === 1', [';', 'x = a !== 1', 'x = a === (1 + 1)']],
  ['x = a < b', [';', 'x = a <= b', 'x = a >= b']],
  ['x = a ?? b', [';', 'x = a', 'x = b']],
  ["x = ['a', 'b']", [';', "x = ['b']", "x = ['a']", "x = ['', 'b']", "x = ['a', '']"]],
  ['x = { a, b: true }', [';', 'x = { b: true }', 'x = { a }', 'x = { a, b: false }']],
  ['x = /^a$/', [';', 'x = /a$/', 'x = /^a/']],
  ['x = (a) => !a', [';', 'x = (a) => undefined', 'x = (a) => a']],
  [
    'function f() { return a?.some(b) }',
    [
      'function f() {}',
      'function f() { return undefined }',
      'function f() { return a?.every(b) }',
      'function f() { return a.some(b) }',
    ],
  ],
])('every small thing in %s', (source, expected) => {
  expect(mutated(source).sort()).toEqual([...expected].sort())
})

it.each([
  "import { a } from 'b'",
  'type A = 1 | true',
  "const a = 'a sentence for people'",
  "export { a } from 'b'",
  "f({ description: 'name' })",
])('nothing in %s', (source) => {
  expect(mutated(source)).toEqual(source.startsWith('f') ? [';'] : [])
})
