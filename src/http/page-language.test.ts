import { describe, expect, it } from 'vitest'
import { readPageReader } from './page-language.ts'

it.each([
  [undefined, 'en'],
  ['', 'en'],
  ['*', 'en'],
  ['da', 'da'],
  ['de-AT,de;q=0.9,en;q=0.8', 'de'],
  ['FR-ca', 'fr'],
  ['it, es ; q=0.5, en;q=0.4', 'es'],
  ['en;q=0.5, fr', 'fr'],
  ['de;q=0, fr;q=0.1', 'fr'],
  ['de;q=x;;, ,=', 'de'],
  ['it-IT,pt', 'en'],
  ['constructor', 'en'],
] as const)('a browser that wants %j gets pages in %s', (acceptLanguage, language) => {
  expect(readPageReader(acceptLanguage).language).toBe(language)
})

describe('the languages of a reader', () => {
  it.each([
    [undefined, ['en']],
    ['en;q=0.5, it-CH, de;q=0.7, fr;q=0', ['it-ch', 'de', 'en', 'de']],
    ['pt', ['pt', 'en']],
  ])('who wants %j are those, and that of the page', (acceptLanguage, languages) => {
    expect(readPageReader(acceptLanguage).languages).toEqual(languages)
  })

  it('are few and short, however many a browser names', () => {
    const { languages } = readPageReader([...Array.from({ length: 5000 }, () => 'a'), 'b'.repeat(36)].join())
    expect(languages).toEqual([...Array.from({ length: 20 }, () => 'a'), 'en'])
  })
})
