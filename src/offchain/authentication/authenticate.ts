/**
 * Who signed a request, of those that a component would believe. A component asks by operation 0x80; what is then done with the
 * answer is its own affair. Whether the request was used before is the engine's to say: `id` is what it remembers until `until`.
 */
import type { Address } from '../address.ts'
import type { HttpRequestData } from '../http-data.ts'

export interface AuthenticationInput {
  readonly engine: Address
  readonly contract: Address
  readonly chain: { readonly id: string; readonly addresses: 'evm' | 'partisia' }
  readonly request: HttpRequestData
  /** The engine's clock. */
  readonly now: Date
  /** Those that may have signed, in their canonical form. */
  readonly addresses: readonly Address[]
}

export interface Authenticated {
  /** One of those that were asked about. */
  readonly address: Address
  /** SHA-256 of the signed message in hexadecimal. Never of the signature, which could be written in another way. */
  readonly id: string
  /** Until then it is to be remembered; after that its time refuses it. */
  readonly until: Date
  readonly profile: ProfileName
}

export type ProfileName = 'secp256k1' | 'offchain-v2'

/** Undefined: nobody is known to have signed. */
export const authenticate: (input: AuthenticationInput) => Authenticated | undefined = () => undefined
