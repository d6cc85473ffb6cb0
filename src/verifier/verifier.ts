/** Assembles the verification service from its configuration and its effects. */

import { hash } from 'node:crypto'
import { cacheById, cacheDerived, createLru } from '../async/cache.ts'
import type { StatusLists } from '../check/status/status-list-loader.ts'
import { withLostTokenRefusal } from '../config/lost-pkcs11-token.ts'
import { createApp, makeAppOptions } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import type { Effects } from '../http/effects.ts'
import { cacheCertificates } from '../keys/certificate.ts'
import { createKeyRing, type KeyRing, MAX_KEYS, type ServiceKeys } from '../keys/key-ring.ts'
import type { Pkcs11Tokens } from '../keys/pkcs11/signer.ts'
import type { Signer } from '../keys/signer.ts'
import { X509_HASH_PREFIX } from '../protocol/oid4vp.ts'
import { partOf } from '../store/store.ts'
import { createStoredDescriptions } from './check-descriptions.ts'
import type { VerifierCollections } from './collections.ts'
import { type VerifierConfig, verifierTitle } from './config.ts'
import type { VerifierContext } from './context.ts'
import { addVerifierRoutes } from './routes.ts'
import { createTrustListLoader } from './trust-list/current.ts'
import { createVerificationProgress } from './verification-progress.ts'
import { verifierWebhooks } from './webhooks.ts'

export interface VerifierEffects extends Effects<VerifierCollections> {
  /** The status lists of issuers, which the server and a task share. */
  readonly statusLists: StatusLists
  /**
   * Returns the current configuration, with certificates and trust anchors that were read again. Without this function,
   * the initial configuration is always used.
   */
  readonly getCurrentConfig?: () => VerifierConfig
  /** The PKCS #11 tokens with private keys, if the configuration names any. */
  readonly pkcs11Tokens?: Pkcs11Tokens
}

const MAX_CACHED_CERTIFICATES = 1000
const MAX_CACHED_QUERIES = 1000
/** The maximum number of cached signers: one for each configured key, and as many from before a renewal. */
const MAX_CACHED_IDENTITIES = 2 * MAX_KEYS

/** Creates the server of the verification service with all its routes. The caller makes it listen. */
export function createVerifier(config: VerifierConfig, effects: VerifierEffects): Promise<App> {
  const context = createContext(config, effects)
  const document = { title: verifierTitle, description: 'OpenID4VP 1.0 with DCQL', webhooks: verifierWebhooks }
  return createApp(makeAppOptions(document, config, effects), (app) => addVerifierRoutes(app, context))
}

function createContext(config: VerifierConfig, effects: VerifierEffects): VerifierContext {
  const { store, getCurrentConfig = () => config } = effects
  const pkcs11Tokens = effects.pkcs11Tokens && withLostTokenRefusal(effects.pkcs11Tokens)
  const { getClientId, findSigner } = createIdentities(getCurrentConfig, (keys) =>
    createKeyRing(keys, pkcs11Tokens, effects.inSpan),
  )
  return {
    ...effects,
    get config() {
      return getCurrentConfig()
    },
    get clientId() {
      return getClientId()
    },
    findSigner,
    loadQuery: cacheById(
      MAX_CACHED_QUERIES,
      async (id) => (await store.get('verification_query', id))?.value.dcqlQuery,
    ),
    parseCertificate: cacheCertificates(MAX_CACHED_CERTIFICATES),
    // A renewal reads the certificates of the lists again, and the settings stay.
    loadTrustLists:
      config.trustLists.length === 0
        ? () => Promise.resolve([])
        : createTrustListLoader(getCurrentConfig, { store: partOf(store), now: effects.now }),
    checkDescriptions: createStoredDescriptions(effects),
    progress: createVerificationProgress(effects, config.retention),
    status: {
      loadList: effects.statusLists.loadList,
      onUnreachable: config.status.onUnreachable,
    },
  }
}

/**
 * Creates the functions that return the current client identifier, and the signer for a client identifier, which may be
 * that of an earlier certificate.
 */
function createIdentities(
  getCurrentConfig: () => VerifierConfig,
  makeKeyRing: (keys: ServiceKeys) => KeyRing,
): {
  readonly getClientId: () => string
  readonly findSigner: (clientId: string) => Signer | undefined
} {
  const signers = createLru<string, Signer>(MAX_CACHED_IDENTITIES)
  const getClientId = cacheDerived(
    () => getCurrentConfig().keys,
    (keys) => {
      const { requestObjectSigners } = makeKeyRing(keys)
      // The cache evicts the least recently used signer first, so the current one is added last.
      for (const signer of requestObjectSigners.toReversed()) signers.set(makeClientId(signer), signer)
      return makeClientId(requestObjectSigners[0])
    },
  )
  // This call makes the start fail if the key cannot sign.
  getClientId()
  return {
    getClientId,
    findSigner: (id) => {
      getClientId()
      return signers.get(id)
    },
  }
}

/**
 * Makes the client identifier with the prefix `x509_hash` from the leaf certificate. OpenID4VP 1.0, Client Identifier
 * Prefixes.
 */
function makeClientId({ x5c: [leaf = ''] }: Signer): string {
  if (leaf === '') throw new TypeError('the signer of a verifier has no certificate')
  return `${X509_HASH_PREFIX}${hash('sha256', Buffer.from(leaf, 'base64'), 'base64url')}`
}
