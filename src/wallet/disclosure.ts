/**
 * The claims that a presentation would disclose and those that it would hide. OpenID4VP 1.0, Selecting Claims; RFC
 * 9901.
 */
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
   * The reason: the verifier requested the claim (`asked`), the issuer did not make it hidable (`always`), or it cannot
   * be hidden while a requested claim is disclosed (`inseparable`).
   */
  readonly because: 'asked' | 'always' | 'inseparable'
}

export interface Disclosure {
  /** The positions that the format is told to disclose. */
  readonly positions: readonly ClaimPosition[]
  /** Every single value that the verifier will see. */
  readonly disclosed: readonly DisclosedClaim[]
  /** Every single value that the verifier will not see. */
  readonly hidden: readonly ClaimPosition[]
}

/** Returns the smallest disclosure that answers the query; `answer` has the claims of the credential for it. */
export function disclosureFor(query: CredentialQuery, answer: ClaimsAnswer, credential: StoredCredential): Disclosure {
  const { hidable } = credential
  const positions = [...answer.disclose, ...elementsBefore(chosenClaims(query, answer), hidable)]
  const visible = new Set(hidable.filter((position) => positions.some((each) => isDisclosedFor(position, each))))
  const disclosed: DisclosedClaim[] = []
  const hidden: ClaimPosition[] = []
  for (const { position, value } of leavesOf(credential.claims, [])) {
    const covers = hidable.filter((cover) => isWithin(position, cover))
    if (covers.some((cover) => !visible.has(cover))) hidden.push(position)
    else disclosed.push({ position, value, because: reasonFor(position, answer.disclose, covers.length === 0) })
  }
  return { positions, disclosed, hidden }
}

/** Returns every single value in the tree, and empty objects and arrays. */
export function leavesOf(
  value: Json,
  position: ClaimPosition,
): readonly { readonly position: ClaimPosition; readonly value: Json }[] {
  if (typeof value !== 'object' || value === null) return [{ position, value }]
  const members: [string | number, Json][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value)
  if (members.length === 0) return [{ position, value }]
  return members.flatMap(([name, member]) => leavesOf(member, [...position, name]))
}

/**
 * Tests whether a claim is disclosed for `requestedPosition`: the formats disclose a claim with everything below it and
 * everything that contains it.
 */
function isDisclosedFor(position: ClaimPosition, requestedPosition: ClaimPosition): boolean {
  return isWithin(position, requestedPosition) || isWithin(requestedPosition, position)
}

/**
 * Returns the hidable elements before an element that a path names by its number: hidden elements vanish and later ones
 * move up, so the verifier would find another element there. A null in a path needs no such elements.
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
  // The added step discloses the element and nothing inside it: no claim can have this name.
  return elements.filter((element) => canHide.has(JSON.stringify(element))).map((element) => [...element, '...'])
}

function reasonFor(
  position: ClaimPosition,
  requestedPositions: readonly ClaimPosition[],
  canNotBeHidden: boolean,
): DisclosedClaim['because'] {
  if (requestedPositions.some((path) => isWithin(position, path))) return 'asked'
  return canNotBeHidden ? 'always' : 'inseparable'
}
