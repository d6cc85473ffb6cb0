/**
 * Who signs: bytes in, bytes out, so that a file, an HSM or a cloud key serve JWS and COSE alike.
 */
import type { Certificate } from './certificate.ts'
import type { PublicJwk } from './jwk.ts'

export interface Signer {
  readonly alg: 'ES256'
  /** The public key, to publish. */
  readonly jwk: PublicJwk
  /** The certificates of the key, its own first; empty for a wallet's key. */
  readonly chain: readonly Certificate[]
  /** The raw signature (r and s, 64 bytes) over `data`. */
  sign(data: Uint8Array): Promise<Uint8Array>
}
