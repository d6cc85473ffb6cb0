/** What the issuance service works with: everything it does not decide itself comes in here. */
import type { JsonObject } from '../codec/json.ts'
import type { Effects } from '../http/effects.ts'
import type { DecryptionKey } from '../keys/decryption-key.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import type { Secrets } from '../keys/secrets.ts'
import type { Kept } from '../memory/kept.ts'
import type { IssuerCollections } from './collections.ts'
import type { IssuerConfig } from './config.ts'
import type { ProgressRecorder } from './progress-recorder.ts'
import type { SignedMetadata } from './signed-metadata.ts'
import type { AllocateEntries } from './status-list/allocation.ts'
import type { AuthorizationServer } from './token-endpoint/authorization-server.ts'
import type { DpopNonces } from './token-endpoint/dpop-nonce.ts'

/** Drafts before the final specification appended the well-known path, so that its place tells for whom a document is. */
export type Shape = 'final' | 'older'

/** The member `credential_configurations_supported` of some configurations. */
export interface ShownConfigurations {
  readonly json: Uint8Array
  /** SHA-256 of the text. */
  readonly digest: string
  /** The largest among them. */
  readonly batchSize: number
}

export interface IssuerContext extends Effects<IssuerCollections> {
  readonly config: IssuerConfig
  readonly keys: KeyRing
  /** The secrets of all that is checked by a MAC; every process of the service and every restart has the same. */
  readonly secrets: {
    readonly code: Secrets
    readonly suppliedCode: Secrets
    readonly issuerState: Secrets
    readonly txCode: Secrets
    readonly rememberedTxCode: Secrets
    readonly refresh: Secrets
    readonly nonce: Secrets
    readonly notification: Secrets
  }
  /** Who gives the access tokens, where this service does not. */
  readonly authorizationServer: AuthorizationServer | undefined
  readonly dpopNonces: DpopNonces
  /** A configuration as it was posted, removed or not. It never changes, so the ones used last are kept in memory. */
  readonly configuration: (id: string) => Promise<JsonObject | undefined>
  /** Every configuration that new sessions may name, as wallets see them. Another process may be a second ahead. */
  readonly offeredConfigurations: Kept<ShownConfigurations>
  /** The configurations of a session, as wallets see them. */
  readonly namedConfigurations: (ids: readonly string[], shape: Shape) => Promise<ShownConfigurations>
  /** Signed issuer metadata, kept while it may be served again. */
  readonly signedMetadata: SignedMetadata
  /** The keys that wallets encrypt their requests to; the first is published. */
  readonly decryptionKeys: readonly [DecryptionKey, ...DecryptionKey[]]
  readonly allocateEntries: AllocateEntries
  /** Records how far wallets come in their sessions, for the status. */
  readonly progress: ProgressRecorder
}
