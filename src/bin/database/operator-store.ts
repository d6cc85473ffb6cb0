/** Opens the configured database for commands of operators, while the service may be running. */
import type { DatabaseConfig } from '../../config/database.ts'
import type { EventCollections } from '../../event/event.ts'
import type { IssuerCollections } from '../../issuer/collections.ts'
import type { IssuerConfig } from '../../issuer/config.ts'
import type { Migration, Store } from '../../store/store.ts'
import { openDatabase } from '../effects.ts'
import { refuseMissingFile } from '../embedded-database/file-refusals.ts'
import { readConfiguredService, type ServiceWords } from '../service/configured-service.ts'
import { credentialServiceNames } from '../service/credential-services.ts'
import { openingMistakeOf } from './checked-database.ts'

/**
 * Runs `work` on the database of an issuer or a verifier. Throws a message for the operator if the configuration or the
 * database is invalid.
 */
export async function withStore<T>(
  words: ServiceWords,
  work: (store: Store<EventCollections>) => Promise<T>,
): Promise<T> {
  const { kind, config } = await readConfiguredService(words, credentialServiceNames)
  return withDatabase<EventCollections, T>(config.database, kind.migrations, work)
}

/** Runs `work` on the database of an issuer and its configuration. Throws like {@link withStore}. */
export async function withIssuer<T>(
  configFile: string,
  work: (store: Store<IssuerCollections>, config: IssuerConfig) => Promise<T>,
): Promise<T> {
  const { kind, config } = await readConfiguredService({ service: 'issuer', config: configFile })
  return withDatabase<IssuerCollections, T>(config.database, kind.migrations, (store) =>
    work(store, config as IssuerConfig),
  )
}

async function withDatabase<C, T>(
  database: DatabaseConfig,
  migrations: readonly Migration[],
  work: (store: Store<C>) => Promise<T>,
): Promise<T> {
  // A command must not create the database.
  if (database.kind === 'sqlite') refuseMissingFile(database.file)
  const store = await openDatabase<C>(database, migrations).catch((error: unknown) => {
    throw new Error(openingMistakeOf(database, error).mistake, { cause: error })
  })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}
