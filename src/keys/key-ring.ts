/**
 * The keys of a service by purpose: signers, secrets for MACs and encryption, and the key with which wallets encrypt
 * credential requests (OpenID4VCI 1.0, Encrypted Credential Requests and Responses). Each status list keeps the signer
 * with which it was created, as long as that is configured, since verifiers may know only the certificate of that key.
 */
import type { KeyObject } from 'node:crypto'
import type { InSpan } from '../async/in-span.ts'
import type { Certificate } from './certificate.ts'
import { createSigner, deriveSecret } from './file-signer.ts'
import { type PublicJwk, thumbprint } from './jwk.ts'
import type { Pkcs11Key, Pkcs11Tokens } from './pkcs11/signer.ts'
import { importPrivateKey, makePrivateJwk, publicPartOf } from './private-jwk.ts'
import { type SecretSource, type Secrets, SIGNING_KEY, secretFrom } from './secrets.ts'
import type { Signer } from './signer.ts'

/** The maximum number of keys for one purpose: the current one and earlier ones. */
export const MAX_KEYS = 11

/** A private key, in this process or in a PKCS #11 token, and its certificates, its own first. */
export type SigningKey = { readonly chain: readonly [Certificate, ...Certificate[]] } & (
  | { readonly key: KeyObject }
  | { readonly pkcs11Key: Pkcs11Key }
)

/** The current key of a purpose, and its earlier keys, the newest first. */
export type SigningKeys = SigningKey & { readonly previous: readonly SigningKey[] }

/**
 * The configured keys. A purpose without its own key uses that of `signing`, except that `metadata` uses that of
 * `accessTokens` where there is one.
 */
export interface ServiceKeys {
  readonly signing: SigningKeys
  readonly statusLists?: SigningKeys | undefined
  readonly accessTokens?: SigningKeys | undefined
  /** The key of the access certificate, which signs issuer metadata. ETSI TS 119 472-3. */
  readonly metadata?: SigningKey | undefined
  readonly audit?: SigningKey | undefined
  /** The sources of secrets, the newest first. */
  readonly secrets: readonly [SecretSource, ...SecretSource[]]
}

export interface KeyRing {
  readonly credentialSigner: Signer
  readonly statusListSigners: StatusListSigners
  readonly accessTokenSigner: Signer
  /** The signer of issuer metadata. */
  readonly metadataSigner: Signer
  /** The signers of all access tokens that may still be valid, for the JWK Set. The first one is the current one. */
  readonly accessTokenSigners: readonly Signer[]
  /** The signer of audit log checkpoints. */
  readonly auditSigner: Signer
  /**
   * The signers of request objects: the current one, and earlier ones for sessions that started with their certificate.
   */
  readonly requestObjectSigners: readonly [Signer, ...Signer[]]
  /** Derives the secrets for a purpose. All processes of the service derive the same, also after a restart. */
  readonly deriveSecrets: (purpose: string) => Secrets
  /** Derives the decryption keys for encrypted requests. The first one is published. */
  readonly deriveDecryptionKeys: () => readonly [DecryptionKey, ...DecryptionKey[]]
}

/**
 * Creates the key ring of a configuration. `pkcs11Tokens` is required if a key is in a token. With `inSpan`, each
 * signature gets a span.
 */
export function createKeyRing(keys: ServiceKeys, pkcs11Tokens?: Pkcs11Tokens, inSpan?: InSpan): KeyRing {
  const makeSigner = (key: SigningKey): Signer => {
    const signer = createKeySigner(key, pkcs11Tokens)
    return inSpan === undefined ? signer : { ...signer, sign: (data) => inSpan('sign', () => signer.sign(data)) }
  }
  const makeSigners = (each: SigningKeys): readonly [Signer, ...Signer[]] => [
    makeSigner(each),
    ...each.previous.map(makeSigner),
  ]
  const certify = (key: SigningKey): CertifiedSigner => ({ signer: makeSigner(key), notAfter: key.chain[0].notAfter })
  const certifyAll = (each: SigningKeys): CertifiedSigners => [certify(each), ...each.previous.map(certify)]
  const signing = makeSigners(keys.signing)
  const accessTokens = keys.accessTokens === undefined ? signing : makeSigners(keys.accessTokens)
  const bySigning = certifyAll(keys.signing)
  const [derive, ...deriveOlder] = listDerivations(keys)
  return {
    credentialSigner: signing[0],
    statusListSigners: createStatusListSigners(
      keys.statusLists === undefined ? bySigning : [...certifyAll(keys.statusLists), ...bySigning],
    ),
    accessTokenSigner: accessTokens[0],
    metadataSigner: makeSigner(metadataKeyOf(keys)[1]),
    accessTokenSigners: accessTokens,
    auditSigner: keys.audit === undefined ? signing[0] : makeSigner(keys.audit),
    requestObjectSigners: signing,
    deriveSecrets: (purpose) => [derive(purpose), ...deriveOlder.map((deriveFrom) => deriveFrom(purpose))],
    deriveDecryptionKeys: () => [deriveDecryptionKey(derive), ...deriveOlder.map(deriveDecryptionKey)],
  }
}

