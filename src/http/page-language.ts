/** The languages of the pages for people, which are those of the element (`sdk/element/texts.ts`). */

export const PAGE_LANGUAGES = ['en', 'de', 'fr', 'es', 'da'] as const
export type PageLanguage = (typeof PAGE_LANGUAGES)[number]

/** The language of a page, and the languages that its reader understands, the most wanted first. */
export interface PageReader {
  readonly language: PageLanguage
  /** Language ranges such as `de-at`; the last is the language of the page. */
  readonly languages: readonly string[]
}

/** The maximum number of characters of the header that count. */
const MAX_HEADER = 1000
/** The maximum number of languages that count, and of characters of each (RFC 5646 section 4.4.1). */
const MAX_LANGUAGES = 20
const MAX_TAG = 35

/**
 * Returns the languages that a browser wants, and the one of its pages: that which it wants most, and English when it
 * wants none. RFC 9110 section 12.5.4.
 */
export function readPageReader(acceptLanguage = ''): PageReader {
  const wishes = acceptLanguage
    .slice(0, MAX_HEADER)
    .toLowerCase()
    .split(',')
    .map(readWish)
    .filter(({ tag, weight }) => weight > 0 && tag !== '' && tag.length <= MAX_TAG)
    .toSorted((one, other) => other.weight - one.weight)
    .slice(0, MAX_LANGUAGES)
  const language = wishes.map(({ tag }) => pageLanguageOf(tag)).find((each) => each !== undefined) ?? 'en'
  return { language, languages: [...wishes.map(({ tag }) => tag), language] }
}

/** Reads a language range, such as `de-at;q=0.8`, and its weight. */
function readWish(range: string) {
  const [tag = '', ...parameters] = range.split(';').map((part) => part.trim())
  const [quality = '1'] = parameters.flatMap((each) => /^q=([\d.]+)$/.exec(each)?.[1] ?? [])
  return { tag, weight: Number(quality) }
}

function pageLanguageOf(tag: string): PageLanguage | undefined {
  const [primary] = tag.split('-', 1)
  return PAGE_LANGUAGES.find((each) => each === primary)
}
