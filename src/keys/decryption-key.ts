/** The key that wallets encrypt their requests to. OpenID4VCI 1.0, Encrypted Credential Requests and Responses. */
import type { KeyObject } from 'node:crypto'
import { type PublicJwk, thumbprint } from './jwk.ts'
import { importPrivateKey, makePrivateJwk, publicPartOf } from './private-jwk.ts'

export interface DecryptionKey {
  readonly privateKey: KeyObject
  /** The public key, to publish. */
  readonly jwk: PublicJwk
  /** The thumbprint of the key. RFC 7638. */
  readonly kid: string
}

/**
 * Derives the key from secrets, so that every process of the service and every restart has the same. `secret` gives the
 * secret of a purpose, and is asked for another one in the rare case that a secret is not a private key.
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
