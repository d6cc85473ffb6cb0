/** The interface of signers. It signs bytes, so that keys in files, HSMs or clouds work for both JWS and COSE. */

import type { PublicJwk } from './jwk.ts'
import type { Algorithm } from './signature.ts'

export interface Signer {
  readonly alg: Algorithm
  /** The public key. */
  readonly jwk: PublicJwk
  /** The JWK thumbprint of the key. RFC 7638. */
  readonly kid: string
  /** The certificates to send in `x5c`, the key's own first; empty for a wallet's key. RFC 7515 section 4.1.6. */
  readonly x5c: readonly string[]
  /** Returns the raw signature over `data` (r and s, for ECDSA). */
  sign(data: Uint8Array): Promise<Uint8Array>
}
