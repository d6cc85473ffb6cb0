/**
 * The status list entries of new credentials, which `allocation.ts` finds: their status members and URLs, and the
 * change that stores them in the batch that issues the credentials. docs/decisions/0007-status-lists.md.
 */
import { type StatusPurpose, statusPurposes } from '../../codec/status-list.ts'
import type { Configuration, StatusListEntry } from '../../credential/format.ts'
import { refuse } from '../../protocol/error.ts'
import type { Change, Row } from '../../store/store.ts'
import type { IssuerCollections, IssuerStore } from '../collections.ts'
import type { IssuerContext } from '../context.ts'
import { ISSUER_PATHS } from '../issuer-addresses.ts'
import type { CredentialStatus, StatusEntry } from '../status-rows.ts'

/** Makes the status member of a credential with this entry; empty without an entry. */
export function statusOfEntry(
  { config }: IssuerContext,
  { hasBitstringStatus }: Configuration,
  entry: StatusEntry | undefined,
): { readonly status?: StatusListEntry } {
  if (entry === undefined) return {}
  const uri = listUri(config.baseUrl, entry.listId)
  const bitstrings = statusPurposes.map((purpose) => ({
    purpose,
    uri: purposeUri(config.baseUrl, entry.listId, purpose),
  }))
  return {
    status: { index: entry.index, uri, ...(hasBitstringStatus && { bitstrings }) },
  }
}

export interface IssuedEntries {
  readonly configurationId: string
  readonly entries: readonly StatusEntry[]
  /** Whether the session has not issued credentials before. */
  readonly isFirst: boolean
}

/**
 * Makes the change that stores the entries, for the batch that issues the credentials. Refuses with
 * `credential_request_denied` if the credentials of the session were revoked or suspended, since a new valid credential
 * would undo that.
 */
export async function makeEntryChanges(
  { store }: IssuerContext,
  sessionId: string,
  { configurationId, entries, isFirst }: IssuedEntries,
): Promise<readonly Change<IssuerCollections>[]> {
  const row = isFirst ? undefined : await refuseUnlessValid(store, sessionId, 'credential_request_denied')
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
 * Refuses with the error of the endpoint if the session's credentials were revoked or suspended. Returns their status
 * otherwise, if they have one.
 */
export async function refuseUnlessValid(
  store: IssuerStore,
  sessionId: string,
  error: 'credential_request_denied' | 'invalid_grant',
): Promise<Row<CredentialStatus> | undefined> {
  const row = await store.get('credential_status', sessionId)
  if (row === undefined || row.value.state === 'VALID') return row
  return refuse(error, `the credentials of this session have been ${row.value.state.toLowerCase()}`)
}

/** Returns the URL of a list as a status list token. */
export function listUri(baseUrl: string, listId: string): string {
  return `${baseUrl}${ISSUER_PATHS.statusList}/${listId}`
}

/** Returns the URL of a list as a W3C status list credential for `purpose`. */
export function purposeUri(baseUrl: string, listId: string, purpose: StatusPurpose): string {
  return `${listUri(baseUrl, listId)}/${purpose}`
}
