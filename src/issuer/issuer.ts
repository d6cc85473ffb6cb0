/** The issuance service, ready to listen: everything it needs comes in, and a server comes out. */
import type { KeyObject } from 'node:crypto'
import { authenticator } from '../http/api-key.ts'
import { createApp } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import type { Effects } from '../http/effects.ts'
import { readiness } from '../http/readiness.ts'
import { deriveSecret, keySigner } from '../keys/file-signer.ts'
import { derived } from '../memory/derived.ts'
import { kept } from '../memory/kept.ts'
import { remembered } from '../memory/remembered.ts'
import type { IssuerCollections } from './collections.ts'
import { type IssuerConfig, issuerTitle } from './config.ts'
import type { IssuerContext } from './context.ts'
import { deriveEncryptionKey } from './credential-endpoint/encryption-key.ts'
import { progressRecorder } from './progress-recorder.ts'
import { issuerRoutes } from './routes.ts'
import { showConfigurations } from './shown-configurations.ts'
import { signedMetadata } from './signed-metadata.ts'
import { entryAllocator } from './status-list/allocation.ts'
import { authorizationServer } from './token-endpoint/authorization-server.ts'
import { dpopNonces } from './token-endpoint/dpop-nonce.ts'

export interface IssuerEffects extends Effects<IssuerCollections> {
  /** The configuration, once its certificates and trust anchors have been read again; the first for ever when absent. */
  readonly current?: () => IssuerConfig
}

const REMEMBERED_CONFIGURATIONS = 1000

export function createIssuer(config: IssuerConfig, effects: IssuerEffects): Promise<App> {
  const context = contextOf(config, effects)
  return createApp(
    {
      title: issuerTitle,
      description: 'OpenID4VCI 1.0, pre-authorized code flow',
      authenticate: authenticator(config.apiKeys, effects.random),
      ready: readiness(effects),
      random: effects.random,
      log: effects.log,
      now: effects.now,
      rateLimits: config.rateLimits,
      tls: config.tls,
    },
    (app) => issuerRoutes(app, context),
  )
}

function contextOf(config: IssuerConfig, effects: IssuerEffects): IssuerContext {
  const { store, current = () => config } = effects
  const signer = derived(
    () => current().chain,
    (chain) => keySigner(config.signingKey, chain),
  )
  const configuration = remembered(REMEMBERED_CONFIGURATIONS, async (id) => {
    return (await store.get('credential_configuration', id))?.value.configuration
  })
  const showing = showConfigurations({ store, signer, configuration, config })
  return {
    ...effects,
    get config() {
      return current()
    },
    get signer() {
      return signer()
    },
    configuration,
    offeredConfigurations: kept(1000, effects.now, showing.offered),
    namedConfigurations: showing.named,
    signedMetadata: signedMetadata(current, signer, effects.now),
    authorizationServer: config.authorizationServer && authorizationServer(config.authorizationServer, effects),
    allocateEntries: entryAllocator(effects, config.statusList.entries),
    progress: progressRecorder(effects, config.retention),
    encryptionKey: deriveEncryptionKey(config.signingKey),
    dpopNonces: dpopNonces(deriveSecret(config.signingKey, 'dpop nonce')),
    secrets: secretsOf(config.signingKey),
  }
}

function secretsOf(signingKey: KeyObject): IssuerContext['secrets'] {
  return {
    code: deriveSecret(signingKey, 'pre-authorized code'),
    suppliedCode: deriveSecret(signingKey, 'supplied pre-authorized code'),
    issuerState: deriveSecret(signingKey, 'issuer_state'),
    txCode: deriveSecret(signingKey, 'tx_code'),
    rememberedTxCode: deriveSecret(signingKey, 'remembered tx_code'),
    refresh: deriveSecret(signingKey, 'refresh token'),
    nonce: deriveSecret(signingKey, 'c_nonce'),
    notification: deriveSecret(signingKey, 'notification_id'),
  }
}
