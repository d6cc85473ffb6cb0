/**
 * A signer: bytes in, bytes out, so that a file, an HSM or a cloud key serve JWS and COSE alike.
 */
import type { Algorithm } from './algorithm.ts'
import type { PublicJwk } from './jwk.ts'

export interface Signer {
  readonly alg: Algorithm
  /** The public key, to publish. */
  readonly jwk: PublicJwk
  /** The name of the key: its thumbprint. RFC 7638. */
  readonly kid: string
  /**
   * The certificates that go out with a signature, the key's own first; empty for a wallet's key. RFC 7515 section
   * 4.1.6.
   */
  readonly x5c: readonly string[]
  /** Makes the raw signature (r and s, for ECDSA) over `data`. */
  sign(data: Uint8Array): Promise<Uint8Array>
}
