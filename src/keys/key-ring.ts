/** The keys of a service by purpose: a signer for each kind of thing that it signs, and secrets for all that it checks by a MAC. */
import type { KeyObject } from 'node:crypto'
import type { Certificate } from './certificate.ts'
import { type DecryptionKey, deriveDecryptionKey } from './decryption-key.ts'
import { createSigner, deriveSecret } from './file-signer.ts'
import { type SecretSource, type Secrets, SIGNING_KEY, secretFrom } from './secrets.ts'
import type { Signer } from './signer.ts'

/** A private key and its certificates, the key's own first. */
export interface SigningKey {
  readonly key: KeyObject
  readonly chain: readonly Certificate[]
}

/** The keys that a configuration names. */
export interface ServiceKeys {
  readonly signing: SigningKey
  /** What secrets are derived from, the newest generation first. */
  readonly secrets: readonly [SecretSource, ...SecretSource[]]
}

export interface KeyRing {
  readonly credentials: Signer
  readonly statusLists: Signer
  /** Signs access tokens and signed metadata. */
  readonly accessTokens: Signer
  /** Signs the checkpoints of the audit log. */
  readonly audit: Signer
  readonly requestObjects: Signer
  /** Derives the secrets of a purpose; every process of the service and every restart has the same. */
  readonly secrets: (purpose: string) => Secrets
  /** Derives the keys that wallets encrypt their requests to; the first is the one to publish. */
  readonly decryptionKeys: () => readonly [DecryptionKey, ...DecryptionKey[]]
}

/** Makes the key ring of a configuration: every purpose has the signing key. */
export function createKeyRing({ signing, secrets }: ServiceKeys): KeyRing {
  const signer = createSigner(signing.key, signing.chain)
  const [first, ...older] = secrets
  const deriveFrom = (source: SecretSource) => (purpose: string) =>
    source === SIGNING_KEY ? deriveSecret(signing.key, purpose) : secretFrom(source, purpose)
  return {
    credentials: signer,
    statusLists: signer,
    accessTokens: signer,
    audit: signer,
    requestObjects: signer,
    secrets: (purpose) => [deriveFrom(first)(purpose), ...older.map((source) => deriveFrom(source)(purpose))],
    decryptionKeys: () => [
      deriveDecryptionKey(deriveFrom(first)),
      ...older.map((source) => deriveDecryptionKey(deriveFrom(source))),
    ],
  }
}
