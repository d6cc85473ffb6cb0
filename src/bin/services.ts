/** The services, in one table: what differs between them, for whatever runs, makes or examines one. */
import type { CommonConfig, checkSettings, ReadResult, ServiceDefaults } from '../config/common.ts'
import type { Files } from '../config/files.ts'
import type { App } from '../http/app-type.ts'
import type { Effects } from '../http/effects.ts'
import { type IssuerCollections, issuerMigrations, issuerSecrets } from '../issuer/collections.ts'
import { type IssuerConfig, IssuerSettings, issuerDefaults, issuerTitle, readIssuerConfig } from '../issuer/config.ts'
import { issuerUpkeep } from '../issuer/upkeep.ts'
import type { Tokens } from '../keys/token-signer.ts'
import type { Migration, Store } from '../store/store.ts'
import type { Task } from '../store/upkeep.ts'
import { type VerifierCollections, verifierMigrations, verifierSecrets } from '../verifier/collections.ts'
import {
  readVerifierConfig,
  type VerifierConfig,
  VerifierSettings,
  verifierDefaults,
  verifierTitle,
} from '../verifier/config.ts'
import { verifierTasks } from '../verifier/tasks.ts'

interface Configs {
  readonly issuer: IssuerConfig
  readonly verifier: VerifierConfig
}
export interface Collections {
  readonly issuer: IssuerCollections
  readonly verifier: VerifierCollections
}

export type ServiceName = keyof Configs
export type ConfigOf<Name extends ServiceName> = Configs[Name]
export type StoreOf<Name extends ServiceName> = Store<Collections[Name]>

interface Kind<Config extends CommonConfig, C> {
  /** The schema of its `server.json`. */
  readonly settings: Parameters<typeof checkSettings>[0]
  readonly read: (value: unknown, files: Files, at: Date) => ReadResult<Config>
  readonly defaults: ServiceDefaults
  /** The title of the OpenAPI document. */
  readonly title: string
  readonly migrations: readonly Migration[]
  /** The collections that are encrypted where there is a key. */
  readonly secrets: readonly (keyof C & string)[]
  /** The background tasks of the service. */
  readonly upkeep: (config: Config, effects: Effects<C> & { readonly tokens: Tokens }) => readonly Task[]
  /** A server that does not listen yet. Its code is loaded with the first. */
  readonly create: (
    config: Config,
    effects: Effects<C> & { readonly tokens: Tokens; readonly current: () => Config },
  ) => Promise<App>
}

export const services: { readonly [Name in ServiceName]: Kind<Configs[Name], Collections[Name]> } = {
  issuer: {
    settings: IssuerSettings,
    read: readIssuerConfig,
    defaults: issuerDefaults,
    title: issuerTitle,
    migrations: issuerMigrations,
    secrets: issuerSecrets,
    upkeep: issuerUpkeep,
    create: async (config, effects) => (await import('../issuer/issuer.ts')).createIssuer(config, effects),
  },
  verifier: {
    settings: VerifierSettings,
    read: readVerifierConfig,
    defaults: verifierDefaults,
    title: verifierTitle,
    migrations: verifierMigrations,
    secrets: verifierSecrets,
    upkeep: verifierTasks,
    create: async (config, effects) => (await import('../verifier/verifier.ts')).createVerifier(config, effects),
  },
}

export const serviceNames = Object.keys(services) as readonly ServiceName[]

export function isServiceName(word: string): word is ServiceName {
  return Object.hasOwn(services, word)
}
