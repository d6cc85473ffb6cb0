/** The rows of status lists. docs/decisions/0007-status-lists.md says why they are these. */
import type { Static } from 'typebox'
import * as Type from 'typebox'

export const CredentialState = Type.Union([Type.Literal('VALID'), Type.Literal('SUSPENDED'), Type.Literal('REVOKED')])
export type CredentialState = Static<typeof CredentialState>

/** The values by which a list says how a credential stands. Token Status List, Status Types Values. */
export const STATUS_VALUES: Readonly<Record<CredentialState, number>> = { VALID: 0, REVOKED: 1, SUSPENDED: 2 }

/** The bits of an entry: two, so that what is issued today can be suspended one day. */
export const STATUS_WIDTH = 2

/** The list in which a credential has its entry, and the index of the entry. */
export interface StatusEntry {
  readonly listId: string
  readonly index: number
}

/** The entries of a session's credentials, and the state that all of them have. This row outlives the session. */
export interface CredentialStatus {
  readonly state: CredentialState
  readonly entries: readonly (StatusEntry & { readonly configurationId: string })[]
  /** The order of the last event about it; absent before the first. */
  readonly lastEvent?: number
  /**
   * When verifiers have seen the last change of the state: one may have fetched the list right before the change, and
   * keep it for its ttl. In milliseconds since the epoch; absent before the first change, and in earlier releases.
   */
  readonly seenBy?: number
}

/** A status list, the version of whose row counts the changes of its bits. */
export interface StoredStatusList {
  readonly entries: number
  readonly bits: typeof STATUS_WIDTH
  /** The thumbprint of the key that the list was begun with; absent in rows of earlier releases. */
  readonly kid?: string
  /** The generation of the database in which the list was begun; absent in rows of earlier releases. */
  readonly generation?: string
}

/** A part of a list's bits, by list and number; a part that is missing is all zero. */
export interface StatusChunk {
  /** The bits in base64. */
  readonly bits: string
}

/** The list that new entries come from, and how many of its entries have been given to processes. */
export interface StatusSpace {
  /** The generation of the database in which the list was begun; absent in rows of earlier releases. */
  readonly generation?: string
  /** The key that the list is signed with, as in its own row. */
  readonly kid?: string
  readonly listId: string
  readonly entries: number
  readonly next: number
  /** The key, in base64url, of the permutation that makes an index of a number. */
  readonly key: string
}

export type StatusCollections = {
  /** The status of a session's credentials, by session. */
  credential_status: CredentialStatus
  status_list: StoredStatusList
  /** The chunks of status lists by list and number, as `list.0`. */
  status_chunk: StatusChunk
  /**
   * `current`, and for lists that are signed with another key than those of `current`, a row by the thumbprint of that
   * key.
   */
  status_space: StatusSpace
}
