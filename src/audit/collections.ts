/** The collections of an audit log. */
import type { AuditRecord } from './record.ts'

/** The records that were written in one batch. */
export interface AuditBlock {
  readonly records: readonly AuditRecord[]
}

/** The head of the log. A writer updates it on condition that no other writer has, so that the chain never forks. */
export interface AuditHead {
  /** The id of the log. */
  readonly log: string
  /** The number of the last block; the first is 1. */
  readonly block: number
  /** The number of the last record; `hash` is its hash. */
  readonly sequence: number
  readonly hash: string
}

export type AuditCollections = {
  audit_head: AuditHead
  /** The blocks by {@link blockId}. */
  audit_block: AuditBlock
  /** The checkpoints as compact JWS, by the id of the block that they follow. */
  audit_checkpoint: { readonly checkpoint: string }
}

/** The id of the only row of `audit_head`. */
export const HEAD = 'head'

/** Returns the id of a block: its number, padded so that ids sort by number. */
export function blockId(block: number): string {
  return String(block).padStart(12, '0')
}
