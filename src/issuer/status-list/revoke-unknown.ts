/**
 * The revocation of credentials that an issuer does not know, since they were issued after the backup from which its
 * database was restored: nobody could revoke them one by one. docs/decisions/0010-generations.md.
 */
import { statusAt } from '../../codec/status-list.ts'
import { recordEvent } from '../../event/event.ts'
import type { Effects } from '../../http/effects.ts'
import { readGeneration } from '../../store/generation.ts'
import type { IssuerCollections, IssuerStore } from '../collections.ts'
import { type CredentialStatus, STATUS_VALUES, STATUS_WIDTH, type StoredStatusList } from '../status-rows.ts'
import { makeBitChanges, readBits } from './chunks.ts'

/** A list of an earlier generation, and how many of its entries were revoked now. */
export interface RevokedEntries {
  readonly listId: string
  readonly entries: number
  readonly revoked: number
}

type RevokingEffects = Pick<Effects<IssuerCollections>, 'store' | 'now' | 'random' | 'retryOnConflict'>

interface NamedList {
  readonly id: string
  readonly value: StoredStatusList
}

/**
 * Revokes, in each list of an earlier generation, every entry that no credential has; also those that were never given
 * out, which cannot be told from those of unknown credentials. `readStatuses` hands over the status of every session.
 * No entry is given out from these lists any more once every process has started anew in the present generation. Each
 * list of which entries were revoked is recorded in the audit log.
 */
export async function revokeUnknown(
  effects: RevokingEffects,
  readStatuses: (take: (status: CredentialStatus) => void) => Promise<void>,
): Promise<readonly RevokedEntries[]> {
  const lists = await findEarlierLists(effects.store)
  const knownIndexes = new Map(lists.map(({ id, value }) => [id, new Uint8Array(value.entries)]))
  await readStatuses(({ entries }) => {
    for (const { listId, index } of entries) knownIndexes.get(listId)?.fill(1, index, index + 1)
  })
  const result: RevokedEntries[] = []
  for (const list of lists) {
    const revoked = await revokeOthers(effects, list, (index) => knownIndexes.get(list.id)?.[index] === 1)
    result.push({ listId: list.id, entries: list.value.entries, revoked })
  }
  return result
}

/**
 * Finds the lists of earlier generations. The lists are read first, so that none of them begins after the generation is
 * read. A list of an earlier release does not name its generation: it is taken to be of an earlier one where the
 * database was restored and no entries are given out from the list.
 */
async function findEarlierLists(store: IssuerStore): Promise<readonly NamedList[]> {
  const lists = await store.list('status_list')
  const spaces = await store.list('status_space')
  const { id: current, restoredAt } = (await readGeneration(store)) ?? {}
  const currentIds = new Set(spaces.flatMap(({ value }) => (value.generation === current ? [value.listId] : [])))
  return lists.filter(({ id, value: { generation } }) =>
    generation === undefined ? restoredAt !== undefined && !currentIds.has(id) : generation !== current,
  )
}

/** Revokes every entry of a list that is valid and that `isKnown` does not know, and returns how many these are. */
function revokeOthers(
  { store, now, random, retryOnConflict }: RevokingEffects,
  { id: listId, value }: NamedList,
  isKnown: (index: number) => boolean,
): Promise<number> {
  return retryOnConflict(async () => {
    const bits = await readBits(store, listId, value)
    const entries = Array.from({ length: value.entries }, (_, index) => ({ listId, index })).filter(
      ({ index }) => statusAt(bits, STATUS_WIDTH, index) === STATUS_VALUES.VALID && !isKnown(index),
    )
    if (entries.length === 0) return { committed: 0 }
    const event = { type: 'status-list.unknown-revoked', at: now().getTime(), subject: listId } as const
    const bitChanges = await makeBitChanges(store, entries, STATUS_VALUES.REVOKED)
    const conflict = await store.commit([...bitChanges, recordEvent(event, random)])
    return conflict === undefined ? { committed: entries.length } : { conflict }
  })
}
