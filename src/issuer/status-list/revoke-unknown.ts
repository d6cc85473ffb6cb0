/**
 * The revocation of credentials that an issuer does not know, since they were issued after the backup from which its
 * database was restored: nobody could revoke them one by one. docs/decisions/0010-generations.md.
 */
import type { UpdateEffects } from '../../store/store.ts'
import type { IssuerCollections } from '../collections.ts'
import { type CredentialStatus, STATUS_VALUES } from '../status-rows.ts'
import { setOtherEntries } from './chunks.ts'

/** A list of an earlier generation, and how many of its entries have been revoked as nobody's that is known. */
export interface RevokedEntries {
  readonly listId: string
  readonly entries: number
  readonly revoked: number
}

/**
 * Revokes every entry that no credential of `readStatuses` has, in each list that no entries are given out from any
 * more since an earlier generation began it; also the entries that were never given out, which cannot be told from
 * those of credentials that are not known. Returns undefined, and changes nothing, when the database was never
 * restored. Once every process has been started again since the restore, no credential that is issued is among them.
 */
export async function revokeUnknown(
  effects: UpdateEffects<IssuerCollections>,
  readStatuses: () => AsyncIterable<CredentialStatus>,
): Promise<readonly RevokedEntries[] | undefined> {
  const { store } = effects
  const generation = (await store.get('generation', 'current'))?.value
  if (generation?.restoredAt === undefined) return undefined
  const spaces = await store.list('status_space')
  const currentIds = new Set(spaces.flatMap(({ value }) => (value.generation === generation.id ? [value.listId] : [])))
  const lists = (await store.list('status_list')).filter(({ id }) => !currentIds.has(id))
  const knownIndexes = new Map(lists.map(({ id, value }) => [id, new Uint8Array(value.entries)]))
  for await (const { entries } of readStatuses()) {
    for (const { listId, index } of entries) knownIndexes.get(listId)?.fill(1, index, index + 1)
  }
  const result: RevokedEntries[] = []
  for (const { id: listId, value } of lists) {
    const list = { listId, entries: value.entries }
    const isKnown = (index: number): boolean => knownIndexes.get(listId)?.[index] === 1
    const revoked = await setOtherEntries(effects, list, isKnown, STATUS_VALUES.REVOKED)
    result.push({ ...list, revoked })
  }
  return result
}
