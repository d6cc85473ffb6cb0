/**
 * What a credential query may ask for by the specification, and no credential can answer: worth telling whoever writes the
 * query, and for a wallet a question like others that it has no answer to.
 */
import { type JsonObject, own } from '../codec/json.ts'
import { type ClaimQuery, claimPairs, readableClaims } from './dcql.ts'
import type { Mistakes } from './dcql-parts.ts'

/** These members hold digests, and are gone once the disclosures are in their place. RFC 9901, Verification of the SD-JWT. */
const DIGEST_MEMBERS: readonly unknown[] = ['_sd', '_sd_alg', '...']

export function* unanswerable(credential: JsonObject, at: string): Mistakes {
  const claims = readableClaims(own(credential, 'claims'))
  for (const [i, claim] of claims.entries()) {
    if (claim !== undefined) yield* inPath(claim, `${at}.claims[${i}].path`)
  }
  // Claim sets make them alternatives.
  if (own(credential, 'claim_sets') !== undefined) return
  for (const [later, earlier] of claimPairs(claims, contradict)) {
    const [path, other] = [`${at}.claims[${later}].path`, `${at}.claims[${earlier}]`]
    yield `${path}: contradicts ${other}, so that no credential can have both; remove one`
  }
}

function* inPath({ path }: ClaimQuery, at: string): Mistakes {
  if (path[0] === null || typeof path[0] === 'number')
    yield `${at}[0]: must be a string, since a credential is an object`
  for (const [i, step] of path.entries()) {
    if (DIGEST_MEMBERS.includes(step)) yield `${at}[${i}]: is a member of SD-JWT itself, never a claim`
  }
}

/** Two paths clash where one wants a member and the other an element, or one a value and the other something inside. */
function contradict(a: ClaimQuery, b: ClaimQuery): boolean {
  const [short, long] = a.path.length <= b.path.length ? [a, b] : [b, a]
  const fork = short.path.findIndex((step, i) => step !== long.path[i])
  if (fork === -1) return short.path.length < long.path.length && short.values !== undefined
  return (typeof short.path[fork] === 'string') !== (typeof long.path[fork] === 'string')
}
