/** What of an audit log is stored. */
import type { AuditRecord } from './record.ts'

/** Records that were written together. */
export interface AuditBlock {
  readonly records: readonly AuditRecord[]
}

/** Where the log stands. Whoever writes moves it, on the condition that nobody else has: so the chain never forks. */
export interface AuditHead {
  /** The id of the log. */
  readonly log: string
  /** The number of the last block; the first is 1. */
  readonly block: number
  /** Of the last record. */
  readonly sequence: number
  readonly hash: string
}

export type AuditCollections = {
  audit_head: AuditHead
  /** By {@link blockId}. */
  audit_block: AuditBlock
  /** By the block that it was written after: compact JWS. */
  audit_checkpoint: { readonly checkpoint: string }
}

/** Of the only row of its collection. */
export const HEAD = 'head'

/** Padded, so that ids stand in the order of blocks. */
export function blockId(block: number): string {
  return String(block).padStart(12, '0')
}
