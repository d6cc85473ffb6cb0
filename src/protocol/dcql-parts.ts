/** Finds the mistakes in the parts of a DCQL query: lists, texts and booleans. */
import { type Json, type JsonObject, memberOf } from '../codec/json.ts'

/** Mistakes as sentences, each of which begins with the path of the mistake. */
export type Mistakes = Generator<string, void, undefined>
type FindMistakes = (value: Json | undefined, at: string) => Mistakes

/** The maximum number of elements of a list in a query. */
export const MAX_LIST_ELEMENTS = 100
/** The form of the ids of credential queries and claims. OpenID4VP 1.0, Credential Query. */
export const ID_PATTERN = '^[A-Za-z0-9_-]+$'
const MAX_CHARACTERS = 1024

/**
 * Returns the mistakes in what must be a non-empty array of at most `most` elements, with those that
 * `findElementMistakes` finds in each element.
 */
export function* findListMistakes(
  list: Json | undefined,
  at: string,
  findElementMistakes: FindMistakes,
  most = MAX_LIST_ELEMENTS,
): Mistakes {
  if (!Array.isArray(list) || list.length === 0) return yield `${at}: must be a non-empty array`
  if (list.length > most) return yield `${at}: has ${list.length} elements; ${most} are allowed`
  for (const [i, element] of list.entries()) yield* findElementMistakes(element, `${at}[${i}]`)
}

/** Returns the mistakes in what must be a non-empty text of limited length. */
export function* findTextMistakes(text: Json | undefined, at: string): Mistakes {
  if (typeof text !== 'string' || text === '') yield `${at}: must be a non-empty string`
  else yield* findLengthMistakes(text, at)
}

/** Returns the mistake in a member that must be a boolean or absent. */
export function* findBooleanMistakes(object: JsonObject, name: string, at: string): Mistakes {
  const value = memberOf(object, name)
  if (value !== undefined && typeof value !== 'boolean') yield `${at}.${name}: must be true or false`
}

/** Returns the mistake in the length of a text. */
export function* findLengthMistakes(text: string, at: string): Mistakes {
  if (text.length > MAX_CHARACTERS) yield `${at}: has ${text.length} characters; ${MAX_CHARACTERS} are allowed`
}
