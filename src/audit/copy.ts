/** Exports an audit log as text: one JSON object a line, each checkpoint after the records that it signs. */
import { partOf, type Store } from '../store/store.ts'
import { type AuditCollections, blockId, HEAD } from './collections.ts'
import { writeRecord } from './record.ts'

/** Returns the lines of the log as it is in the database. Errors in it are found when the copy is verified. */
export async function* exportLog<C extends AuditCollections>(serviceStore: Store<C>): AsyncGenerator<string> {
  const store = partOf<C, AuditCollections>(serviceStore)
  const head = await store.get('audit_head', HEAD)
  for (let block = 1; block <= (head?.value.block ?? 0); block += 1) yield* await readBlockLines(store, block)
}

/** Reads the lines of a block; none where there is no such block. */
export async function readBlockLines(store: Store<AuditCollections>, block: number): Promise<readonly string[]> {
  const id = blockId(block)
  const [blockRow, checkpointRow] = await Promise.all([store.get('audit_block', id), store.get('audit_checkpoint', id)])
  const records = blockRow?.value.records.map(writeRecord) ?? []
  return checkpointRow === undefined
    ? records
    : [...records, JSON.stringify({ checkpoint: checkpointRow.value.checkpoint })]
}
