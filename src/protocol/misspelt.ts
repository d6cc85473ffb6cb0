/** Members that are nearly known ones. Unknown members are ignored as the specifications want it; a misspelt one would be too, silently. */
import { isObject, type Json } from '../codec/json.ts'
import { nearestName } from '../codec/misspelling.ts'
import { refuse } from './error.ts'

/** The most members of an object that a person may have typed; one with more was written by a program. */
const MOST_MEMBERS = 200

/** A sentence for each member of `object` that is probably meant to be one of `known`, beginning with its path. */
export function* misspeltMembers(
  object: Json | undefined,
  known: readonly string[],
  at: string,
): Generator<string, void> {
  if (!isObject(object)) return
  const names = Object.keys(object)
  if (names.length > MOST_MEMBERS) return
  for (const name of names) {
    const nearest = nearestName(name, known)
    // Beside the right one it is an extension of somebody's own.
    if (nearest !== undefined && !Object.hasOwn(object, nearest))
      yield `${at}.${name}: is unknown; did you mean ${nearest}?`
  }
}

/** Refuses with `invalid_request` an object with such a member. */
export function refuseMisspelt(object: Json | undefined, known: readonly string[], at: string): void {
  const [misspelt] = misspeltMembers(object, known, at)
  if (misspelt !== undefined) refuse('invalid_request', misspelt)
}
