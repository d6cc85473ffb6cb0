/** The verification service, ready to listen: everything it needs comes in, and a server comes out. */
import type { Logger } from 'pino'
import { authenticator } from '../http/api-key.ts'
import { createApp } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import type { Outbound } from '../http/outbound.ts'
import { type Certificate, certificateCache } from '../keys/certificate.ts'
import { keySigner } from '../keys/file-signer.ts'
import { X509_HASH_PREFIX } from '../protocol/oid4vp.ts'
import { remembered } from '../store/remembered.ts'
import type { VerifierStore } from './collections.ts'
import { type VerifierConfig, verifierTitle } from './config.ts'
import type { VerifierContext } from './context.ts'
import { verifierRoutes } from './routes.ts'
import { statusLists } from './status/lists.ts'

export interface VerifierEffects {
  readonly store: VerifierStore
  readonly outbound: Outbound
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly log: Logger
}

const REMEMBERED_CERTIFICATES = 1000
const REMEMBERED_QUERIES = 1000

export function createVerifier(config: VerifierConfig, effects: VerifierEffects): Promise<App> {
  const { store } = effects
  const [leaf] = config.chain as readonly [Certificate]
  const context: VerifierContext = {
    config,
    ...effects,
    signer: keySigner(config.signingKey, config.chain),
    clientId: `${X509_HASH_PREFIX}${leaf.fingerprint}`,
    query: remembered(REMEMBERED_QUERIES, async (id) => (await store.get('verification_query', id))?.value.dcqlQuery),
    parseCertificate: certificateCache(REMEMBERED_CERTIFICATES),
    status: {
      lists: statusLists(effects, config.status.allowPrivateAddresses),
      onUnreachable: config.status.onUnreachable,
    },
  }
  return createApp(
    {
      title: verifierTitle,
      description: 'OpenID4VP 1.0 with DCQL',
      authenticate: authenticator(config.apiKeys, effects.random),
      ready: () => store.get('verification_query', '-'),
      random: effects.random,
      log: effects.log,
      now: effects.now,
      rateLimits: config.rateLimits,
      tls: config.tls,
    },
    (app) => verifierRoutes(app, context),
  )
}
