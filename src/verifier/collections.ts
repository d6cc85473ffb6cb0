/** The collections of the verification service, and their schema. */

import type { CheckDescriptions } from '../check/check.ts'
import { type EventCollections, eventCollectionNames } from '../event/event.ts'
import type { IdempotencyCollections } from '../http/idempotency.ts'
import type { SessionProgress } from '../progress/session-progress.ts'
import type { DcqlQuery } from '../protocol/dcql.ts'
import { type EncryptionCollections, encryptionKeyCollection } from '../store/encrypted.ts'
import { type GenerationCollections, generationCollection } from '../store/generation.ts'
import {
  addCreationTime,
  createCollection,
  createExpiringCollection,
  type Migration,
  renameExpiry,
  type Store,
} from '../store/store.ts'
import type { VerificationSession } from './session.ts'
import type { TrustListCollections } from './trust-list/stored.ts'

export type VerifierCollections = EventCollections &
  IdempotencyCollections &
  EncryptionCollections &
  GenerationCollections &
  TrustListCollections & {
    /** The queries as they were posted. A query never changes. */
    verification_query: { readonly dcqlQuery: DcqlQuery }
    verification_session: VerificationSession
    /** The progress of wallets in each session, by session id. */
    verification_progress: SessionProgress
    /** The words of the checks of each release, by their digest. */
    check_descriptions: CheckDescriptions
  }

export type VerifierStore = Store<VerifierCollections>

/** The collections of the first schema. */
const FIRST_COLLECTIONS = ['verification_query', 'verification_session']

export const verifierMigrations: readonly Migration[] = [
  { id: 'verifier-0001', statements: FIRST_COLLECTIONS.flatMap(createExpiringCollection) },
  { id: 'verifier-0002', statements: FIRST_COLLECTIONS.flatMap(renameExpiry) },
  { id: 'verifier-0003', statements: createCollection('event') },
  { id: 'verifier-0004', statements: createCollection('idempotent_answer') },
  // Makes the next sweep look at the sessions of earlier releases, and set their `due_at`.
  { id: 'verifier-0005', statements: ['update verification_session set due_at = 0 where due_at is null'] },
  { id: 'verifier-0006', statements: encryptionKeyCollection },
  { id: 'verifier-0007', statements: eventCollectionNames.flatMap(createCollection) },
  { id: 'verifier-0008', statements: generationCollection },
  { id: 'verifier-0009', statements: addCreationTime('verification_session') },
  { id: 'verifier-0010', statements: ['callback', 'dead_callback'].flatMap(addCreationTime) },
  { id: 'verifier-0011', statements: createCollection('check_descriptions') },
  { id: 'verifier-0012', statements: createCollection('verification_progress') },
  { id: 'verifier-0013', statements: createCollection('trust_list') },
  { id: 'verifier-0014', statements: createCollection('trust_list_state') },
]

/** The collections that a database key encrypts: those with personal data or session secrets. */
export const verifierEncryptedCollections: readonly (keyof VerifierCollections)[] = [
  'verification_session',
  'idempotent_answer',
]
