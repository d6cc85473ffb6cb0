/** The collections of the verification service, and their schema. */

import { type EventCollections, eventCollectionNames } from '../event/event.ts'
import type { IdempotencyCollections } from '../http/idempotency.ts'
import type { DcqlQuery } from '../protocol/dcql.ts'
import { refuse } from '../protocol/error.ts'
import { type EncryptionCollections, encryptionKeyCollection } from '../store/encrypted.ts'
import { type GenerationCollections, generationCollection } from '../store/generation.ts'
import {
  addCreationTime,
  createCollection,
  createExpiringCollection,
  type Migration,
  type Row,
  renameExpiry,
  type Store,
} from '../store/store.ts'
import type { VerificationSession } from './session.ts'

export type VerifierCollections = EventCollections &
  IdempotencyCollections &
  EncryptionCollections &
  GenerationCollections & {
    /** The query as it was posted; a query never changes. */
    verification_query: { readonly dcqlQuery: DcqlQuery }
    verification_session: VerificationSession
  }

export type VerifierStore = Store<VerifierCollections>

/** The collections of the first schema. */
const FIRST_COLLECTIONS = ['verification_query', 'verification_session']

export const verifierMigrations: readonly Migration[] = [
  { id: 'verifier-0001', statements: FIRST_COLLECTIONS.flatMap(createExpiringCollection) },
  { id: 'verifier-0002', statements: FIRST_COLLECTIONS.flatMap(renameExpiry) },
  { id: 'verifier-0003', statements: createCollection('event') },
  { id: 'verifier-0004', statements: createCollection('idempotent_answer') },
  // The next sweep looks at the sessions of earlier releases too, and sets the time of what is to be done about each.
  { id: 'verifier-0005', statements: ['update verification_session set due_at = 0 where due_at is null'] },
  { id: 'verifier-0006', statements: encryptionKeyCollection },
  { id: 'verifier-0007', statements: eventCollectionNames.flatMap(createCollection) },
  { id: 'verifier-0008', statements: generationCollection },
  { id: 'verifier-0009', statements: addCreationTime('verification_session') },
  { id: 'verifier-0010', statements: ['callback', 'dead_callback'].flatMap(addCreationTime) },
]

/** The collections that are encrypted where there is a key: personal data, and secrets that open a session. */
export const verifierEncryptedCollections: readonly (keyof VerifierCollections)[] = [
  'verification_session',
  'idempotent_answer',
]

/** Finds the row of a session. Refuses with `not_found`. */
export async function findVerificationSession(
  store: VerifierStore,
  sessionId: string,
): Promise<Row<VerificationSession>> {
  const row = await store.get('verification_session', sessionId)
  return row ?? refuse('not_found', 'there is no such session')
}
