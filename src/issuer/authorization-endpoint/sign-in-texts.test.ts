/** The texts of all pages for people by language, those of refusals among them. */
import { describe, expect, it } from 'vitest'
import { PAGE_LANGUAGES, type PageLanguage } from '../../http/page-language.ts'
import { REFUSAL_TEXTS } from '../../http/refusal-texts.ts'
import { SIGN_IN_TEXTS } from './sign-in-texts.ts'

/** Returns the texts of a language, with letters in the place of the values. */
function textsOf(language: PageLanguage): readonly string[] {
  return [SIGN_IN_TEXTS[language], REFUSAL_TEXTS[language]].flatMap((texts) =>
    Object.values<string | ((...values: string[]) => string)>({ ...texts }).map((text) => {
      return typeof text === 'string' ? text : text('X', 'Y')
    }),
  )
}

describe('the texts of the pages', () => {
  it('say something else in each language', () => {
    const all = PAGE_LANGUAGES.map(textsOf)
    for (const [index] of textsOf('en').entries()) {
      expect(new Set(all.map((texts) => texts[index])).size).toBe(PAGE_LANGUAGES.length)
    }
  })

  it.each(['fr', 'es', 'da'] as const)('in "%s" have the own word of the language for a wallet', (language) => {
    expect(textsOf(language).join()).not.toMatch(/wallet/i)
  })

  it('in French have no space that a line may end at before a sign of two parts', () => {
    expect(textsOf('fr').join()).not.toMatch(/ [:;?!]/)
  })
})
