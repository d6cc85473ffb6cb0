/** The issuer and the verifier as services of the command: a server on a database with encrypted personal data. */
import type { Logger } from 'pino'
import { describeDatabase } from '../config/database.ts'
import { findTokenMistakes } from '../keys/token-check.ts'
import { conflictTask } from './conflicts.ts'
import { encryptDatabase, now, outbound, random, retryOnConflict, tokens } from './effects.ts'
import { signingKeyMistakes } from './renewal.ts'
import { keepYoungGenerationSmall } from './running.ts'
import { openServiceDatabase } from './service-database.ts'
import type { BuiltService, ServiceKind } from './service-kind.ts'
import { type ConfigOf, type ServiceName, type StoreOf, services } from './services.ts'

export function credentialServiceKind<Name extends ServiceName>(
  name: Name,
): ServiceKind<ConfigOf<Name>, StoreOf<Name>> {
  const { settings, read } = services[name]
  return {
    name,
    settings,
    read,
    open: (config, log) => openStore(name, config, log),
    build: (config, store, log) => build(name, config, store, log),
    close: (store) => store.close(),
    fixedMistakes: signingKeyMistakes,
    onListening: keepYoungGenerationSmall,
  }
}

/** The open database, with what is personal in it encrypted when there is a key; or why there is none. */
async function openStore<Name extends ServiceName>(
  name: Name,
  config: ConfigOf<Name>,
  log: Logger,
): Promise<{ readonly parts: StoreOf<Name> } | { readonly mistake: string }> {
  const { migrations, secrets } = services[name]
  const { database, keys } = config
  const mistakes = await findTokenMistakes(keys, tokens)
  if (mistakes.length > 0) return { mistake: mistakes.join('; ') }
  let store: StoreOf<Name>
  try {
    store = await openServiceDatabase(database, migrations, { log })
  } catch (error) {
    return { mistake: `database.url: ${describeDatabase(database)}: ${(error as Error).message}` }
  }
  try {
    return { parts: await encryptDatabase(store as never, secrets as never, config) }
  } catch (error) {
    await store.close()
    return { mistake: `database.encryptionKeyFile: ${(error as Error).message}` }
  }
}

async function build<Name extends ServiceName>(
  name: Name,
  config: ConfigOf<Name>,
  store: StoreOf<Name>,
  log: Logger,
): Promise<BuiltService<ConfigOf<Name>>> {
  const { create, upkeep } = services[name]
  let current = config
  const effects = { store, retryOnConflict, outbound, now, random, log, tokens }
  return {
    app: await create(config, { ...effects, current: () => current }),
    tasks: [...upkeep(config, effects), conflictTask(log)],
    renew: (next) => {
      current = next
    },
  }
}
