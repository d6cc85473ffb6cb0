/** The claims that a presentation discloses and withholds. OpenID4VP 1.0, Selecting Claims; RFC 9901. */
import type { Json } from '../codec/json.ts'
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import { isWithin } from '../protocol/claim-path.ts'
import type { ClaimAnswer, ClaimsAnswer } from '../protocol/dcql-match.ts'
import type { StoredCredential } from './stored-credential.ts'

interface DisclosedClaim {
  readonly position: ClaimPosition
  readonly value: Json
  /**
   * Why it is disclosed: the verifier requested it (`asked`), the issuer did not make it selectively disclosable
   * (`always`), or a requested claim requires it (`inseparable`).
   */
  readonly because: 'asked' | 'always' | 'inseparable'
}

export interface Disclosure {
  /** The positions to disclose, for the format. */
  readonly positions: readonly ClaimPosition[]
  /** All single values that the verifier gets. */
  readonly disclosed: readonly DisclosedClaim[]
  /** All single values that the verifier does not get. */
  readonly hidden: readonly ClaimPosition[]
}

/** A single value, and the selectively disclosable claims that it is or that contain it. */
interface CoveredLeaf {
  readonly position: ClaimPosition
  readonly value: Json
  readonly covers: readonly ClaimPosition[]
}

const coveredLeaves = new WeakMap<StoredCredential, readonly CoveredLeaf[]>()

/** Returns the smallest disclosure that satisfies the query. */
export function disclosureFor(answer: ClaimsAnswer, credential: StoredCredential): Disclosure {
  const { disclosable } = credential
  const positions = [...answer.disclose, ...elementsBefore(answer.chosen, disclosable)]
  const visible = new Set(disclosable.filter((position) => positions.some((each) => isDisclosedFor(position, each))))
  const disclosed: DisclosedClaim[] = []
  const hidden: ClaimPosition[] = []
  for (const { position, value, covers } of coveredLeavesOf(credential)) {
    if (covers.some((cover) => !visible.has(cover))) hidden.push(position)
    else disclosed.push({ position, value, because: reasonFor(position, answer.disclose, covers.length === 0) })
  }
  return { positions, disclosed, hidden }
}

/** Returns all single values of a credential with what can hide them. Computes them once for each credential. */
function coveredLeavesOf(credential: StoredCredential): readonly CoveredLeaf[] {
  const knownLeaves = coveredLeaves.get(credential)
  if (knownLeaves !== undefined) return knownLeaves
  const { claims, disclosable } = credential
  const leaves = leavesOf(claims, []).map((leaf) => ({
    ...leaf,
    covers: disclosable.filter((cover) => isWithin(leaf.position, cover)),
  }))
  coveredLeaves.set(credential, leaves)
  return leaves
}

/** Returns all single values in the claims, and empty objects and arrays. */
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
 * Tests whether a claim is disclosed along with `requestedPosition`: claims are disclosed with everything inside of
 * them and everything that contains them.
 */
function isDisclosedFor(position: ClaimPosition, requestedPosition: ClaimPosition): boolean {
  return isWithin(position, requestedPosition) || isWithin(requestedPosition, position)
}

/**
 * Returns the selectively disclosable elements before an element that a path selects by index. They are disclosed too,
 * since otherwise the index of the requested element would change. A null in a path does not need them.
 */
function elementsBefore(
  claims: readonly ClaimAnswer[],
  disclosable: readonly ClaimPosition[],
): readonly ClaimPosition[] {
  const canHide = new Set(disclosable.map((position) => JSON.stringify(position)))
  const elements = claims.flatMap(({ path, matching }) =>
    matching.flatMap((position) =>
      position.flatMap((step, at) =>
        typeof path[at] === 'number'
          ? Array.from({ length: Number(step) }, (_, index): ClaimPosition => [...position.slice(0, at), index])
          : [],
      ),
    ),
  )
  // No claim has the name of the added step, so only the element itself is disclosed and nothing inside of it.
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
