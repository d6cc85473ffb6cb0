/**
 * Revokes credentials that the database does not know, because they were issued after the backup from which it was
 * restored. They cannot be revoked by session. docs/decisions/0010-generations.md.
 */
import { statusAt } from '../../codec/status-list.ts'
import { makeEventChange } from '../../event/event.ts'
import type { Effects } from '../../http/effects.ts'
import { readGeneration } from '../../store/generation.ts'
import type { IssuerCollections, IssuerStore } from '../collections.ts'
import { type CredentialStatus, STATUS_VALUES, STATUS_WIDTH, type StoredStatusList } from '../status-rows.ts'
import { makeBitChanges, readBits } from './chunks.ts'

/** A list of an earlier generation, and the number of its newly revoked entries. */
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
 * Revokes every entry that no known credential has, in each list of an earlier generation. Includes entries that were
 * never allocated, which cannot be distinguished. `readStatuses` returns the status of all sessions. These lists
 * allocate no more entries once all processes were restarted after the restore. The audit log records each changed
 * list.
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
 * Finds the lists of earlier generations. Reads the lists before the generation, so that none is newer. A list of an
 * earlier release has no generation: it counts as an earlier one if the database was restored and the list allocates no
 * entries.
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

/** Revokes the valid entries of a list for which `isKnown` returns false, and returns their number. */
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
    const conflict = await store.commit([...bitChanges, makeEventChange(event, random)])
    return conflict === undefined ? { committed: entries.length } : { conflict }
  })
}
