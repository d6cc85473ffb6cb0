/** The keys of a service by purpose: a signer for each kind of thing that it signs, and secrets for all that it checks by a MAC. */
import type { KeyObject } from 'node:crypto'
import type { Certificate } from './certificate.ts'
import { type DecryptionKey, deriveDecryptionKey } from './decryption-key.ts'
import { createSigner, deriveSecret } from './file-signer.ts'
import { type SecretSource, type Secrets, SIGNING_KEY, secretFrom } from './secrets.ts'
import type { Signer } from './signer.ts'
import { type StatusListSigners, statusListSigners } from './status-list-signers.ts'

/** A private key and its certificates, the key's own first. */
export interface SigningKey {
  readonly key: KeyObject
  readonly chain: readonly Certificate[]
}

/** The key of a purpose, and those that it had before, the newest first. */
export interface SigningKeys extends SigningKey {
  readonly previous: readonly SigningKey[]
}

/** The keys that a configuration names. A purpose without keys of its own has those of `signing`. */
export interface ServiceKeys {
  readonly signing: SigningKeys
  readonly statusLists?: SigningKeys | undefined
  readonly accessTokens?: SigningKeys | undefined
  readonly audit?: SigningKey | undefined
  /** What secrets are derived from, the newest generation first. */
  readonly secrets: readonly [SecretSource, ...SecretSource[]]
}

export interface KeyRing {
  readonly credentials: Signer
  readonly statusLists: StatusListSigners
  /** Signs access tokens and signed metadata. */
  readonly accessTokens: Signer
  /** The signers of access tokens that may still be about, to publish their keys; the first signs. */
  readonly accessTokenSigners: readonly Signer[]
  /** Signs the checkpoints of the audit log. */
  readonly audit: Signer
  /** The signers of request objects: the one to use, and those of sessions that began with an earlier certificate. */
  readonly requestObjects: readonly [Signer, ...Signer[]]
  /** Derives the secrets of a purpose; every process of the service and every restart has the same. */
  readonly secrets: (purpose: string) => Secrets
  /** Derives the keys that wallets encrypt their requests to; the first is the one to publish. */
  readonly decryptionKeys: () => readonly [DecryptionKey, ...DecryptionKey[]]
}

/** Makes the key ring of a configuration. */
export function createKeyRing(keys: ServiceKeys): KeyRing {
  const signing = signersOf(keys.signing)
  const accessTokens = keys.accessTokens === undefined ? signing : signersOf(keys.accessTokens)
  const statusLists = keys.statusLists === undefined ? [] : certifiedSigners(keys.statusLists)
  const [derive, ...deriveOlder] = derivations(keys)
  return {
    credentials: signing[0],
    statusLists: statusListSigners([...statusLists, ...certifiedSigners(keys.signing)]),
    accessTokens: accessTokens[0],
    accessTokenSigners: accessTokens,
    audit: keys.audit === undefined ? signing[0] : signerOf(keys.audit),
    requestObjects: signing,
    secrets: (purpose) => [derive(purpose), ...deriveOlder.map((deriveFrom) => deriveFrom(purpose))],
    decryptionKeys: () => [deriveDecryptionKey(derive), ...deriveOlder.map(deriveDecryptionKey)],
  }
}

function signerOf({ key, chain }: SigningKey): Signer {
  return createSigner(key, chain)
}

function signersOf(keys: SigningKeys): readonly [Signer, ...Signer[]] {
  return [signerOf(keys), ...keys.previous.map(signerOf)]
}

function certifiedSigners(keys: SigningKeys) {
  return [keys, ...keys.previous].map((key) => ({ signer: signerOf(key), notAfter: key.chain[0]?.notAfter }))
}

type Derive = (purpose: string) => KeyObject

/** Without a file of secrets they are derived from the signing key, and from those before it, so that none is voided by a new key. */
function derivations({ signing, secrets }: ServiceKeys): readonly [Derive, ...Derive[]] {
  const bySigningKeys = [signing, ...signing.previous].map(
    ({ key }): Derive =>
      (purpose) =>
        deriveSecret(key, purpose),
  )
  const [first, ...older] = secrets.flatMap((source): Derive[] =>
    source === SIGNING_KEY ? bySigningKeys : [(purpose) => secretFrom(source, purpose)],
  )
  if (first === undefined) throw new TypeError('a service without secrets')
  return [first, ...older]
}
