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
export async function getQuery({ store }: VerifierContext, id: string): Promise<DcqlQuery> {
  const row = await store.get('verification_query', id)
  return row?.value.dcqlQuery ?? refuse('not_found', `there is no verification query ${id}`)
}
