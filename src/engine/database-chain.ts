/**
 * The chain of an engine's database. What components stored, and the transactions that wait, belong to contracts of one
 * chain: at the same address of another chain there may be a contract of somebody else.
 */
import type { EngineStore } from './collections.ts'

const CURRENT = 'current'

/**
 * Returns the id of the chain that the database is about: `id` where it has been of none, as at the first start of an
 * engine, or at the first one of a release that stores the chain.
 */
export async function claimDatabase(store: EngineStore, id: string): Promise<string> {
  const row = await store.get('chain', CURRENT)
  if (row !== undefined) return row.value.id
  const conflict = await store.commit([{ insert: 'chain', id: CURRENT, value: { id } }])
  return conflict === undefined ? id : claimDatabase(store, id)
}
