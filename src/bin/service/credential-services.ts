/**
 * The table of the issuer and the verifier, with their differences, for the code that runs, creates or checks one.
 * `kind-loaders.ts` has all service kinds, including the engine.
 */
import type { Task } from '../../async/task.ts'
import type { CommonConfig, checkSettings, ReadResult, ServiceDefaults } from '../../config/common.ts'
import type { Files } from '../../config/files.ts'
import type { App } from '../../http/app-type.ts'
import type { Effects } from '../../http/effects.ts'
import { type IssuerCollections, issuerEncryptedCollections, issuerMigrations } from '../../issuer/collections.ts'
import {
  type IssuerConfig,
  IssuerSettings,
  issuerDefaults,
  issuerTitle,
  readIssuerConfig,
} from '../../issuer/config.ts'
import type { RecordSignedList } from '../../issuer/context.ts'
import { issuanceStatus } from '../../issuer/session.ts'
import { createIssuerTasks } from '../../issuer/tasks.ts'
import { voidIssuanceSessions } from '../../issuer/voiding.ts'
import type { Pkcs11Tokens } from '../../keys/pkcs11/signer.ts'
import { type Migration, partOf, type Store } from '../../store/store.ts'
import { separateUnreadable } from '../../store/unreadable-rows.ts'
import {
  type VerifierCollections,
  verifierEncryptedCollections,
  verifierMigrations,
} from '../../verifier/collections.ts'
import {
  readVerifierConfig,
  type VerifierConfig,
  VerifierSettings,
  verifierDefaults,
  verifierTitle,
} from '../../verifier/config.ts'
import { verificationStatus } from '../../verifier/session.ts'
import { createVerifierTasks } from '../../verifier/tasks.ts'
import { readListEnds } from '../../verifier/trust-list/stored.ts'
import { voidVerificationSessions } from '../../verifier/voiding.ts'

interface Configs {
  readonly issuer: IssuerConfig
  readonly verifier: VerifierConfig
}
export interface Collections {
  readonly issuer: IssuerCollections
  readonly verifier: VerifierCollections
}

export type CredentialServiceName = keyof Configs
export type ConfigOf<Name extends CredentialServiceName> = Configs[Name]
export type StoreOf<Name extends CredentialServiceName> = Store<Collections[Name]>

interface CredentialService<Config extends CommonConfig, C> {
  /** The schema of its `server.json`. */
  readonly settings: Parameters<typeof checkSettings>[0]
  readonly readConfig: (value: unknown, files: Files, at: Date) => ReadResult<Config>
  readonly defaults: ServiceDefaults
  /** The title of the OpenAPI document. */
  readonly title: string
  /** The name for people that `vouchsafe init` writes. */
  readonly exampleName: string
  readonly migrations: readonly Migration[]
  /** The collections that are encrypted if there are keys. */
  readonly encryptedCollections: readonly (keyof C & string)[]
  /** Returns the states of the newest sessions, for metrics. */
  readonly listNewestStates: (store: Store<C>, now: () => Date, limit: number) => Promise<readonly string[]>
  /** Returns when each trust list ends, by its URL, for metrics; undefined for a list that was never fetched. */
  readonly readTrustListEnds: (config: Config, store: Store<C>) => Promise<ReadonlyMap<string, number | undefined>>
  /** Ends the sessions that were open in a restored database. Returns their number. */
  readonly voidOpen: (
    effects: Pick<Effects<C>, 'store' | 'now' | 'random' | 'retryOnConflict'>,
    restoredAt: Date,
  ) => Promise<number>
  /** Creates the server, which does not listen yet, and its tasks. The first call loads the code of the server. */
  readonly createService: (
    config: Config,
    effects: Effects<C> & {
      readonly pkcs11Tokens: Pkcs11Tokens
      readonly getCurrentConfig: () => Config
      readonly recordSignedList: RecordSignedList | undefined
    },
  ) => Promise<{ readonly app: App; readonly tasks: readonly Task[] }>
}

export const credentialServices: {
  readonly [Name in CredentialServiceName]: CredentialService<Configs[Name], Collections[Name]>
} = {
  issuer: {
    settings: IssuerSettings,
    readConfig: readIssuerConfig,
    defaults: issuerDefaults,
    title: issuerTitle,
    exampleName: 'Example Issuer',
    migrations: issuerMigrations,
    encryptedCollections: issuerEncryptedCollections,
    listNewestStates: async (store, now, limit) =>
      separateUnreadable(await store.listNewest('issuance_session', limit)).rows.map(({ value }) =>
        issuanceStatus(value, now()),
      ),
    readTrustListEnds: () => Promise.resolve(new Map()),
    voidOpen: voidIssuanceSessions,
    createService: async (config, effects) => {
      const { createIssuer } = await import('../../issuer/issuer.ts')
      return { app: await createIssuer(config, effects), tasks: createIssuerTasks(config, effects) }
    },
  },
  verifier: {
    settings: VerifierSettings,
    readConfig: readVerifierConfig,
    defaults: verifierDefaults,
    title: verifierTitle,
    exampleName: 'Example Verifier',
    migrations: verifierMigrations,
    encryptedCollections: verifierEncryptedCollections,
    listNewestStates: async (store, now, limit) =>
      separateUnreadable(await store.listNewest('verification_session', limit)).rows.map(({ value }) =>
        verificationStatus(value, now()),
      ),
    readTrustListEnds: ({ trustLists }, store) => readListEnds(trustLists, partOf(store)),
    voidOpen: voidVerificationSessions,
    createService: async (config, effects) => {
      const { createVerifier } = await import('../../verifier/verifier.ts')
      const { createStatusLists } = await import('../../check/status/status-list-loader.ts')
      const statusLists = createStatusLists(effects, config.status.allowPrivateAddresses)
      const verifierEffects = { ...effects, statusLists }
      return { app: await createVerifier(config, verifierEffects), tasks: createVerifierTasks(config, verifierEffects) }
    },
  },
}

export const credentialServiceNames = Object.keys(credentialServices) as readonly CredentialServiceName[]

export function isCredentialServiceName(word: string): word is CredentialServiceName {
  return Object.hasOwn(credentialServices, word)
}