/** Returns the key that signs issuer metadata, with the path of its setting; by default it is that of access tokens. */
export function metadataKeyOf({ signing, accessTokens, metadata }: ServiceKeys): [path: string, key: SigningKey] {
  if (metadata !== undefined) return ['keys.metadata', metadata]
  return accessTokens === undefined ? ['signing', signing] : ['keys.accessTokens', accessTokens]
}

/** Returns all keys with the paths of their settings. */
export function listKeys({
  signing,
  statusLists,
  accessTokens,
  metadata,
  audit,
}: Omit<ServiceKeys, 'secrets'>): [path: string, key: SigningKey][] {
  const listKeysAt = (path: string, keys: SigningKeys | undefined): [string, SigningKey][] =>
    keys === undefined
      ? []
      : [[path, keys], ...keys.previous.map((key, index): [string, SigningKey] => [`${path}.previous[${index}]`, key])]
  return [
    ...listKeysAt('signing', signing),
    ...listKeysAt('keys.statusLists', statusLists),
    ...listKeysAt('keys.accessTokens', accessTokens),
    ...listKeysAt('keys.metadata', metadata && { ...metadata, previous: [] }),
    ...listKeysAt('keys.audit', audit && { ...audit, previous: [] }),
  ]
}

/** Creates the signer of audit log checkpoints alone. `pkcs11Tokens` is required if its key is in a token. */
export function createAuditSigner({ audit, signing }: ServiceKeys, pkcs11Tokens: Pkcs11Tokens | undefined): Signer {
  return createKeySigner(audit ?? signing, pkcs11Tokens)
}

/** Creates the signer of a key, in this process or in a PKCS #11 token. */
export function createKeySigner(key: SigningKey, pkcs11Tokens: Pkcs11Tokens | undefined): Signer {
  if ('key' in key) return createSigner(key.key, key.chain)
  if (pkcs11Tokens === undefined) throw new TypeError('a key is in a token, and tokens cannot be reached from here')
  return pkcs11Tokens.createSigner(key.pkcs11Key, key.chain)
}

type Derive = (purpose: string) => KeyObject

/**
 * Returns the functions that derive secrets, the newest first. Without a secrets file, secrets are derived from the
 * signing key and its earlier keys, so that a new key does not invalidate older values.
 */
function listDerivations({ signing, secrets }: ServiceKeys): readonly [Derive, ...Derive[]] {
  const bySigningKeys = [signing, ...signing.previous].flatMap((each): Derive[] =>
    'key' in each ? [(purpose) => deriveSecret(each.key, purpose)] : [],
  )
  const [first, ...older] = secrets.flatMap((source): Derive[] =>
    source === SIGNING_KEY ? bySigningKeys : [(purpose) => secretFrom(source, purpose)],
  )
  // An issuer always has a source of secrets, which its configuration ensures; a verifier uses no secrets.
  return [first ?? refuseSecrets, ...older]
}

function refuseSecrets(): never {
  throw new TypeError('secrets cannot be derived from a key in a token; they need a file')
}

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
function deriveDecryptionKey(secret: (purpose: string) => KeyObject): DecryptionKey {
  let tries = 0
  const privateJwk = makePrivateJwk(() => {
    tries += 1
    return secret(`credential request encryption ${tries}`).export()
  })
  const jwk = publicPartOf(privateJwk)
  return { privateKey: importPrivateKey(privateJwk), jwk, kid: thumbprint(jwk) }
}

/** A signer, and the expiry of its certificate. */
export interface CertifiedSigner {
  readonly signer: Signer
  readonly notAfter: Date
}

type CertifiedSigners = readonly [CertifiedSigner, ...CertifiedSigner[]]

interface StatusListSigners {
  /** The signer of new lists. */
  readonly current: Signer
  /** The signer of lists of earlier releases, which have no `kid`. */
  readonly oldest: Signer
  /**
   * Returns the signer of the list with the key `kid`; the current signer if that key is not configured any more or its
   * certificate has expired.
   */
  readonly findSigner: (kid: string | undefined, now: Date) => CertifiedSigner
}

/** Creates the signers of status lists from all configured keys, the current one first and the oldest last. */
function createStatusListSigners(signers: CertifiedSigners): StatusListSigners {
  const [current] = signers
  const oldest = signers.at(-1) ?? current
  return {
    current: current.signer,
    oldest: oldest.signer,
    findSigner: (kid = oldest.signer.kid, now) => {
      const own = signers.find(({ signer }) => signer.kid === kid)
      return own === undefined || own.notAfter < now ? current : own
    },
  }
}
