/** What a presentation would show of a credential, and what it keeps. OpenID4VP 1.0, Selecting Claims; RFC 9901. */
import type { Json } from '../codec/json.ts'
import type { Place } from '../codec/sd-jwt.ts'
import { isWithin } from '../protocol/claim-path.ts'
import type { CredentialQuery } from '../protocol/dcql.ts'
import { type ClaimAnswer, type ClaimsAnswer, chosenClaims } from '../protocol/dcql-match.ts'
import type { StoredCredential } from './stored-credential.ts'

interface DisclosedClaim {
  readonly place: Place
  readonly value: Json
  /**
   * The verifier asked for it; or the issuer did not let it be hidden at all (`always`), or not while what was asked for
   * is shown (`inseparable`).
   */
  readonly because: 'asked' | 'always' | 'inseparable'
}

export interface Disclosure {
  /** What the format is told to show. */
  readonly places: readonly Place[]
  /** Every single value that the verifier will see. */
  readonly disclosed: readonly DisclosedClaim[]
  /** Every single value that it will not. */
  readonly hidden: readonly Place[]
}

/** The least that answers the query: `answer` is what the credential has for it. */
export function disclosureFor(query: CredentialQuery, answer: ClaimsAnswer, stored: StoredCredential): Disclosure {
  const { hidable } = stored
  const places = [...answer.disclose, ...elementsBefore(chosenClaims(query, answer), hidable)]
  const shown = new Set(hidable.filter((place) => places.some((wanted) => isShownFor(place, wanted))))
  const disclosed: DisclosedClaim[] = []
  const hidden: Place[] = []
  for (const { place, value } of leavesOf(stored.claims, [])) {
    const covers = hidable.filter((cover) => isWithin(place, cover))
    if (covers.some((cover) => !shown.has(cover))) hidden.push(place)
    else disclosed.push({ place, value, because: reasonFor(place, answer.disclose, covers.length === 0) })
  }
  return { places, disclosed, hidden }
}

/** Every single value in the tree, and empty objects and arrays. */
export function leavesOf(value: Json, place: Place): readonly { readonly place: Place; readonly value: Json }[] {
  if (typeof value !== 'object' || value === null) return [{ place, value }]
  const members: [string | number, Json][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  if (members.length === 0) return [{ place, value }]
  return members.flatMap(([name, member]) => leavesOf(member, [...place, name]))
}

/** What the formats do: a claim is shown with all that lies below it, and with all that it lies in. */
function isShownFor(place: Place, wanted: Place): boolean {
  return isWithin(place, wanted) || isWithin(wanted, place)
}

/**
 * Elements that stay hidden vanish, and those after them move up: where a path names an element by its number, the hidable
 * ones before it have to be shown, or the verifier would find another one there. A null in a path needs no such thing.
 */
function elementsBefore(claims: readonly ClaimAnswer[], hidable: readonly Place[]): readonly Place[] {
  const canHide = new Set(hidable.map((place) => JSON.stringify(place)))
  const elements = claims.flatMap(({ path, matching }) =>
    matching.flatMap((place) =>
      place.flatMap((step, at) =>
        typeof path[at] === 'number'
          ? Array.from({ length: Number(step) }, (_, index): Place => [...place.slice(0, at), index])
          : [],
      ),
    ),
  )
  // The element itself and nothing that is hidden inside it: no claim can have this name, so nothing lies below it.
  return elements.filter((element) => canHide.has(JSON.stringify(element))).map((element) => [...element, '...'])
}

function reasonFor(place: Place, asked: readonly Place[], canNotBeHidden: boolean): DisclosedClaim['because'] {
  if (asked.some((path) => isWithin(place, path))) return 'asked'
  return canNotBeHidden ? 'always' : 'inseparable'
}
