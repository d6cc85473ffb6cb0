/** What the verification service stores, and the schema it is stored in. */
import type { DcqlQuery } from '../protocol/dcql.ts'
import { createCollection, type Migration, type Store } from '../store/store.ts'
import type { VerificationSession } from './session.ts'

export type VerifierCollections = {
  /** As it was posted; a query never changes. */
  verification_query: { readonly dcqlQuery: DcqlQuery }
  verification_session: VerificationSession
}

export type VerifierStore = Store<VerifierCollections>

export const verifierMigrations: readonly Migration[] = [
  { id: 'verifier-0001', statements: ['verification_query', 'verification_session'].flatMap(createCollection) },
]
