import { describe, expect, it } from 'vitest'
import { textsOf } from './texts.ts'

const LANGUAGES = ['en', 'de', 'fr', 'es', 'da']

describe('the texts', () => {
  it.each([
    ['de', 'de'],
    ['de-AT', 'de'],
    ['FR', 'fr'],
    ['it', 'en'],
    ['', 'en'],
    ['constructor', 'en'],
  ])('for "%s" are in "%s"', (tag, language) => {
    expect(textsOf(tag).language).toBe(language)
  })

  it('say something else in each language', () => {
    const all = LANGUAGES.map((language) => Object.values(textsOf(language).texts).map((text) => JSON.stringify(text)))
    const [first = []] = all
    for (const [index] of first.entries()) expect(new Set(all.map((texts) => texts[index])).size).toBe(5)
  })

  it.each(['fr', 'es', 'da'])('in "%s" have the own word of the language for a wallet', (language) => {
    expect(JSON.stringify(textsOf(language).texts)).not.toMatch(/wallet/i)
  })

  it('in French have no space that a line may end at before a sign of two parts', () => {
    expect(JSON.stringify(textsOf('fr').texts)).not.toMatch(/ [:;?!]/)
  })

  it.each(LANGUAGES)('in "%s" have a place for the remaining time', (language) => {
    expect(textsOf(language).texts.left).toContain('0:00')
  })
})
