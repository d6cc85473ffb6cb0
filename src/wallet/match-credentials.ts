/** Finds the stored credentials that match a credential query, or why none does. OpenID4VP 1.0, DCQL. */
import type { JsonObject } from '../codec/json.ts'
import { findQueryMistakes, formatOf } from '../credential/formats.ts'
import { claimedAuthorityKeyIds } from '../keys/authority-key-ids.ts'
import { pathText } from '../protocol/claim-path-text.ts'
import type { CredentialQuery } from '../protocol/dcql.ts'
import { answersAuthorities } from '../protocol/dcql-authorities.ts'
import { answerClaims, type ClaimsAnswer } from '../protocol/dcql-match.ts'
import { CLOCK_SKEW_SECONDS } from './context.ts'
import { type Disclosure, disclosureFor } from './disclosure.ts'
import { heldFormatsText, metaText } from './held-format.ts'
import type { StoredCredential } from './stored-credential.ts'

export type MatchedCredential = Disclosure & { readonly query: CredentialQuery; readonly credential: StoredCredential }

export type CredentialMatch = MatchedCredential | { readonly query: CredentialQuery; readonly problem: string }

/** The maximum number of credentials for one query. */
const MAX_MATCHES = 20

/**
 * Returns the newest of `credentials` that matches, or with `multiple` all of them, newest first. If none matches,
 * returns one entry with the reason.
 */
export function matchCredentials(
  query: CredentialQuery,
  credentials: readonly StoredCredential[],
  now: Date,
): readonly CredentialMatch[] {
  const problem = queryProblem(query)
  if (problem !== undefined) return [{ query, problem }]
  const matches = credentials
    .filter((each) => hasRequestedType(query, each))
    .map((each) => matchCredential(query, each, now))
  const matchedCredentials = matches.filter(isMatched)
  if (matchedCredentials.length > 0) return matchedCredentials.slice(0, query.multiple ? MAX_MATCHES : 1)
  const problems = matches.flatMap((match) => ('problem' in match ? match.problem : []))
  if (problems.length > 0) return [{ query, problem: problems.join('; ') }]
  return [{ query, problem: `the wallet has no credential of the type ${metaText(query.meta) ?? query.format}` }]
}

function matchCredential(query: CredentialQuery, credential: StoredCredential, now: Date): CredentialMatch {
  const claims = answerClaims(query, credential.claims)
  const problem =
    timeProblem(credential, now) ?? authorityProblem(query, credential) ?? missingText(query, claims) ?? claims.mismatch
  if (problem === undefined) return { query, credential, ...disclosureFor(claims, credential) }
  return { query, problem: `${credential.name} (${credential.id}): ${problem}` }
}

/** Describes the claims that the credential lacks. */
function missingText(query: CredentialQuery, { claims, missing }: ClaimsAnswer): string | undefined {
  const absent = claims.filter(({ positions }) => positions.length === 0).map(({ path }) => pathText(path))
  if (missing === undefined || absent.length === 0) return missing
  return `${query.claim_sets ? 'no claim set is complete: ' : ''}it has no ${absent.join(', ')}`
}

/** Tests whether a match has a credential. */
export function isMatched(match: CredentialMatch): match is MatchedCredential {
  return 'credential' in match
}

/** Returns the credentials to present: those that match the chosen queries. */
export function chosenMatches(plan: {
  readonly matches: readonly CredentialMatch[]
  readonly chosenQueryIds: readonly string[]
}): readonly MatchedCredential[] {
  return plan.matches.filter(isMatched).filter(({ query }) => plan.chosenQueryIds.includes(query.id))
}

/** Returns why this wallet cannot answer the query, whatever credentials it has; undefined if it may. */
function queryProblem(query: CredentialQuery): string | undefined {
  const format = formatOf(query.format)
  if (format === undefined) return `it wants the format ${query.format}; ${heldFormatsText()}`
  const authorities = query.trusted_authorities
  // Ignoring the restriction would disclose a credential that was not requested.
  if (authorities?.some(({ type }) => type === 'aki') === false) {
    const types = authorities.map(({ type }) => type).join(', ')
    return `it wants credentials of authorities that it names by ${types}, and this wallet knows authorities by aki only`
  }
  const mistakes = [...findQueryMistakes(format, query as unknown as JsonObject, 'query')]
  // Impossible claims do not matter here if another claim set may be satisfied.
  return mistakes.find((mistake) => !query.claim_sets || !mistake.startsWith('query.claims'))
}

/**
 * Returns why no certificate of the credential is certified by the authorities; undefined if one is. OpenID4VP 1.0,
 * Authority Key Identifier.
 */
function authorityProblem(query: CredentialQuery, { chain }: StoredCredential): string | undefined {
  if (query.trusted_authorities === undefined || answersAuthorities(query, claimedAuthorityKeyIds(chain)))
    return undefined
  return 'it was not issued under an authority that was asked for (trusted_authorities)'
}

function hasRequestedType({ format, meta }: CredentialQuery, credential: StoredCredential): boolean {
  const plugin = formatOf(format)
  return plugin?.ids.includes(credential.format) === true && plugin.matchesMeta(credential, meta)
}

function timeProblem({ validFrom, expiresAt }: StoredCredential, now: Date): string | undefined {
  if (expiresAt !== undefined && expiresAt <= now) return `it expired on ${expiresAt.toISOString()}; receive a new one`
  const isEarly = validFrom !== undefined && validFrom.getTime() > now.getTime() + CLOCK_SKEW_SECONDS * 1000
  return isEarly ? `it is not valid before ${validFrom.toISOString()}` : undefined
}
