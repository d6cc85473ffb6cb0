/** The fields that a request of the profile `offchain-v2` states. */

/** Everything that is signed. */
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
  /** 16 bytes. */
  readonly nonce: Uint8Array
}

/** The time of a request and what makes it a request of its own. */
export type Life = Pick<RequestFields, 'issuedAt' | 'expiresAt' | 'nonce'>
