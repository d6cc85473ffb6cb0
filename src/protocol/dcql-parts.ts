/** What a DCQL query is made of everywhere: lists, texts and booleans, and the mistakes in them. */
import { type Json, type JsonObject, own } from '../codec/json.ts'

/** Sentences that begin with the path of what is wrong. */
export type Mistakes = Generator<string, void, undefined>
type Find = (value: Json | undefined, at: string) => Mistakes

export const MAX_ELEMENTS = 100
const MAX_CHARACTERS = 1024

export function* inList(list: Json | undefined, at: string, inElement: Find, most = MAX_ELEMENTS): Mistakes {
  if (!Array.isArray(list) || list.length === 0) return yield `${at}: must be a non-empty array`
  if (list.length > most) return yield `${at}: has ${list.length} elements; ${most} are allowed`
  for (const [i, element] of list.entries()) yield* inElement(element, `${at}[${i}]`)
}

export function* inText(text: Json | undefined, at: string): Mistakes {
  if (typeof text !== 'string' || text === '') yield `${at}: must be a non-empty string`
  else yield* inLength(text, at)
}

export function* inBoolean(object: JsonObject, name: string, at: string): Mistakes {
  const value = own(object, name)
  if (value !== undefined && typeof value !== 'boolean') yield `${at}.${name}: must be true or false`
}

export function* inLength(text: string, at: string): Mistakes {
  if (text.length > MAX_CHARACTERS) yield `${at}: has ${text.length} characters; ${MAX_CHARACTERS} are allowed`
}
