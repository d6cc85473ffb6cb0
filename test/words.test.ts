/** Tests the rules for words that `build/words.js` holds in `npm run check`. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { faultsOf, homonymsOf } from '../build/words.js'

const rulesOf = (text: string): readonly string[] =>
  faultsOf('src/codec/text.ts', text).map(({ rule, line }) => `${rule} ${line}`)

describe('a comment', () => {
  it.each([
    ['/** It has changed. */\nconst a = 1', ['comments 1']],
    ['/**\n * Whoever asks waits.\n */\nconst a = 1', ['comments 2']],
    ['interface A {\n  /** Of 32 bytes. */\n  b: string\n}', ['comments 2']],
    ['const a = 1 // That is one.', ['comments 1']],
    ['function f() {\n  // As RFC 9110 has it.\n}', ['comments 2']],
  ])('that begins with a word without its noun is a fault: %j', (text, rules) => {
    expect(rulesOf(text)).toEqual(rules)
  })

  it.each([
    '/** Invalidates the cached value. */\nconst a = 1',
    '// A second line of a comment is not a beginning:\n// that is what this one shows.\nconst a = 1',
    '/** One-time codes. */\nconst a = 1',
    "const a = '// It is a text.'",
    'const a = `/** What is in a template. */`',
    'const a = /\\/\\/ Those/',
  ])('that does not is none: %j', (text) => {
    expect(rulesOf(text)).toEqual([])
  })

  it('has lines of at most 120 columns; code is the formatter’s', () => {
    const letters = 'a'.repeat(117)
    expect(rulesOf(`// ${letters}\nconst a = '${letters}'\n// b ${letters}`)).toEqual(['width 3'])
  })
})

describe('the doc comment of a function', () => {
  it.each([
    ['/** The port. */\nfunction f() {}', ['verbs 1']],
    ['/**\n * `count` numbers.\n */\nexport function f() {}', ['verbs 2']],
    ['/** RFC 9110 section 5. */\nasync function f() {}', ['verbs 1']],
    ['/** Bytes in hexadecimal. */\nfunction f() {}', ['verbs 1']],
    ['/** Whether it is free. */\nfunction f() {}', ['verbs 1']],
    ['function f() {\n  /** A number. */\n  function g() {}\n}', ['verbs 2']],
  ])('that begins with no verb in the present tense is a fault: %j', (text, rules) => {
    expect(rulesOf(text)).toEqual(rules)
  })

  it.each([
    '/** Returns a port that is free. */\nfunction f() {}',
    '/** Tests whether a port is free. */\nexport async function f() {}',
    '/** Receives, checks and stores. */\nfunction f() {}',
    'function f() {}',
    '/** The port. */\nconst a = 1',
    'interface A {\n  /** The port. */\n  a(): number\n}',
    '/** The beginning of a file. */\n/** Returns a port. */\nfunction f() {}',
  ])('that does is none, and no comment of anything else: %j', (text) => {
    expect(rulesOf(text)).toEqual([])
  })
})

describe('a local or a parameter', () => {
  it.each([
    ['const found = 1', ['locals 1']],
    ['function f(asked: string) {}', ['locals 1']],
    ['const f = ({ a: known }: A) => 1', ['locals 1']],
    ['const [, made] = []', ['locals 1']],
    ['for (const given of []) {}', ['locals 1']],
  ])('that says what was done to its value is a fault: %j', (text, rules) => {
    expect(rulesOf(text)).toEqual(rules)
  })

  it.each(['const a = { found: 1 }', 'const session = known()', 'interface A { made: string }'])(
    'is not a member or function: %j',
    (text) => {
      expect(rulesOf(text)).toEqual([])
    },
  )
})

