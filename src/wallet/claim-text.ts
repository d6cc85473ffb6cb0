/** Formats the claims of a credential for people: which claims, their labels, and their order. */
import type { ClaimPosition } from '../codec/sd-jwt.ts'
import { formatOf } from '../credential/formats.ts'
import { stepMatches } from '../protocol/claim-path.ts'
import { pathText } from '../protocol/claim-path-text.ts'
import { leavesOf } from './disclosure.ts'
import type { StoredCredential } from './stored-credential.ts'

interface ClaimText {
  /** The index of its description in the issuer's metadata; the number of descriptions if it has none. */
  readonly rank: number
  readonly label: string
}

/** The texts of the claims of each credential, by position as JSON. */
const claimTexts = new WeakMap<StoredCredential, Map<string, ClaimText>>()
const collator = new Intl.Collator('en', { numeric: true })

/** Returns all single claims about the holder. */
export function holderClaims(credential: StoredCredential): ReturnType<typeof leavesOf> {
  const claims = leavesOf(credential.claims, []).filter(({ position }) => !isAboutCredential(credential, position))
  return sortClaims(credential, claims)
}

/** Sorts claims by their order in the issuer's metadata, then by name. Their order in the credential has no meaning. */
export function sortClaims<T extends { readonly position: ClaimPosition }>(
  credential: StoredCredential,
  claims: readonly T[],
): readonly T[] {
  return claims
    .map((claim) => ({ claim, ...claimTextOf(credential, claim.position) }))
    .sort((a, b) => a.rank - b.rank || collator.compare(a.label, b.label))
    .map(({ claim }) => claim)
}

/** Tests whether a claim describes the credential and not the holder. */
export function isAboutCredential({ format, securingMembers }: StoredCredential, [member]: ClaimPosition): boolean {
  const descriptiveMembers = formatOf(format)?.descriptiveMembers ?? []
  return [...securingMembers, ...descriptiveMembers].includes(String(member))
}

/** Returns the issuer's label for the claim, or its path if there is none. */
export function claimLabel(credential: StoredCredential, position: ClaimPosition): string {
  return claimTextOf(credential, position).label
}

/** Returns the label of a claim and its place among all claims. Computes both once for each credential. */
function claimTextOf(credential: StoredCredential, position: ClaimPosition): ClaimText {
  const texts = claimTexts.get(credential) ?? new Map<string, ClaimText>()
  claimTexts.set(credential, texts)
  const key = JSON.stringify(position)
  const text = texts.get(key) ?? { rank: rankOf(credential, position), label: makeLabel(credential, position) }
  texts.set(key, text)
  return text
}

function rankOf({ claimNames }: StoredCredential, position: ClaimPosition): number {
  const index = claimNames.findIndex(({ path }) => path.every((step, at) => stepMatches(step, position[at])))
  return index === -1 ? claimNames.length : index
}

function makeLabel(credential: StoredCredential, position: ClaimPosition): string {
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
