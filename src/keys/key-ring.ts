/** The keys of a service by purpose: a signer for each kind of thing that it signs, and secrets for all that it checks by a MAC. */
import type { KeyObject } from 'node:crypto'
import type { Certificate } from './certificate.ts'
import { type DecryptionKey, deriveDecryptionKey } from './decryption-key.ts'
import { createSigner, deriveSecret } from './file-signer.ts'
import type { Signer } from './signer.ts'

/** A private key and its certificates, the key's own first. */
export interface SigningKey {
  readonly key: KeyObject
  readonly chain: readonly Certificate[]
}

/** The keys that a configuration names. */
export interface ServiceKeys {
  readonly signing: SigningKey
}

export interface KeyRing {
  readonly credentials: Signer
  readonly statusLists: Signer
  /** Signs access tokens and signed metadata. */
  readonly accessTokens: Signer
  /** Signs the checkpoints of the audit log. */
  readonly audit: Signer
  readonly requestObjects: Signer
  /** Derives the secret of a purpose, which every process of the service and every restart has the same. */
  readonly secret: (purpose: string) => KeyObject
  /** Derives the key that wallets encrypt their requests to. */
  readonly decryptionKey: () => DecryptionKey
}

/** Makes the key ring of a configuration: every purpose has the signing key. */
export function createKeyRing({ signing }: ServiceKeys): KeyRing {
  const signer = createSigner(signing.key, signing.chain)
  const secret = (purpose: string): KeyObject => deriveSecret(signing.key, purpose)
  return {
    credentials: signer,
    statusLists: signer,
    accessTokens: signer,
    audit: signer,
    requestObjects: signer,
    secret,
    decryptionKey: () => deriveDecryptionKey(secret),
  }
}
