/** The context of the issuance service: its configuration, effects, keys, and the functions that the routes share. */
import type { CachedValue } from '../async/cache.ts'
import type { Configuration } from '../credential/format.ts'
import type { DecryptionKey, KeyRing } from '../keys/key-ring.ts'
import type { OpenidProvider } from '../openid-connect/provider.ts'
import type { ProgressRecorder } from '../progress/progress-recorder.ts'
import type { AccessContext } from './access/context.ts'
import type { SignMetadata } from './signed-metadata.ts'
import type { StatusEntry } from './status-rows.ts'

/**
 * The form of a metadata document. Drafts before the final specification append the well-known path, so the requested
 * path tells which form a wallet expects.
 */
export type MetadataVersion = 'final' | 'older'

/** The text of the member `credential_configurations_supported` of issuer metadata, for some configurations. */
export interface ConfigurationsText {
  readonly json: Uint8Array
  /** SHA-256 of the text. */
  readonly digest: string
  /** The largest batch size of the configurations; 1 if there are none. */
  readonly batchSize: number
}

/**
 * The text for all configurations that the metadata of the service lists: those that new sessions may use, and removed
 * ones that existing sessions may need. `idsByScope` has the ids of those that new sessions may use and have a scope.
 */
export interface OfferedConfigurationsText extends ConfigurationsText {
  readonly idsByScope: ReadonlyMap<string, readonly string[]>
}

/** A configuration of the database, and its id there, by which sessions and wallets name it. */
export type LoadedConfiguration = Configuration & { readonly id: string }

/** Allocates `count` status list entries. Each entry is allocated once. Rejects if the store fails. */
export type AllocateEntries = (count: number) => Promise<readonly StatusEntry[]>

/** The times of a signed status list. */
export interface SignedListTimes {
  readonly issuedAt: Date
  readonly expiresAt: Date
  /** The time from which a newer document is served instead of this one. */
  readonly servedUntil: Date
}

/** Records that a status list was signed. `name` is the id of the list and its kind. */
export type RecordSignedList = (name: string, times: SignedListTimes) => void

export interface IssuerContext extends AccessContext {
  readonly keys: KeyRing
  /** The OpenID Connect provider for sign-in; undefined where the application asks the person. */
  readonly signInProvider: OpenidProvider | undefined
  /** Loads a configuration, removed or not. */
  readonly loadConfiguration: (id: string) => Promise<LoadedConfiguration | undefined>
  /** The text for the metadata of the service. It may be one second behind other processes. */
  readonly offeredConfigurationsText: CachedValue<OfferedConfigurationsText>
  /** The type metadata, by `vct`. It may be one second behind other processes. */
  readonly typeMetadata: CachedValue<ReadonlyMap<string, string>>
  /** Makes the text for the configurations with these ids, including removed ones. */
  readonly makeConfigurationsText: (ids: readonly string[], version: MetadataVersion) => Promise<ConfigurationsText>
  /** Returns the text of the metadata members that do not differ between sessions. */
  readonly getSharedMembersText: (batchSize: number, version: MetadataVersion) => string
  /** Signs issuer metadata, and caches the result. */
  readonly signMetadata: SignMetadata
  /** The decryption keys for encrypted requests. The first one is in the metadata. */
  readonly decryptionKeys: readonly [DecryptionKey, ...DecryptionKey[]]
  readonly allocateEntries: AllocateEntries
  /** Records each signed status list for metrics; undefined where metrics are off. */
  readonly recordSignedList?: RecordSignedList | undefined
  /** Records the progress of wallets for the session status. */
  readonly progress: ProgressRecorder
}
