/**
 * Finds misspelt members: the specifications want unknown members ignored, and a misspelt member would be ignored too.
 */
import { isObject, type Json } from '../codec/json.ts'
import { nearestName } from '../codec/misspelling.ts'
import { refuse } from './error.ts'

/** The most members of an object that a person may have typed; larger objects are written by programs. */
const MAX_MEMBERS = 200

/**
 * Returns a sentence, which begins with the path, for each member of `object` that is probably meant to be one of
 * `validNames`.
 */
export function* findMisspeltMembers(
  object: Json | undefined,
  validNames: readonly string[],
  at: string,
): Generator<string, void> {
  if (!isObject(object)) return
  const names = Object.keys(object)
  if (names.length > MAX_MEMBERS) return
  for (const name of names) {
    const nearest = nearestName(name, validNames)
    // Beside the correct member, a similar one is an extension.
    if (nearest !== undefined && !Object.hasOwn(object, nearest))
      yield `${at}.${name}: is unknown; did you mean ${nearest}?`
  }
}

/** Refuses an object with a misspelt member with `invalid_request`. */
export function refuseMisspeltMember(object: Json | undefined, validNames: readonly string[], at: string): void {
  const [mistake] = findMisspeltMembers(object, validNames, at)
  if (mistake !== undefined) refuse('invalid_request', mistake)
}
