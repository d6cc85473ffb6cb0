/** Opens the configured database for commands of operators, while the service may be running. */
import { type DatabaseConfig, describeDatabase } from '../../config/database.ts'
import type { EventCollections } from '../../event/event.ts'
import type { IssuerCollections } from '../../issuer/collections.ts'
import type { IssuerConfig } from '../../issuer/config.ts'
import type { Migration, Store } from '../../store/store.ts'
import { schemaOf, schemaText } from '../db/status.ts'
import { withTables } from '../db/tables.ts'
import { openDatabase } from '../effects.ts'
import { readConfiguredService, type ServiceWords } from '../service/configured-service.ts'
import { credentialServiceNames } from '../service/credential-services.ts'
import { openingFailureOf } from './checked-database.ts'

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
  await refuseOtherSchema(database, migrations)
  const store = await openDatabase<C>(database, migrations).catch((error: unknown) => {
    throw new Error(openingFailureOf(database, error).mistake, { cause: error })
  })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/**
 * Throws a message for the operator if the database does not exist, or does not have the schema of this release: only a
 * service at its start and `vouchsafe db migrate` change the schema, since processes of the release before may use it.
 */
async function refuseOtherSchema(database: DatabaseConfig, migrations: readonly Migration[]): Promise<void> {
  const schema = await withTables(database, ({ appliedMigrations }) =>
    Promise.resolve(schemaOf(appliedMigrations, migrations)),
  )
  if (schema.missing.length === 0) return
  throw new Error(`${describeDatabase(database)}: the schema cannot be used: ${schemaText(schema)}`)
}
