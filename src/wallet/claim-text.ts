/** Formats the claims of a credential for people: which claims, their labels, and their order. */
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import { formatOf } from '../credential/formats.ts'
import { pathText, stepMatches } from '../protocol/claim-path.ts'
import { leavesOf } from './disclosure.ts'
import type { StoredCredential } from './stored-credential.ts'

/** The members that describe the credential itself. */
const ENVELOPE = new Set(['@context', 'type', 'issuer', 'validFrom', 'validUntil', 'issuanceDate', 'expirationDate'])

/** Returns all single claims about the holder. */
export function holderClaims(credential: StoredCredential): ReturnType<typeof leavesOf> {
  const claims = leavesOf(credential.claims, []).filter(({ position }) => !isEnvelopeClaim(credential, position))
  return sortClaims(credential, claims)
}

/** Sorts claims by their order in the issuer's metadata, then by name. Their order in the credential has no meaning. */
export function sortClaims<T extends { readonly position: ClaimPosition }>(
  credential: StoredCredential,
  claims: readonly T[],
): readonly T[] {
  const rankOf = ({ position }: T): number => {
    const index = credential.claimNames.findIndex(({ path }) =>
      path.every((step, at) => stepMatches(step, position[at])),
    )
    return index === -1 ? credential.claimNames.length : index
  }
  const labelOf = ({ position }: T): string => claimLabel(credential, position)
  return [...claims].sort((a, b) => rankOf(a) - rankOf(b) || compareTexts(labelOf(a), labelOf(b)))
}

/** Tests whether a claim describes the credential and not the holder. */
export function isEnvelopeClaim({ envelope }: StoredCredential, [member]: ClaimPosition): boolean {
  return ENVELOPE.has(String(member)) || envelope.includes(String(member))
}

/** Returns the issuer's label for the claim, or its path if there is none. */
export function claimLabel(credential: StoredCredential, position: ClaimPosition): string {
  const [description] = credential.claimNames
    .filter(({ path }) => path.length <= position.length && path.every((step, at) => stepMatches(step, position[at])))
    .sort((a, b) => b.path.length - a.path.length)
  if (description === undefined) return positionText(credential, position)
  const rest = position.slice(description.path.length)
  if (rest.length === 0) return description.name
  return `${description.name}${typeof rest[0] === 'number' ? '' : ': '}${pathText(rest)}`
}

/** Formats the position of a claim as its format does. */
function positionText({ format, claims }: StoredCredential, position: ClaimPosition): string {
  return formatOf(format)?.positionText(position, claims) ?? pathText(position)
}

function compareTexts(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true })
}
