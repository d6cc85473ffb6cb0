/**
 * Signs the head of the audit log from time to time. The checkpoint is also written to the log stream, so that a copy
 * exists outside of the database.
 */
import type { Logger } from 'pino'
import { writeCheckpoint } from '../audit/checkpoint.ts'
import { type AuditCollections, blockId, HEAD } from '../audit/collections.ts'
import { HEAD_SET_BACK, isSetBack } from '../audit/copy.ts'
import type { Signer } from '../keys/signer.ts'
import { partOf, type Store } from '../store/store.ts'
import type { EventCollections } from './event.ts'

export interface CheckpointContext {
  readonly store: Store<EventCollections>
  /** The signer of checkpoints. A checkpoint names only the key, so that a renewed certificate makes no difference. */
  readonly signer: Signer
  readonly now: () => Date
  readonly log: Logger
}

/**
 * Signs and stores a checkpoint for the current head, and logs it. Does nothing when there is one already. Throws when
 * the head was set back.
 */
export async function signAuditLog({ store, signer, now, log }: CheckpointContext): Promise<void> {
  const head = await store.get('audit_head', HEAD)
  if (head === undefined) return
  const { block, sequence, hash, log: logId } = head.value
  const id = blockId(block)
  if ((await store.get('audit_checkpoint', id)) !== undefined) return
  if (await isSetBack(partOf<EventCollections, AuditCollections>(store), head.value)) throw new Error(HEAD_SET_BACK)
  const checkpoint = await writeCheckpoint(signer, { log: logId, sequence, hash, at: now().toISOString() })
  const conflict = await store.commit([{ insert: 'audit_checkpoint', id, value: { checkpoint } }])
  if (conflict !== undefined) return
  const text = 'the head of the audit log was signed; keep a copy of the checkpoint elsewhere'
  log.info({ event: 'audit_checkpoint', sequence, checkpoint }, text)
}
