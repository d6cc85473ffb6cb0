import { describe, expect, it } from 'vitest'
import { chooseDisplay } from './display-language.ts'

describe('of displays', () => {
  it.each<[string, readonly (string | undefined)[], readonly string[], number]>([
    ['the one of the language is chosen', ['en', 'de'], ['de'], 1],
    ['the one of the region comes before that of the language', ['de', 'de-AT'], ['de-AT'], 1],
    ['the one of the language stands in for that of a region', ['en', 'de'], ['de-AT'], 1],
    ['the one of another region is better than another language', ['en-GB', 'de-DE'], ['de-AT', 'en'], 1],
    ['the one of a region is for whoever wants the language', ['en-GB', 'de-DE'], ['de'], 1],
    ['the most wanted language comes first', ['en', 'da', 'fr'], ['fr', 'da'], 2],
    ['letters may be large or small', ['en', 'DE-at'], ['De-AT'], 1],
    ['a letter goes with what it introduces', ['en', 'zh-Hant-CN'], ['zh-Hant-CN-x-private1'], 1],
    ['the script counts', ['zh-Hans', 'zh-Hant'], ['zh-Hant-TW'], 1],
    ['the first is chosen where no language fits', ['en', 'de'], ['it', 'x'], 0],
    ['the first is chosen where no language is wanted', ['de', 'en'], [], 0],
    ['the first is chosen for any language', ['de', 'en'], ['*'], 0],
    ['those without a language are chosen when they come first', [undefined, 'de'], ['fr'], 0],
    ['those without a language do not stand in the way', [undefined, 'de'], ['de'], 1],
    ['the first of a language is chosen', ['de-DE', 'de-CH'], ['de'], 0],
  ])('%s', (_, locales, languages, index) => {
    const displays = locales.map((locale, name) => ({ name, locale }))
    expect(chooseDisplay(displays, languages)?.name).toBe(index)
  })

  it('none is chosen where there is none', () => {
    expect(chooseDisplay<{ readonly locale?: string }>([], ['de'])).toBeUndefined()
  })
})
