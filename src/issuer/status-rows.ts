/** The rows of status lists. docs/decisions/0007-status-lists.md explains the layout. */
import type { Static } from 'typebox'
import * as Type from 'typebox'

export const CredentialState = Type.Union([Type.Literal('VALID'), Type.Literal('SUSPENDED'), Type.Literal('REVOKED')])
export type CredentialState = Static<typeof CredentialState>

/** The value of each state in a list. Token Status List, Status Types Values. */
export const STATUS_VALUES: Readonly<Record<CredentialState, number>> = { VALID: 0, REVOKED: 1, SUSPENDED: 2 }

/** The bits for each entry: two, so that every credential can be suspended. */
export const STATUS_WIDTH = 2

/** The list and the index of a credential's entry. */
export interface StatusEntry {
  readonly listId: string
  readonly index: number
}

/** The entries of a session's credentials, and their common state. This row outlives the session. */
export interface CredentialStatus {
  readonly state: CredentialState
  readonly entries: readonly (StatusEntry & { readonly configurationId: string })[]
  /** The order of the last event about the status, from {@link nextEventOrder}; absent before the first. */
  readonly lastEvent?: number
  /**
   * When all verifiers have seen the last change: an HTTP cache and then a verifier may each keep the list of before
   * the change for its ttl. Milliseconds since the epoch; absent before the first change, and in rows of earlier
   * releases.
   */
  readonly seenBy?: number
}

/** A status list. The version of its row counts the changes of its bits. */
export interface StoredStatusList {
  readonly entries: number
  /** The width of an entry. Nothing reads it as long as all lists have the same width. */
  readonly bits: typeof STATUS_WIDTH
  /** The thumbprint of the list's key; absent in rows of earlier releases. */
  readonly kid?: string
  /** The generation of the database in which the list was created; absent in rows of earlier releases. */
  readonly generation?: string
}

/** A chunk of a list's bits. A missing chunk is all zero. */
export interface StatusChunk {
  /** The bits in base64. */
  readonly bits: string
}

/** The list from which new entries are allocated, and the number of entries that were leased. */
export interface AllocationState {
  /** The generation of the database in which the list was created; absent in rows of earlier releases. */
  readonly generation?: string
  /** The thumbprint of the key that signs the list. */
  readonly kid?: string
  readonly listId: string
  readonly entries: number
  readonly next: number
  /** The key of the list's permutation, in base64url. */
  readonly key: string
}

export type StatusCollections = {
  /** The status of the credentials of each session, by session id. */
  credential_status: CredentialStatus
  status_list: StoredStatusList
  /** The chunks by list id and number, as in `list.0`. */
  status_chunk: StatusChunk
  /** The row `current`, and a row for each other key, by its thumbprint. */
  status_space: AllocationState
}
