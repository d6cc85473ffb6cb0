/** The verification service, ready to listen: everything it needs comes in, and a server comes out. */
import { hash } from 'node:crypto'
import { cacheById, cacheDerived } from '../async/cache.ts'
import { createLru } from '../async/lru.ts'
import { statusLists } from '../check/status/lists.ts'
import { createAuthenticator } from '../http/api-key.ts'
import { createApp } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import type { Effects } from '../http/effects.ts'
import { readiness } from '../http/readiness.ts'
import { cacheCertificates } from '../keys/certificate.ts'
import { createKeyRing, type KeyRing, MOST_KEYS, type ServiceKeys } from '../keys/key-ring.ts'
import type { Pkcs11Tokens } from '../keys/pkcs11/signer.ts'
import type { Signer } from '../keys/signer.ts'
import { X509_HASH_PREFIX } from '../protocol/oid4vp.ts'
import type { VerifierCollections } from './collections.ts'
import { type VerifierConfig, verifierTitle } from './config.ts'
import type { VerifierContext } from './context.ts'
import { verifierRoutes } from './routes.ts'

export interface VerifierEffects extends Effects<VerifierCollections> {
  /** Gives the configuration with its certificates and trust anchors as last read; when absent, the first stays. */
  readonly current?: () => VerifierConfig
  /** The PKCS #11 tokens with private keys, for a configuration that names one. */
  readonly pkcs11Tokens?: Pkcs11Tokens
}

const REMEMBERED_CERTIFICATES = 1000
const REMEMBERED_QUERIES = 1000
/**
 * The number of cached identities: one for every key in the configuration, and for as many certificates before a
 * renewal.
 */
const REMEMBERED_IDENTITIES = 2 * MOST_KEYS

export function createVerifier(config: VerifierConfig, effects: VerifierEffects): Promise<App> {
  const { store, pkcs11Tokens, current = () => config } = effects
  const { clientId, signerOf } = identities(current, (keys) => createKeyRing(keys, pkcs11Tokens, effects.inSpan))
  const context: VerifierContext = {
    ...effects,
    get config() {
      return current()
    },
    get clientId() {
      return clientId()
    },
    signerOf,
    loadQuery: cacheById(
      REMEMBERED_QUERIES,
      async (id) => (await store.get('verification_query', id))?.value.dcqlQuery,
    ),
    parseCertificate: cacheCertificates(REMEMBERED_CERTIFICATES),
    status: {
      loadList: statusLists(effects, config.status.allowPrivateAddresses),
      onUnreachable: config.status.onUnreachable,
      now: effects.now,
    },
  }
  return createApp(
    {
      title: verifierTitle,
      description: 'OpenID4VP 1.0 with DCQL',
      authenticate: createAuthenticator(config.apiKeys, effects.random),
      checkReady: readiness(effects),
      random: effects.random,
      log: effects.log,
      now: effects.now,
      rateLimits: config.rateLimits,
      tls: config.tls,
      observer: effects.observer,
      tracer: effects.tracer,
    },
    (app) => verifierRoutes(app, context),
  )
}

/** Gives our client identifier now, and the signers of sessions that began when the certificate was another. */
function identities(
  current: () => VerifierConfig,
  makeKeyRing: (keys: ServiceKeys) => KeyRing,
): {
  readonly clientId: () => string
  readonly signerOf: (clientId: string) => Signer | undefined
} {
  const signers = createLru<string, Signer>(REMEMBERED_IDENTITIES)
  const clientId = cacheDerived(
    () => current().keys,
    (keys) => {
      const { requestObjects } = makeKeyRing(keys)
      // The one to use comes last, as what was used last is remembered longest.
      for (const signer of requestObjects.toReversed()) signers.set(makeClientId(signer), signer)
      return makeClientId(requestObjects[0])
    },
  )
  // At once: a key that cannot sign keeps the service from starting.
  clientId()
  return {
    clientId,
    signerOf: (id) => {
      clientId()
      return signers.get(id)
    },
  }
}

/**
 * Makes the client identifier with the prefix `x509_hash`, over the DER of the leaf certificate. OpenID4VP 1.0, Client
 * Identifier Prefixes.
 */
function makeClientId({ x5c: [leaf = ''] }: Signer): string {
  if (leaf === '') throw new TypeError('a verifier without a certificate')
  return `${X509_HASH_PREFIX}${hash('sha256', Buffer.from(leaf, 'base64'), 'base64url')}`
}
