/**
 * What a credential query may ask for by the specification, and no credential can answer: worth telling whoever writes the
 * query, and for a wallet a question like others that it has no answer to. What a format adds is in its `queryMistakes`.
 */
import { type Json, type JsonObject, own } from '../codec/json.ts'
import { DIGEST_MEMBERS } from '../codec/sd-jwt.ts'
import type { ClaimPath } from './claim-path.ts'
import { type ClaimQuery, claimPairs, readableClaims } from './dcql.ts'
import type { Mistakes } from './dcql-parts.ts'

type Claims = readonly (ClaimQuery | undefined)[]

export function* unanswerable(credential: JsonObject, at: string): Mistakes {
  const claims = readableClaims(own(credential, 'claims'))
  // An mdoc has no digests among its elements, so that they may have any name.
  const digests: readonly unknown[] = own(credential, 'format') === 'mso_mdoc' ? [] : DIGEST_MEMBERS
  for (const [i, claim] of claims.entries()) {
    if (claim !== undefined) yield* inPath(claim.path, `${at}.claims[${i}].path`, digests)
  }
  const sets = own(credential, 'claim_sets')
  if (sets === undefined) yield* inAll(claims, at)
  else if (Array.isArray(sets)) yield* inSets(sets, claims, at)
}

function* inPath(path: ClaimPath, at: string, digests: readonly unknown[]): Mistakes {
  if (path[0] === null || typeof path[0] === 'number')
    yield `${at}[0]: must be a string, since a credential is an object`
  for (const [i, step] of path.entries()) {
    if (digests.includes(step)) yield `${at}[${i}]: is a member of SD-JWT itself, never a claim`
  }
}

/** Without claim sets, all claims are wanted together. */
function* inAll(claims: Claims, at: string): Mistakes {
  for (const [later, earlier] of claimPairs(claims, contradict)) {
    const [path, other] = [`${at}.claims[${later}].path`, `${at}.claims[${earlier}]`]
    yield `${path}: contradicts ${other}, so that no credential can have both; remove one`
  }
}

/** Claim sets are alternatives, but each of them is wanted whole. */
function* inSets(sets: readonly Json[], claims: Claims, at: string): Mistakes {
  const ids = claims.map((claim) => claim?.id)
  const clashing = claims.flatMap((claim, later) =>
    claims
      .slice(0, later)
      .flatMap((other, earlier) => (claim && other && contradict(claim, other) ? [[later, earlier]] : [])),
  )
  for (const [i, set] of sets.entries()) {
    const wanted = new Set<unknown>(Array.isArray(set) ? set : [])
    const pair = clashing.find((each) => each.every((index) => wanted.has(ids[index])))
    if (pair === undefined) continue
    const [one, other] = pair.map((index) => `claims[${index}]`)
    yield `${at}.claim_sets[${i}]: ${one} contradicts ${other}, so that no credential can have both; take one out`
  }
}

function contradict(a: ClaimQuery, b: ClaimQuery): boolean {
  return clash(a, b) || clash(b, a)
}

/**
 * Whether all that `narrow` selects at some step is selected by `wide` too, and the two need it to be different things:
 * an object and an array, or a value and something with values inside.
 */
function clash(wide: ClaimQuery, narrow: ClaimQuery): boolean {
  const fork = narrow.path.findIndex((step, i) => !covers(wide.path[i], step))
  if (fork === -1) return narrow.path.length < wide.path.length && narrow.values !== undefined
  if (fork === wide.path.length) return false
  return (typeof narrow.path[fork] === 'string') !== (typeof wide.path[fork] === 'string')
}

/** Null stands for every element. */
function covers(wide: ClaimPath[number] | undefined, narrow: ClaimPath[number]): boolean {
  return wide === narrow || (wide === null && typeof narrow === 'number')
}
