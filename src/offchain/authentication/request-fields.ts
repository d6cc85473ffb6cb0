/** The fields that a request of the profile `offchain-v2` states. */

/** The fields of a request that are signed. */
export interface RequestFields {
  readonly chainId: string
  readonly contract: string
  readonly engine: string
  readonly method: string
  readonly target: string
  /** SHA-256. */
  readonly bodyDigest: Uint8Array
  readonly contentType: string
  /** Milliseconds since 1970, as is `expiresAt`. */
  readonly issuedAt: number
  readonly expiresAt: number
  /** The nonce, of 16 bytes. */
  readonly nonce: Uint8Array
}

/** The times of a request and its nonce, by which it differs from every other request. */
export type Life = Pick<RequestFields, 'issuedAt' | 'expiresAt' | 'nonce'>
