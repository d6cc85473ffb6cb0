/**
 * Finds misspelt member names. The specifications require unknown members to be ignored, so misspelt ones would be too.
 */
import { isObject, type Json } from '../codec/json.ts'
import { nearestName } from '../codec/misspelling.ts'
import { refuse } from './error.ts'

/** The maximum number of members of an object that is searched; larger objects are not written by people. */
const MAX_MEMBERS = 200

/**
 * Returns a sentence, which begins with the path, for each member of `object` whose name is probably a misspelling of
 * one of `validNames`.
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
    // If the correct member is present too, the similar one is an extension.
    if (nearest !== undefined && !Object.hasOwn(object, nearest))
      yield `${at}.${name}: is unknown; did you mean ${nearest}?`
  }
}

/** Refuses with `invalid_request` an object with a misspelt member. */
export function refuseMisspeltMember(object: Json | undefined, validNames: readonly string[], at: string): void {
  const [mistake] = findMisspeltMembers(object, validNames, at)
  if (mistake !== undefined) refuse('invalid_request', mistake)
}
