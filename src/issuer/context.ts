/** What the issuance service works with: everything it does not decide itself comes in here. */
import type { KeyObject } from 'node:crypto'
import type { Logger } from 'pino'
import type { JsonObject } from '../codec/json.ts'
import type { Signer } from '../keys/signer.ts'
import type { IssuerStore } from './collections.ts'
import type { IssuerConfig } from './config.ts'

export interface IssuerContext {
  readonly config: IssuerConfig
  readonly store: IssuerStore
  readonly signer: Signer
  /** Derived from the signing key, so that every process of the service and every restart has the same. */
  readonly secrets: { readonly code: KeyObject; readonly nonce: KeyObject }
  /** A configuration as it was posted, removed or not. It never changes, so the ones used last are kept in memory. */
  readonly configuration: (id: string) => Promise<JsonObject | undefined>
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly log: Logger
}
