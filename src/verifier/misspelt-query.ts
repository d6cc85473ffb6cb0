/**
 * Refuses members of a query that are nearly those of the specification. OpenID4VP 1.0 has wallets ignore what they do
 * not know, so that a misspelt `claims` would ask for nothing without a word.
 */
import { isObject, type Json, own } from '../codec/json.ts'
import { refuse } from '../protocol/error.ts'
import { findMisspeltMembers } from '../protocol/misspelt.ts'

const QUERY_MEMBERS = ['credentials', 'credential_sets']
const CREDENTIAL_MEMBERS = [
  'id',
  'format',
  'meta',
  'multiple',
  'claims',
  'claim_sets',
  'trusted_authorities',
  'require_cryptographic_holder_binding',
]
const CLAIM_MEMBERS = ['id', 'path', 'values']
const AUTHORITY_MEMBERS = ['type', 'values']
const SET_MEMBERS = ['options', 'required']
const MAX_MISTAKES = 10

/** Refuses with `invalid_request` a query with misspelt members, and names each by its path. */
export function refuseMisspeltQuery(postedQuery: unknown): void {
  const query = postedQuery as Json
  const mistakes: string[] = []
  for (const mistake of findMisspellings(query)) if (mistakes.push(mistake) === MAX_MISTAKES) break
  if (mistakes.length > 0) refuse('invalid_request', mistakes.join('; '))
}

function* findMisspellings(query: Json): Generator<string, void> {
  yield* findMisspeltMembers(query, QUERY_MEMBERS, 'dcql_query')
  for (const [credential, at] of elementsWithPaths(query, 'credentials', 'dcql_query')) {
    yield* findMisspeltMembers(credential, CREDENTIAL_MEMBERS, at)
    for (const [claim, claimAt] of elementsWithPaths(credential, 'claims', at))
      yield* findMisspeltMembers(claim, CLAIM_MEMBERS, claimAt)
    for (const [authority, authorityAt] of elementsWithPaths(credential, 'trusted_authorities', at)) {
      yield* findMisspeltMembers(authority, AUTHORITY_MEMBERS, authorityAt)
    }
  }
  for (const [set, at] of elementsWithPaths(query, 'credential_sets', 'dcql_query'))
    yield* findMisspeltMembers(set, SET_MEMBERS, at)
}

/** Returns the elements of a list that is a member of `object`, each with its path. */
function elementsWithPaths(object: Json, name: string, at: string): readonly (readonly [Json, string])[] {
  const list = isObject(object) ? own(object, name) : undefined
  return Array.isArray(list) ? list.map((element, index) => [element, `${at}.${name}[${index}]`] as const) : []
}
