/**
 * Refuses members of a query that resemble those of the specification. Wallets ignore unknown members (OpenID4VP 1.0),
 * so a misspelt `claims` would request nothing, without an error.
 */
import { type Json, memberOf } from '../codec/json.ts'
import { QUERY_MEMBERS } from '../protocol/dcql-schema.ts'
import { refuse } from '../protocol/error.ts'
import { findMisspeltMembers } from '../protocol/misspelt.ts'

const MAX_MISTAKES = 10

/** Refuses with `invalid_request` a query with misspelt members. The error has the paths of at most ten. */
export function refuseMisspeltQuery(postedQuery: unknown): void {
  const query = postedQuery as Json
  const mistakes: string[] = []
  for (const mistake of findMisspellings(query)) if (mistakes.push(mistake) === MAX_MISTAKES) break
  if (mistakes.length > 0) refuse('invalid_request', mistakes.join('; '))
}

function* findMisspellings(query: Json): Generator<string, void> {
  yield* findMisspeltMembers(query, QUERY_MEMBERS.query, 'dcql_query')
  for (const [credential, at] of elementsWithPaths(query, 'credentials', 'dcql_query')) {
    yield* findMisspeltMembers(credential, QUERY_MEMBERS.credential, at)
    for (const [claim, claimAt] of elementsWithPaths(credential, 'claims', at))
      yield* findMisspeltMembers(claim, QUERY_MEMBERS.claim, claimAt)
    for (const [authority, authorityAt] of elementsWithPaths(credential, 'trusted_authorities', at)) {
      yield* findMisspeltMembers(authority, QUERY_MEMBERS.authority, authorityAt)
    }
  }
  for (const [set, at] of elementsWithPaths(query, 'credential_sets', 'dcql_query'))
    yield* findMisspeltMembers(set, QUERY_MEMBERS.credentialSet, at)
}

/** Returns the elements of the list in the member `name` of `object`, each with its path. */
function elementsWithPaths(object: Json, name: string, at: string): readonly (readonly [Json, string])[] {
  const list = memberOf(object, name)
  return Array.isArray(list) ? list.map((element, index) => [element, `${at}.${name}[${index}]`] as const) : []
}
