/** What a presentation would show of a credential, and what it keeps. OpenID4VP 1.0, Selecting Claims; RFC 9901. */
import type { Json } from '../codec/json.ts'
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import { isWithin } from '../protocol/claim-path.ts'
import type { CredentialQuery } from '../protocol/dcql.ts'
import { type ClaimAnswer, type ClaimsAnswer, chosenClaims } from '../protocol/dcql-match.ts'
import type { StoredCredential } from './stored-credential.ts'

interface DisclosedClaim {
  readonly position: ClaimPosition
  readonly value: Json
  /**
   * The verifier asked for it; or the issuer did not let it be hidden at all (`always`), or not while what was asked for
   * is shown (`inseparable`).
   */
  readonly because: 'asked' | 'always' | 'inseparable'
}

export interface Disclosure {
  /** What the format is told to show. */
  readonly positions: readonly ClaimPosition[]
  /** Every single value that the verifier will see. */
  readonly disclosed: readonly DisclosedClaim[]
  /** Every single value that it will not. */
  readonly hidden: readonly ClaimPosition[]
}

/** The least that answers the query: `answer` is what the credential has for it. */
export function disclosureFor(query: CredentialQuery, answer: ClaimsAnswer, stored: StoredCredential): Disclosure {
  const { hidable } = stored
  const positions = [...answer.disclose, ...elementsBefore(chosenClaims(query, answer), hidable)]
  const shown = new Set(hidable.filter((position) => positions.some((wanted) => isShownFor(position, wanted))))
  const disclosed: DisclosedClaim[] = []
  const hidden: ClaimPosition[] = []
  for (const { position, value } of leavesOf(stored.claims, [])) {
    const covers = hidable.filter((cover) => isWithin(position, cover))
    if (covers.some((cover) => !shown.has(cover))) hidden.push(position)
    else disclosed.push({ position, value, because: reasonFor(position, answer.disclose, covers.length === 0) })
  }
  return { positions, disclosed, hidden }
}

/** Every single value in the tree, and empty objects and arrays. */
export function leavesOf(
  value: Json,
  position: ClaimPosition,
): readonly { readonly position: ClaimPosition; readonly value: Json }[] {
  if (typeof value !== 'object' || value === null) return [{ position, value }]
  const members: [string | number, Json][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  if (members.length === 0) return [{ position, value }]
  return members.flatMap(([name, member]) => leavesOf(member, [...position, name]))
}

/** What the formats do: a claim is shown with all that lies below it, and with all that it lies in. */
function isShownFor(position: ClaimPosition, wanted: ClaimPosition): boolean {
  return isWithin(position, wanted) || isWithin(wanted, position)
}

/**
 * Elements that stay hidden vanish, and those after them move up: where a path names an element by its number, the hidable
 * ones before it have to be shown, or the verifier would find another one there. A null in a path needs no such thing.
 */
function elementsBefore(claims: readonly ClaimAnswer[], hidable: readonly ClaimPosition[]): readonly ClaimPosition[] {
  const canHide = new Set(hidable.map((position) => JSON.stringify(position)))
  const elements = claims.flatMap(({ path, matching }) =>
    matching.flatMap((position) =>
      position.flatMap((step, at) =>
        typeof path[at] === 'number'
          ? Array.from({ length: Number(step) }, (_, index): ClaimPosition => [...position.slice(0, at), index])
          : [],
      ),
    ),
  )
  // The element itself and nothing that is hidden inside it: no claim can have this name, so nothing lies below it.
  return elements.filter((element) => canHide.has(JSON.stringify(element))).map((element) => [...element, '...'])
}

function reasonFor(
  position: ClaimPosition,
  asked: readonly ClaimPosition[],
  canNotBeHidden: boolean,
): DisclosedClaim['because'] {
  if (asked.some((path) => isWithin(position, path))) return 'asked'
  return canNotBeHidden ? 'always' : 'inseparable'
}
