/** The context of the issuance service: configuration, effects, keys, and the functions that its routes share. */
import type { CachedValue } from '../async/cache.ts'
import type { Configuration } from '../credential/format.ts'
import type { DecryptionKey } from '../keys/decryption-key.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import type { OpenidProvider } from '../openid-connect/provider.ts'
import type { AccessContext } from './access/context.ts'
import type { ProgressRecorder } from './progress-recorder.ts'
import type { SignMetadata } from './signed-metadata.ts'
import type { StatusEntry } from './status-rows.ts'

/**
 * The form of a document: drafts before the final specification appended the well-known path, so that the path shows
 * which form a wallet expects.
 */
export type MetadataVersion = 'final' | 'older'

/** The member `credential_configurations_supported` of issuer metadata, for some configurations. */
export interface ConfigurationsMember {
  readonly json: Uint8Array
  /** SHA-256 of the text. */
  readonly digest: string
  /** The largest batch size among them; 1 when there are none. */
  readonly batchSize: number
  /** The ids of the configurations with a scope, by their scope. */
  readonly idsByScope: ReadonlyMap<string, readonly string[]>
}

/** Allocates `count` entries, none of which was or will be given to another credential. Rejects when the store does. */
export type AllocateEntries = (count: number) => Promise<readonly StatusEntry[]>

/** The times of a status list that was signed to be published. */
export interface SignedListTimes {
  readonly issuedAt: Date
  readonly expiresAt: Date
  /** The time after which this document is not served any more, since another was signed. */
  readonly servedUntil: Date
}

/** Records that the document `name` (the id of a list and its kind) was signed to be published. */
export type RecordSignedList = (name: string, times: SignedListTimes) => void

export interface IssuerContext extends AccessContext {
  readonly keys: KeyRing
  /** The OpenID Connect provider that signs people in; undefined where the application asks them. */
  readonly signInProvider: OpenidProvider | undefined
  /** Loads a configuration, removed or not. */
  readonly loadConfiguration: (id: string) => Promise<Configuration | undefined>
  /** The metadata of every configuration that new sessions may name. Another process may be a second ahead. */
  readonly offeredConfigurations: CachedValue<ConfigurationsMember>
  /** The type metadata that is served, by the `vct`. Another process may be a second ahead. */
  readonly typeMetadata: CachedValue<ReadonlyMap<string, string>>
  /** Returns the metadata of some configurations, removed or not. */
  readonly makeConfigurationsMember: (ids: readonly string[], version: MetadataVersion) => Promise<ConfigurationsMember>
  /** Signs issuer metadata, and keeps the result while it may be served again. */
  readonly signMetadata: SignMetadata
  /** The keys that wallets encrypt their requests to; the first is published. */
  readonly decryptionKeys: readonly [DecryptionKey, ...DecryptionKey[]]
  readonly allocateEntries: AllocateEntries
  /** Notes each status list that is signed, for metrics; undefined where nobody reads these. */
  readonly recordSignedList?: RecordSignedList | undefined
  /** Records how far wallets come in their sessions, for the status. */
  readonly progress: ProgressRecorder
}
