/** What the issuance service works with: everything it does not decide itself comes in here. */
import type { Logger } from 'pino'
import type { Signer } from '../keys/signer.ts'
import type { IssuerStore } from './collections.ts'
import type { IssuerConfig } from './config.ts'

export interface IssuerContext {
  readonly config: IssuerConfig
  readonly store: IssuerStore
  readonly signer: Signer
  /** Derived from the signing key, so that every process of the service and every restart has the same. */
  readonly secrets: { readonly code: Uint8Array; readonly nonce: Uint8Array }
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly log: Logger
}
