import { expect, it } from 'vitest'
import { choosePageLanguage } from './page-language.ts'

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
  expect(choosePageLanguage(acceptLanguage)).toBe(language)
})
