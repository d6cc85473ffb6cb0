/** Verification queries: stored once, used by any number of sessions. */
import { toBase64url } from '../codec/base64url.ts'
import { type DcqlQuery, readDcqlQuery } from '../protocol/dcql.ts'
import { refuse } from '../protocol/error.ts'
import type { VerifierContext } from './context.ts'

/** Validates and stores a DCQL query as it was posted, and gives its id. Refuses with `invalid_request`, naming the path. */
export async function createQuery({ store, random }: VerifierContext, posted: unknown): Promise<string> {
  const dcqlQuery = readDcqlQuery(posted)
  const id = toBase64url(random(16))
  await store.commit([{ insert: 'verification_query', id, value: { dcqlQuery } }])
  return id
}

/** Refuses with `not_found`. */
export async function getQuery({ query }: VerifierContext, id: string): Promise<DcqlQuery> {
  return (await query(id)) ?? refuse('not_found', `there is no verification query ${id}`)
}
