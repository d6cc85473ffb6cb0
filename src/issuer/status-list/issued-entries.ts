/** The entries that a session's credentials get, and how they are kept: in the batch that issues them. */
import type { Configuration, OrderedStatus } from '../../credential/format.ts'
import { refuse } from '../../protocol/error.ts'
import type { Change, Row } from '../../store/store.ts'
import type { IssuerCollections, IssuerStore } from '../collections.ts'
import type { IssuerContext } from '../context.ts'
import type { CredentialStatus, StatusEntry } from '../status-rows.ts'

/** The purposes of the W3C's lists of the same bits. Bitstring Status List, BitstringStatusListEntry. */
export const PURPOSES = ['revocation', 'suspension'] as const
export type StatusPurpose = (typeof PURPOSES)[number]

/** Allocates an entry for each of `count` credentials; none where the configuration has `revocable: false`. */
export async function allocateStatusEntries(
  { allocateEntries }: IssuerContext,
  { isRevocable }: Configuration,
  count: number,
): Promise<readonly StatusEntry[]> {
  return isRevocable ? allocateEntries(count) : []
}

/** Returns the status that a credential with this entry names; empty without an entry. */
export function statusOfEntry(
  { config }: IssuerContext,
  { hasBitstringStatus }: Configuration,
  entry: StatusEntry | undefined,
): { readonly status?: OrderedStatus } {
  if (entry === undefined) return {}
  const uri = listUri(config.baseUrl, entry.listId)
  const bitstrings = PURPOSES.map((purpose) => ({ purpose, uri: purposeUri(config.baseUrl, entry.listId, purpose) }))
  return {
    status: { index: entry.index, uri, ...(hasBitstringStatus && { bitstrings }) },
  }
}

export interface IssuedEntries {
  readonly configurationId: string
  readonly entries: readonly StatusEntry[]
  /** Whether the session has issued nothing yet. */
  readonly isFirst: boolean
}

/**
 * Returns the change that keeps the entries, for the batch that issues. Refuses with `credential_request_denied` when
 * the credentials of the session have been revoked or suspended: one more that holds would undo that, whether it has an
 * entry or not.
 */
export async function makeEntryChanges(
  { store }: IssuerContext,
  sessionId: string,
  { configurationId, entries, isFirst }: IssuedEntries,
): Promise<readonly Change<IssuerCollections>[]> {
  const row = isFirst ? undefined : await requireValidStatus(store, sessionId)
  if (entries.length === 0) return []
  const newEntries = entries.map((entry) => ({ configurationId, ...entry }))
  if (row === undefined) {
    const value: CredentialStatus = { state: 'VALID', entries: newEntries }
    return [{ insert: 'credential_status', id: sessionId, value }]
  }
  const value = { ...row.value, entries: [...row.value.entries, ...newEntries] }
  return [{ update: 'credential_status', id: sessionId, version: row.version, value }]
}

/**
 * Returns the status of the session's credentials, where they have one. Refuses with `credential_request_denied` when
 * they have been revoked or suspended.
 */
export async function requireValidStatus(
  store: IssuerStore,
  sessionId: string,
): Promise<Row<CredentialStatus> | undefined> {
  const row = await store.get('credential_status', sessionId)
  if (row === undefined || row.value.state === 'VALID') return row
  const stateText = row.value.state === 'REVOKED' ? 'revoked' : 'suspended'
  return refuse('credential_request_denied', `the credentials of this session have been ${stateText}`)
}

/** Returns where a list is served as a status list token. */
export function listUri(baseUrl: string, listId: string): string {
  return `${baseUrl}/status-list/${listId}`
}

/** Returns the URL of a status list as a W3C status list credential of one `purpose`. */
export function purposeUri(baseUrl: string, listId: string, purpose: StatusPurpose): string {
  return `${listUri(baseUrl, listId)}/${purpose}`
}
