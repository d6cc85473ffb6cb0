/** The interface of signers. It signs bytes, so that keys in files, HSMs or clouds work for both JWS and COSE. */
import type { KeyObject } from 'node:crypto'
import { type Certificate, sentCertificates } from './certificate.ts'
import { type PublicJwk, publicJwkOf, thumbprint } from './jwk.ts'
import { type Algorithm, requireAlgorithm } from './signature.ts'

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

/**
 * Returns the members of a signer that come from its key, private or public, and from its certificates, its own first.
 * Throws a MalformedError if the key type is not supported.
 */
export function publicMembersOf(key: KeyObject, chain: readonly Certificate[]): Omit<Signer, 'sign'> {
  const jwk = publicJwkOf(key)
  return {
    alg: requireAlgorithm(key),
    jwk,
    kid: thumbprint(jwk),
    // RFC 7515 section 4.1.6: standard base64.
    x5c: sentCertificates(chain).map(({ der }) => der.toString('base64')),
  }
}
