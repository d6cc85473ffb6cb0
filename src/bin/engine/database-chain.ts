/** Refuses a chain that is another than that of the engine's database. */
import { parseJson, stringMemberOf } from '../../codec/json.ts'
import { describeDatabase } from '../../config/database.ts'
import type { EngineStore } from '../../engine/collections.ts'
import type { EngineConfig } from '../../engine/config.ts'
import { claimDatabase } from '../../engine/database-chain.ts'
import { readRows } from '../doctor/database.ts'

type ChainConfig = Pick<EngineConfig, 'chain' | 'database'>

/** The setting that names the chain, by the type of the chain. */
const SETTINGS = { local: 'directory', evm: 'rpcUrl', partisia: 'readerUrl' } as const

/**
 * Returns the mistake, which begins with the setting, that the chain `id` is another than that of the database;
 * undefined when it is the same, or the database takes it now.
 */
export async function findChainMistake(
  config: ChainConfig,
  id: string,
  store: EngineStore,
): Promise<string | undefined> {
  return compareChains(config, id, await claimDatabase(store, id))
}

/** Returns the mistake like {@link findChainMistake}, for a database that is not open, without changing it. */
export async function findStoredChainMistake(config: ChainConfig, id: string): Promise<string | undefined> {
  try {
    const [row] = await readRows(config.database, 'select value from chain')
    const databaseId = row && stringMemberOf(parseJson(String(row.value)), 'id')
    return databaseId === undefined ? undefined : compareChains(config, id, databaseId)
  } catch {
    // Others report a database that cannot be read; that of an earlier release has no such table.
    return undefined
  }
}

function compareChains({ chain, database }: ChainConfig, id: string, databaseId: string): string | undefined {
  if (id === databaseId) return undefined
  const name = describeDatabase(database)
  return `chain.${SETTINGS[chain.type]}: this is the chain ${id}, and the database ${name} is of an engine on the chain ${databaseId}; name that chain here, or another database in database.url`
}
