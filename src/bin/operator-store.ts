/** Opens the configured database for commands of operators, while the service may be running. */
import { existsSync } from 'node:fs'
import type { CommonConfig } from '../config/common.ts'
import type { DatabaseConfig } from '../config/database.ts'
import type { EventCollections } from '../event/event.ts'
import type { IssuerCollections } from '../issuer/collections.ts'
import type { IssuerConfig } from '../issuer/config.ts'
import type { Migration, Store } from '../store/store.ts'
import { openingMistakeOf } from './checked-database.ts'
import { readConfigFile, requireConfig } from './config-file.ts'
import { openDatabase } from './effects.ts'
import {
  type CredentialServiceName,
  credentialServiceNames,
  credentialServices,
  isCredentialServiceName,
} from './service/credential-services.ts'
import { findService, refuseOtherService, unknownServiceMistake } from './service/which-service.ts'

/** The service and the configuration file of a command. */
interface ServiceWords {
  readonly service?: string | undefined
  readonly config: string
}

/**
 * Runs `work` on the database of the service. Throws a message for the operator if the configuration or the database is
 * invalid.
 */
export async function withStore<T>(
  words: ServiceWords,
  work: (store: Store<EventCollections>) => Promise<T>,
): Promise<T> {
  const { service, config } = await readServiceConfig(words)
  const { migrations } = credentialServices[service]
  return withDatabase<EventCollections, T>(config.database, migrations, work)
}

/** Runs `work` on the database of an issuer and its configuration. Throws like {@link withStore}. */
export async function withIssuer<T>(
  configFile: string,
  work: (store: Store<IssuerCollections>, config: IssuerConfig) => Promise<T>,
): Promise<T> {
  const { config } = await readServiceConfig({ service: 'issuer', config: configFile })
  const { migrations } = credentialServices.issuer
  return withDatabase<IssuerCollections, T>(config.database, migrations, (store) => work(store, config as IssuerConfig))
}

async function readServiceConfig({
  service: name,
  config,
}: ServiceWords): Promise<{ readonly service: CredentialServiceName; readonly config: CommonConfig }> {
  const file = readConfigFile(config, name)
  if ('mistakes' in file) throw new Error(file.mistakes.join('\n'))
  const service = name === undefined ? await findService(file.value) : parseServiceName(name)
  if (service === 'engine')
    throw new Error(`${config} is an engine's configuration; name one of an issuer or a verifier`)
  if (service === undefined) throw new Error(unknownServiceMistake(config, credentialServiceNames))
  await refuseOtherService(file.value, service, config)
  return { service, config: requireConfig<CommonConfig>(credentialServices[service], config, file) }
}

async function withDatabase<C, T>(
  database: DatabaseConfig,
  migrations: readonly Migration[],
  work: (store: Store<C>) => Promise<T>,
): Promise<T> {
  // A command must not create the database.
  if (database.kind === 'sqlite' && !existsSync(database.file)) {
    throw new Error(`${database.file}: there is no such database; has the service run here?`)
  }
  const store = await openDatabase<C>(database, migrations).catch((error: unknown) => {
    throw new Error(openingMistakeOf(database, error).mistake, { cause: error })
  })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

function parseServiceName(word: string): CredentialServiceName {
  if (isCredentialServiceName(word)) return word
  throw new Error(`--service ${word}: say issuer or verifier`)
}
