/** The languages of displays, and the choice of one by the languages that a person reads. RFC 4647 section 3.4. */

export interface LocalizedName {
  readonly name: string
  /** The language tag of the name. */
  readonly locale?: string
}

/**
 * Returns the display whose `locale` fits the languages best, and the first display where none fits. `languages` are
 * language ranges such as `de-AT`, the most wanted first.
 */
export function chooseDisplay<Display extends { readonly locale?: string | undefined }>(
  displays: readonly Display[],
  languages: readonly string[],
): Display | undefined {
  const byTag = new Map(displays.toReversed().map((display) => [display.locale?.toLowerCase(), display]))
  for (const language of languages) {
    const display = findByTags(byTag, language.toLowerCase()) ?? findByPrimary(displays, language)
    if (display !== undefined) return display
  }
  return displays[0]
}

/** Finds the display of the range, or of what is left of it when subtags at its end are taken away one by one. */
function findByTags<Display>(byTag: ReadonlyMap<string | undefined, Display>, range: string): Display | undefined {
  const subtags = range.split('-')
  while (subtags.length > 0) {
    const display = byTag.get(subtags.join('-'))
    if (display !== undefined) return display
    subtags.pop()
    // A single letter introduces the subtag that was taken away.
    if (subtags.at(-1)?.length === 1) subtags.pop()
  }
  return undefined
}

/** Finds a display of another region: a person who wants `de` or `de-AT` can read `de-DE`, which a lookup misses. */
function findByPrimary<Display extends { readonly locale?: string | undefined }>(
  displays: readonly Display[],
  range: string,
): Display | undefined {
  const primary = primaryOf(range)
  return displays.find(({ locale }) => locale !== undefined && primaryOf(locale) === primary)
}

function primaryOf(tag: string): string | undefined {
  return tag.toLowerCase().split('-', 1)[0]
}

/** A mistake in one of several names. */
export interface NameProblem {
  /** The index of the name. */
  readonly index: number
  /** The member that is wrong. */
  readonly member: keyof LocalizedName
  readonly why: string
}

/**
 * Finds the first name that is blank, or whose `locale` is not a language tag (BCP 47, RFC 5646) or is that of a name
 * before it.
 */
export function findNameProblem(names: readonly LocalizedName[]): NameProblem | undefined {
  const tags = new Set<string>()
  for (const [index, { name, locale }] of names.entries()) {
    if (name.trim() === '') {
      return { index, member: 'name', why: 'it must not be blank; wallets read no issuer with such a name' }
    }
    if (locale === undefined) continue
    const tag = canonicalTag(locale)
    if (tag === undefined) {
      return { index, member: 'locale', why: 'it is not a language tag of BCP 47; write it like en-GB' }
    }
    if (tags.has(tag)) return { index, member: 'locale', why: 'this language is there already' }
    tags.add(tag)
  }
  return undefined
}

function canonicalTag(tag: string): string | undefined {
  try {
    return Intl.getCanonicalLocales(tag)[0]
  } catch {
    return undefined
  }
}
