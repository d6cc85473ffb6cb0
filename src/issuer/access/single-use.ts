/**
 * Single use of a nonce, a proof or a transaction id, and what proofs of possession have in common. Each use inserts or
 * deletes a row in the batch of its request, and a second use of the same row conflicts. The rows of used proofs are in
 * `spent_nonce`, as those of nonces are.
 */
import { digestOf } from '../../codec/digest.ts'
import { type JsonObject, memberOf } from '../../codec/json.ts'
import type { Change } from '../../store/store.ts'
import type { IssuerCollections, IssuerStore } from '../collections.ts'
import { MAX_PROOF_AGE_SECONDS } from './jwt-checks.ts'

/** A change that can be committed once, and the refusal of a request that commits it again. */
export interface SingleUse {
  readonly change: Change<IssuerCollections>
  readonly refuseReuse: () => never
}

/** The single use of a nonce or a proof. Its row can be read before the commit. */
export interface StoredUse extends SingleUse {
  readonly change: Change<IssuerCollections, 'spent_nonce'>
}

/** The kind, key and `jti` of a proof, whose `iat` has been checked. */
export interface IdentifiedProof {
  /** The kind of the proof. The ids of other single-use values do not begin with this word. */
  readonly kind: 'dpop' | 'attestation'
  /** The JWK thumbprint of the proof's key. */
  readonly thumbprint: string
  /** The `jti` of the proof. */
  readonly id: string
  readonly payload: JsonObject
}

/** Makes the single use of a proof. Its row is stored until the proof expires. */
export function proofUseOf(
  { kind, thumbprint, id, payload }: IdentifiedProof,
  refuseReuse: SingleUse['refuseReuse'],
): StoredUse {
  const dueAt = new Date(Math.ceil((Number(memberOf(payload, 'iat')) + MAX_PROOF_AGE_SECONDS) * 1000) + 1)
  const rowId = `${kind}.${digestOf(`${thumbprint}.${id}`)}`
  return { change: { insert: 'spent_nonce', id: rowId, value: {}, dueAt }, refuseReuse }
}

/**
 * Commits `changes` together with the single uses. Calls `refuseReuse` of a single use that was committed before, and
 * commits nothing then. Returns another change that conflicted, if any.
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

/** Refuses a nonce or a proof that was used before. The commit checks this too; this earlier check saves work. */
export async function refuseIfUsed(store: IssuerStore, { change, refuseReuse }: StoredUse): Promise<void> {
  if (await store.get('spent_nonce', change.id)) refuseReuse()
}
