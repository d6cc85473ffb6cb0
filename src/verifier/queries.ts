/** Verification queries. A query is stored once and used by any number of sessions. */
import { toBase64url } from '../codec/base64url.ts'
import { isObject, type JsonObject, memberOf, stringMemberOf } from '../codec/json.ts'
import { DIGEST_MEMBERS } from '../codec/sd-jwt.ts'
import { findQueryMistakes, formatOf, UNKNOWN_FORMAT } from '../credential/formats.ts'
import { makeEventChange } from '../event/event.ts'
import { type DcqlQuery, readDcqlQuery } from '../protocol/dcql.ts'
import { findUncheckableAuthorities } from '../protocol/dcql-authorities.ts'
import type { Mistakes } from '../protocol/dcql-parts.ts'
import { findUnanswerable } from '../protocol/dcql-unanswerable.ts'
import { refuse } from '../protocol/error.ts'
import type { VerifierConfig } from './config.ts'
import type { VerifierContext } from './context.ts'
import { refuseMisspeltQuery } from './misspelt-query.ts'

/** Validates and stores a DCQL query, and returns its id. Refuses like {@link readNewQuery}. */
export async function createQuery(
  { config, store, random, now }: VerifierContext,
  postedQuery: unknown,
  caller: string,
): Promise<string> {
  const dcqlQuery = readNewQuery(postedQuery, config)
  const id = toBase64url(random(16))
  await store.commit([
    { insert: 'verification_query', id, value: { dcqlQuery } },
    makeEventChange({ type: 'query.created', at: now().getTime(), subject: id, caller }, random),
  ])
  return id
}

/** Refuses with `invalid_request` a query in the member `dcql_query` of a body that is the query itself. */
export function refuseWrappedQuery(body: unknown): void {
  if (isObject(body) && isObject(body.dcql_query) && body.credentials === undefined)
    refuse('invalid_request', 'dcql_query: this endpoint takes the query itself; send what is in dcql_query')
}

/** Returns a stored query. Refuses with `not_found`. */
export async function requireQuery({ loadQuery }: VerifierContext, id: string): Promise<DcqlQuery> {
  return (await loadQuery(id)) ?? refuse('not_found', `there is no verification query ${id}`)
}

/**
 * Validates a DCQL query and returns it unchanged. Refuses with `invalid_request` and the paths a query that is
 * invalid, or whose response a verifier with these settings cannot check.
 */
export function readNewQuery(postedQuery: unknown, { trustLists }: Pick<VerifierConfig, 'trustLists'>): DcqlQuery {
  refuseMisspeltQuery(postedQuery)
  const listUrls = trustLists.map(({ url }) => url)
  return readDcqlQuery(postedQuery, (credential, at) => findCredentialMistakes(credential, at, listUrls))
}

function* findCredentialMistakes(credential: JsonObject, at: string, listUrls: readonly string[]): Mistakes {
  yield* findFormatMistakes(credential, at)
  yield* findUncheckableAuthorities(memberOf(credential, 'trusted_authorities'), `${at}.trusted_authorities`, listUrls)
  const { reservedNames = DIGEST_MEMBERS } = formatOf(stringMemberOf(credential, 'format') ?? '') ?? {}
  yield* findUnanswerable(credential, at, reservedNames)
}

function* findFormatMistakes(credential: JsonObject, at: string): Mistakes {
  const format = formatOf(stringMemberOf(credential, 'format') ?? '')
  if (format === undefined) yield `${at}.format: ${UNKNOWN_FORMAT}`
  else yield* findQueryMistakes(format, credential, at)
}
