/** The key that wallets encrypt their requests to. OpenID4VCI 1.0, Encrypted Credential Requests and Responses. */
import type { KeyObject } from 'node:crypto'
import { deriveSecret } from '../../keys/file-signer.ts'
import { type PublicJwk, thumbprint } from '../../keys/jwk.ts'
import { importPrivateKey, makePrivateJwk, publicPartOf } from '../../keys/private-jwk.ts'

export interface EncryptionKeyPair {
  readonly privateKey: KeyObject
  readonly jwk: PublicJwk
  readonly kid: string
}

/** Derived from the signing key, so that every process of the service and every restart has the same. */
export function deriveEncryptionKey(signingKey: KeyObject): EncryptionKeyPair {
  let tries = 0
  const privateJwk = makePrivateJwk(() => {
    tries += 1
    return deriveSecret(signingKey, `credential request encryption ${tries}`).export()
  })
  const jwk = publicPartOf(privateJwk)
  return { privateKey: importPrivateKey(privateJwk), jwk, kid: thumbprint(jwk) }
}