describe('a function', () => {
  it.each(['function shown() {}', 'export function flushed(path: string) {}', 'async function sent() {}'])(
    'that is called after what was done to its result is a fault: %j',
    (text) => {
      expect(rulesOf(text)).toEqual(['functions 1'])
    },
  )

  it.each(['function show() {}', 'function embed() {}', 'function signedBytes() {}'])('may be a verb: %j', (text) => {
    expect(rulesOf(text)).toEqual([])
  })

  it('of a component keeps its name, since the bytes of the component have it', () => {
    expect(faultsOf('components/hello/component.ts', 'function echoed() {}')).toEqual([])
  })
})

describe('a type', () => {
  it.each(['interface Kept {}', 'export type Published = string', 'class Watched {}'])(
    'that is called after what was done to its value is a fault: %j',
    (text) => {
      expect(rulesOf(text)).toEqual(['types 1'])
    },
  )

  it.each(['interface KeptList {}', 'type Feed = string'])('may be a noun: %j', (text) => {
    expect(rulesOf(text)).toEqual([])
  })
})

describe('a message or a comment', () => {
  it.each([
    "fail('the text is no number')",
    '/** Makes what is no map a map. */\nconst a = 1',
    'const a = "the keys are no pair"',
  ])('that says that something is no other thing is a fault: %j', (text) => {
    expect(rulesOf(text)).toEqual(['negations 1'])
  })

  it.each(["fail('there is no key')", "fail('it is no longer open')", "fail('the text is not a number')"])(
    'may say what is missing or over: %j',
    (text) => {
      expect(rulesOf(text)).toEqual([])
    },
  )
})

describe('an exported name', () => {
  const homonyms = (texts: Readonly<Record<string, string>>): readonly string[] =>
    homonymsOf(new Map(Object.entries(texts))).map(({ path, line, text }) => `${path}:${line} ${text.split(' ')[0]}`)

  it('is declared once', () => {
    expect(
      homonyms({
        'src/codec/a.ts': '\nexport interface Answer {}',
        'src/http/b.ts': 'export type Answer = string',
        'src/http/c.ts': 'export const other = 1',
      }),
    ).toEqual(['src/codec/a.ts:2 Answer', 'src/http/b.ts:1 Answer'])
  })

  it.each<[string, Record<string, string>, readonly string[]]>([
    [
      'a re-export with a new name',
      { 'src/a/a.ts': 'export const A = 1', 'src/b/b.ts': "\nexport {\n  B,\n  type C as A,\n} from './c.ts'" },
      ['src/a/a.ts:1 A', 'src/b/b.ts:4 A'],
    ],
    [
      'a member of a format',
      { 'src/credential/x/r.ts': 'export function present() {}', 'src/wallet/y.ts': 'export function present() {}' },
      ['src/credential/x/r.ts:1 present', 'src/wallet/y.ts:1 present'],
    ],
  ])('is not that of %s', (_, texts, places) => {
    expect(homonyms(texts)).toEqual(places)
  })

  it.each<[string, Record<string, string>]>([
    ['a type and a value', { 'src/a/a.ts': 'export const A = 1\nexport type A = typeof A' }],
    ['a re-export', { 'src/a/a.ts': 'export const A = 1', 'src/b/b.ts': "export { A } from '../a/a.ts'" }],
    [
      'formats',
      { 'src/credential/x/r.ts': 'export function read() {}', 'src/credential/y/r.ts': 'export function read() {}' },
    ],
  ])('may repeat for %s', (_, texts) => {
    expect(homonyms(texts)).toEqual([])
  })
})

it('stands in a glossary of at most 40 words, each with a file where it is used', () => {
  const root = join(import.meta.dirname, '..')
  const rows = readFileSync(join(root, 'docs', 'glossary.md'), 'utf8').match(/^\| \*\*.*$/gm) ?? []
  expect(rows.length).toBeGreaterThan(20)
  expect(rows.length).toBeLessThanOrEqual(40)
  const files = rows.map((row) => /`((?:src|sdk)\/\S+\.ts)` \|$/.exec(row)?.[1] ?? row)
  expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
})
