/** The languages of the pages for people, which are those of the element (`sdk/element/texts.ts`). */

const PAGE_LANGUAGES = ['en', 'de', 'fr', 'es', 'da'] as const
export type PageLanguage = (typeof PAGE_LANGUAGES)[number]

/** Returns the language of pages that a browser wants most; English when it wants none. RFC 9110 section 12.5.4. */
export function choosePageLanguage(acceptLanguage = ''): PageLanguage {
  const wishes = acceptLanguage
    .toLowerCase()
    .split(',')
    .map(readWish)
    .filter(({ weight }) => weight > 0)
    .toSorted((one, other) => other.weight - one.weight)
  return wishes.find(({ language }) => language !== undefined)?.language ?? 'en'
}

/** Reads a language range, such as `de-at;q=0.8`, as the language of pages and its weight. */
function readWish(range: string) {
  const [tag = '', ...parameters] = range.split(';').map((part) => part.trim())
  const [quality = '1'] = parameters.flatMap((each) => /^q=([\d.]+)$/.exec(each)?.[1] ?? [])
  const [primary] = tag.split('-', 1)
  return { language: PAGE_LANGUAGES.find((each) => each === primary), weight: Number(quality) }
}
