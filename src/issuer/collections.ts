/** The collections of the issuance service, and their schema. */
import type { JsonObject } from '../codec/json.ts'
import { type EventCollections, eventCollectionNames } from '../event/event.ts'
import type { IdempotencyCollections } from '../http/idempotency.ts'
import type { JweParameters } from '../keys/jwe.ts'
import type { PublicJwk } from '../keys/jwk.ts'
import type { SessionProgress } from '../progress/session-progress.ts'
import type { CredentialConfiguration } from '../protocol/credential-configuration.ts'
import { refuse } from '../protocol/error.ts'
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
import type { StoredAuthorizationRequest } from './authorization-request.ts'
import type { IssuanceSession } from './session.ts'
import type { StatusCollections } from './status-rows.ts'

export interface StoredConfiguration {
  /** The configuration as the application posted it. */
  readonly configuration: CredentialConfiguration
  /** Whether new sessions cannot use it any more. Existing sessions still can. */
  readonly removed: boolean
  /**
   * Until when the metadata of the service lists the removed configuration for existing sessions, in milliseconds since
   * the epoch; absent if none needs it there, and in rows of earlier releases.
   */
  readonly listedUntil?: number
}

export interface DeferredTransaction {
  readonly sessionId: string
  readonly configurationId: string
  /** The proved keys; each gets one credential. */
  readonly holderKeys: readonly PublicJwk[]
  /** The DIDs by which the wallet named keys, by the thumbprint of the key; absent in rows of earlier releases. */
  readonly holderDids?: Readonly<Record<string, string>>
  /** The form of the response, if the first request asked for one. */
  readonly responseForm?: CredentialResponseForm
}

/** The dataset of a session: one for all its configurations, or one for each where the person signed in. */
export type SessionDataset = JsonObject | readonly ConfigurationDataset[]

export interface ConfigurationDataset {
  readonly configurationId: string
  readonly dataset: JsonObject
}

/** The form of a credential response. */
export interface CredentialResponseForm {
  /** Whether the response has the first credential also outside of the list. */
  readonly hasSingleCredential?: true
  readonly encryption?: JweParameters
}

/** The uses of a `c_nonce`; empty for a proof, which is used once. */
export interface SpentNonce {
  /** The digest of the id of the session that used the nonce. */
  readonly session?: string
  readonly configurationIds?: readonly string[]
}

export type IssuerCollections = EventCollections &
  IdempotencyCollections &
  EncryptionCollections &
  GenerationCollections &
  StatusCollections & {
    credential_configuration: StoredConfiguration
    issuance_session: IssuanceSession
    /**
     * The dataset of each session, by session id; null when it was erased. It has its own row because only the
     * credential request reads it.
     */
    issuance_dataset: SessionDataset | null
    /** The progress of wallets in each session, by session id. */
    issuance_progress: SessionProgress
    /** The session of each supplied pre-authorized code, by the MAC of the code. */
    pre_authorized_code: { readonly sessionId: string }
    /** The authorization requests that browsers have brought, by a random id. The code begins with this id. */
    authorization_request: StoredAuthorizationRequest
    /** The deferred requests, by transaction id. */
    deferred_transaction: DeferredTransaction
    /** The used single-use values, by their id: a `c_nonce`, or the digest of a DPoP or wallet attestation proof. */
    spent_nonce: SpentNonce
  }

export type IssuerStore = Store<IssuerCollections>

const STATUS_COLLECTIONS = ['credential_status', 'status_list', 'status_chunk', 'status_space']
/** The collections of the first schema. */
const FIRST_COLLECTIONS = ['credential_configuration', 'issuance_session', 'issuance_dataset', 'spent_nonce']

export const issuerMigrations: readonly Migration[] = [
  { id: 'issuer-0001', statements: FIRST_COLLECTIONS.flatMap(createExpiringCollection) },
  { id: 'issuer-0002', statements: FIRST_COLLECTIONS.flatMap(renameExpiry) },
  { id: 'issuer-0003', statements: createCollection('event') },
  { id: 'issuer-0004', statements: createCollection('idempotent_answer') },
  { id: 'issuer-0005', statements: STATUS_COLLECTIONS.flatMap(createCollection) },
  // Makes the next sweep look at the sessions of earlier releases, and set their `due_at`.
  { id: 'issuer-0006', statements: ['update issuance_session set due_at = 0 where due_at is null'] },
  { id: 'issuer-0007', statements: encryptionKeyCollection },
  { id: 'issuer-0008', statements: eventCollectionNames.flatMap(createCollection) },
  { id: 'issuer-0009', statements: createCollection('pre_authorized_code') },
  { id: 'issuer-0010', statements: createCollection('deferred_transaction') },
  { id: 'issuer-0011', statements: createCollection('issuance_progress') },
  { id: 'issuer-0012', statements: generationCollection },
  { id: 'issuer-0013', statements: addCreationTime('issuance_session') },
  { id: 'issuer-0014', statements: createCollection('authorization_request') },
  { id: 'issuer-0015', statements: ['callback', 'dead_callback'].flatMap(addCreationTime) },
]

/** The collections that a database key encrypts: those with personal data or session secrets. */
export const issuerEncryptedCollections: readonly (keyof IssuerCollections)[] = [
  'issuance_session',
  'issuance_dataset',
  'deferred_transaction',
  'authorization_request',
  'idempotent_answer',
]

/** Returns a session. Refuses with `not_found`. */
export async function requireIssuanceSession(store: IssuerStore, sessionId: string): Promise<IssuanceSession> {
  const row = await store.get('issuance_session', sessionId)
  return row?.value ?? refuseUnknownSession()
}

export function refuseUnknownSession(): never {
  return refuse('not_found', 'there is no such session')
}
