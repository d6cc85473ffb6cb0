/**
 * The key with which wallets encrypt credential requests. OpenID4VCI 1.0, Encrypted Credential Requests and Responses.
 */
import type { KeyObject } from 'node:crypto'
import { type PublicJwk, thumbprint } from './jwk.ts'
import { importPrivateKey, makePrivateJwk, publicPartOf } from './private-jwk.ts'

export interface DecryptionKey {
  readonly privateKey: KeyObject
  /** The public key for the metadata. */
  readonly jwk: PublicJwk
  /** The JWK thumbprint. RFC 7638. */
  readonly kid: string
}

/**
 * Derives the key from secrets, so that all processes have the same key, also after a restart. `secret` returns the
 * secret for a purpose; it is called again with another purpose if the secret is not a valid private key.
 */
export function deriveDecryptionKey(secret: (purpose: string) => KeyObject): DecryptionKey {
  let tries = 0
  const privateJwk = makePrivateJwk(() => {
    tries += 1
    return secret(`credential request encryption ${tries}`).export()
  })
  const jwk = publicPartOf(privateJwk)
  return { privateKey: importPrivateKey(privateJwk), jwk, kid: thumbprint(jwk) }
}
