/** Opens the database of an engine of the demo, for what only its operator can do. */
import { join } from 'node:path'
import type { EngineStore } from '../../engine/collections.ts'
import { readEngineConfig } from '../../engine/config.ts'
import { CONFIG_FILE } from '../command-table/command.ts'
import { filesIn, now } from '../effects.ts'
import { openStore } from '../engine/store.ts'
import { readConfigFile } from '../service/config-file.ts'

/**
 * Runs `work` on the embedded database of the engine in `directory`. The engine must not be running. Throws a message
 * for the operator if the database cannot be opened.
 */
export async function withEngineStore(directory: string, work: (store: EngineStore) => Promise<void>): Promise<void> {
  const file = readConfigFile(join(directory, CONFIG_FILE), 'engine')
  const result = 'mistakes' in file ? file : readEngineConfig(file.value, filesIn(directory), now())
  if ('mistakes' in result) throw new Error(result.mistakes.join('\n'))
  const { config } = result
  if (config.database.kind !== 'sqlite') throw new Error('the database of this engine is not embedded')
  const store = await openStore(config)
  if ('mistake' in store) throw new Error(store.mistake)
  try {
    await work(store)
  } finally {
    await store.close()
  }
}
