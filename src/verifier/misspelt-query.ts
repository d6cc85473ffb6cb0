/**
 * Refuses members of a query that are nearly those of the specification. OpenID4VP 1.0 has wallets ignore what they do
 * not know, so that a misspelt `claims` would ask for nothing without a word.
 */
import { isObject, type Json, own } from '../codec/json.ts'
import { refuse } from '../protocol/error.ts'
import { findMisspeltMembers } from '../protocol/misspelt.ts'

const QUERY = ['credentials', 'credential_sets']
const CREDENTIAL = [
  'id',
  'format',
  'meta',
  'multiple',
  'claims',
  'claim_sets',
  'trusted_authorities',
  'require_cryptographic_holder_binding',
]
const CLAIM = ['id', 'path', 'values']
const AUTHORITY = ['type', 'values']
const SET = ['options', 'required']
const MOST = 10

/** Refuses with `invalid_request` a query with misspelt members, and names each by its path. */
export function refuseMisspeltQuery(posted: unknown): void {
  const query = posted as Json
  const mistakes: string[] = []
  for (const mistake of inQuery(query)) if (mistakes.push(mistake) === MOST) break
  if (mistakes.length > 0) refuse('invalid_request', mistakes.join('; '))
}

function* inQuery(query: Json): Generator<string, void> {
  yield* findMisspeltMembers(query, QUERY, 'dcql_query')
  for (const [credential, at] of elements(query, 'credentials', 'dcql_query')) {
    yield* findMisspeltMembers(credential, CREDENTIAL, at)
    for (const [claim, claimAt] of elements(credential, 'claims', at)) yield* findMisspeltMembers(claim, CLAIM, claimAt)
    for (const [authority, authorityAt] of elements(credential, 'trusted_authorities', at)) {
      yield* findMisspeltMembers(authority, AUTHORITY, authorityAt)
    }
  }
  for (const [set, at] of elements(query, 'credential_sets', 'dcql_query')) yield* findMisspeltMembers(set, SET, at)
}

/** Returns the elements of a list that is a member of `object`, each with its path. */
function elements(object: Json, name: string, at: string): readonly (readonly [Json, string])[] {
  const list = isObject(object) ? own(object, name) : undefined
  return Array.isArray(list) ? list.map((element, index) => [element, `${at}.${name}[${index}]`] as const) : []
}
