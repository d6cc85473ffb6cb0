/** Exports an audit log as text: one JSON object in each line, and each checkpoint after the records that it signs. */
import { DamagedValueError } from '../store/statements.ts'
import { partOf, type Store } from '../store/store.ts'
import { type AuditCollections, blockId, HEAD } from './collections.ts'
import { writeRecord } from './record.ts'

/** Yields the lines of the log in the database. Does not verify them; errors are found when the copy is verified. */
export async function* exportLog<C extends AuditCollections>(serviceStore: Store<C>): AsyncGenerator<string> {
  const store = partOf<C, AuditCollections>(serviceStore)
  const head = await store.get('audit_head', HEAD)
  for (let block = 1; block <= (head?.value.block ?? 0); block += 1) yield* await readBlockLines(store, block)
}

/**
 * Reads the lines of a block; none when there is no such block. When the block cannot be read, returns a line that
 * names the block; a copy with such a line is not intact.
 */
export async function readBlockLines(store: Store<AuditCollections>, block: number): Promise<readonly string[]> {
  const id = blockId(block)
  const [records, checkpoints] = await Promise.all([
    readLines(block, async () => (await store.get('audit_block', id))?.value.records.map(writeRecord) ?? []),
    readLines(block, async () => {
      const row = await store.get('audit_checkpoint', id)
      return row === undefined ? [] : [JSON.stringify({ checkpoint: row.value.checkpoint })]
    }),
  ])
  return [...records, ...checkpoints]
}

async function readLines(block: number, read: () => Promise<readonly string[]>): Promise<readonly string[]> {
  try {
    return await read()
  } catch (error) {
    if (isDamage(error)) return [JSON.stringify({ damaged: block })]
    throw error
  }
}

/**
 * Tests whether an error means that a stored value is damaged. A value that is valid JSON but not a block causes a
 * TypeError.
 */
export function isDamage(error: unknown): boolean {
  return error instanceof DamagedValueError || error instanceof TypeError
}
