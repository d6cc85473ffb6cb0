/** Exports an audit log as text: one JSON object in each line, and each checkpoint after the records that it signs. */
import { isObject, type Json, memberOf, stringMemberOf } from '../codec/json.ts'
import { DamagedValueError } from '../store/statements.ts'
import { partOf, type Row, type Store } from '../store/store.ts'
import { type AuditBlock, type AuditCollections, type AuditHead, blockId, HEAD } from './collections.ts'
import { type AuditRecord, writeRecord } from './record.ts'

/** The message for a log whose head was set back in the database. */
export const HEAD_SET_BACK =
  'the audit log has a block after the one that it ends with: its head was set back, which no service does; compare it with a copy of the log, and repair the database'

/**
 * Yields the lines of the log in the database, and that of a damaged block when the head was set back. Does not verify
 * them; errors are found when the copy is verified.
 */
export async function* exportLog<C extends AuditCollections>(serviceStore: Store<C>): AsyncGenerator<string> {
  const store = partOf<C, AuditCollections>(serviceStore)
  const head = await store.get('audit_head', HEAD)
  if (head === undefined) return
  for (let block = 1; block <= head.value.block; block += 1) yield* await readBlockLines(store, block)
  if (await isSetBack(store, head.value)) yield damagedLine(head.value.block + 1)
}

/**
 * Tests whether a block follows the head. Reads the head again, since a process may have written both in the meantime.
 */
export async function isSetBack(store: Store<AuditCollections>, { block }: AuditHead): Promise<boolean> {
  const lines = await readBlockLines(store, block + 1)
  return lines.length > 0 && (await store.get('audit_head', HEAD))?.value.block === block
}

/**
 * Reads the lines of a block; none when there is no such block. When the block cannot be read, returns a line that
 * names the block; a copy with such a line is not intact.
 */
export async function readBlockLines(store: Store<AuditCollections>, block: number): Promise<readonly string[]> {
  const id = blockId(block)
  const [records, checkpoints] = await Promise.all([
    readLines(block, async () => recordsOf(await store.get('audit_block', id)).map(writeRecord)),
    readLines(block, async () => {
      const row = await store.get('audit_checkpoint', id)
      return row === undefined ? [] : [JSON.stringify({ checkpoint: checkpointOf(row.value) })]
    }),
  ])
  return [...records, ...checkpoints]
}

async function readLines(block: number, read: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await read()
  } catch (error) {
    if (error instanceof DamagedValueError) return [damagedLine(block)]
    throw error
  }
}

function damagedLine(block: number): string {
  return JSON.stringify({ damaged: block })
}

/** Returns the records of a block; none without a row. Throws a DamagedValueError if the value is not a block. */
export function recordsOf(row: Row<AuditBlock> | undefined): readonly AuditRecord[] {
  if (row === undefined) return []
  const records = memberOf(row.value as unknown as Json, 'records')
  if (!Array.isArray(records) || !records.every(isObject))
    throw new DamagedValueError('a block of the audit log is damaged')
  return row.value.records
}

/** Returns the text of a checkpoint. Throws a DamagedValueError if the value is not a checkpoint. */
export function checkpointOf(value: AuditCollections['audit_checkpoint']): string {
  const checkpoint = stringMemberOf(value, 'checkpoint')
  if (checkpoint === undefined) throw new DamagedValueError('a checkpoint of the audit log is damaged')
  return checkpoint
}
