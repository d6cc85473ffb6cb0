/** Single use: a request spends a nonce, a proof or a transaction by a row in its batch that can be inserted once. */
import type { Change } from '../../store/store.ts'
import type { IssuerCollections, IssuerStore } from '../collections.ts'

/** A change that a request may make once, and the refusal of a request that makes it again. */
export interface SingleUse {
  readonly change: Change<IssuerCollections>
  readonly refuseReuse: () => never
}

/**
 * Commits the changes of a request together with its single uses. Returns the change that conflicted. If a
 * single use was made before, commits nothing and calls its `refuseReuse`.
 */
export async function commitWithSingleUses(
  store: IssuerStore,
  changes: readonly Change<IssuerCollections>[],
  singleUses: readonly SingleUse[],
): Promise<Change<IssuerCollections> | undefined> {
  const batch = [...changes, ...singleUses.map(({ change }) => change)]
  if (batch.length === 0) return undefined
  const conflict = await store.commit(batch)
  if (conflict !== undefined) singleUses.find(({ change }) => change === conflict)?.refuseReuse()
  return conflict
}

/** Refuses a nonce or a proof that was spent. The batch decides; this call only saves the work of a replay. */
export async function refuseIfUsed(store: IssuerStore, { change, refuseReuse }: SingleUse): Promise<void> {
  if (await store.get('spent_nonce', change.id)) refuseReuse()
}
