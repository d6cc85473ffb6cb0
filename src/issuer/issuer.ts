/** Assembles the issuance service from its configuration and its effects. */

import { cacheDerived, cacheValue } from '../async/cache.ts'
import { createStatusLists } from '../check/status/status-list-loader.ts'
import { withLostTokenRefusal } from '../config/lost-pkcs11-token.ts'
import { createApp, makeAppOptions } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import type { Effects } from '../http/effects.ts'
import { createKeyRing, type KeyRing } from '../keys/key-ring.ts'
import type { Pkcs11Tokens } from '../keys/pkcs11/signer.ts'
import { isPrivateHost } from '../protocol/private-host.ts'
import { createAuthorizationServerClient } from './access/authorization-server-client.ts'
import { secretPurposes } from './access/context.ts'
import { createSessionQueue } from './access/open-session.ts'
import { createReusableNonces } from './access/reusable-nonce.ts'
import { createSignInProvider } from './authorization-endpoint/sign-in-provider.ts'
import type { IssuerCollections } from './collections.ts'
import { type IssuerConfig, issuerTitle } from './config.ts'
import { createConfigurationTexts } from './configuration-metadata-text.ts'
import { createConfigurationLoader } from './configurations.ts'
import type { IssuerContext, RecordSignedList } from './context.ts'
import { createIssuanceProgress } from './issuance-progress.ts'
import { createSharedMembersText } from './metadata.ts'
import { addIssuerRoutes } from './routes.ts'
import { createMetadataSigner } from './signed-metadata.ts'
import { createEntryAllocator } from './status-list/allocation.ts'
import { loadTypeMetadata } from './type-metadata.ts'
import { issuerWebhooks } from './webhooks.ts'

export interface IssuerEffects extends Effects<IssuerCollections> {
  /**
   * Returns the current configuration, with certificates and trust anchors that were read again. Without this function,
   * the initial configuration is always used.
   */
  readonly getCurrentConfig?: () => IssuerConfig
  /** The PKCS #11 tokens with private keys, if the configuration names any. */
  readonly pkcs11Tokens?: Pkcs11Tokens
  /** Records each signed status list for metrics. */
  readonly recordSignedList?: RecordSignedList | undefined
}

/** How long the offered configurations and the type metadata are cached. */
const OFFERED_MS = 1000

/** Creates the server of the issuance service with all its routes. The caller makes it listen. */
export function createIssuer(config: IssuerConfig, effects: IssuerEffects): Promise<App> {
  const context = createContext(config, effects)
  const document = {
    title: issuerTitle,
    description: 'OpenID4VCI 1.0, pre-authorized code flow and authorization code flow',
    webhooks: issuerWebhooks,
  }
  return createApp(makeAppOptions(document, config, effects), (app) => addIssuerRoutes(app, context))
}

function createContext(config: IssuerConfig, effects: IssuerEffects): IssuerContext {
  const { getCurrentConfig = () => config } = effects
  const pkcs11Tokens = effects.pkcs11Tokens && withLostTokenRefusal(effects.pkcs11Tokens)
  const getKeys = cacheDerived(
    () => getCurrentConfig().keys,
    (serviceKeys) => createKeyRing(serviceKeys, pkcs11Tokens, effects.inSpan),
  )
  const loadConfiguration = createConfigurationLoader(effects)
  const secrets = secretsOf(getKeys())
  const decryptionKeys = getKeys().deriveDecryptionKeys()
  const texts = createConfigurationTexts({ ...effects, getKeys, loadConfiguration, config })
  return {
    ...effects,
    get config() {
      return getCurrentConfig()
    },
    get keys() {
      return getKeys()
    },
    loadConfiguration,
    offeredConfigurationsText: cacheValue(texts.makeOfferedText, { ttlMs: OFFERED_MS, now: effects.now }),
    typeMetadata: cacheValue(() => loadTypeMetadata(effects), { ttlMs: OFFERED_MS, now: effects.now }),
    makeConfigurationsText: texts.makeText,
    signMetadata: createMetadataSigner(getCurrentConfig, () => getKeys().metadataSigner, effects.now),
    signInProvider: createSignInProvider(config, effects),
    externalAuthorizationServer:
      config.authorizationServer && createAuthorizationServerClient(config.authorizationServer, effects),
    allocateEntries: createEntryAllocator(effects, config.statusList.entries, () => getKeys().statusListSigners),
    queueForSession: createSessionQueue(),
    progress: createIssuanceProgress(effects, config.retention),
    decryptionKeys,
    getSharedMembersText: createSharedMembersText(getCurrentConfig, decryptionKeys),
    dpopNonces: createReusableNonces(secrets.dpopNonce),
    attestationChallenges: createReusableNonces(secrets.attestationChallenge),
    attestationStatus: createAttestationStatus(config, effects),
    secrets,
  }
}

/** Creates the policy for the status lists of wallet attestations. */
function createAttestationStatus(
  { baseUrl }: IssuerConfig,
  effects: IssuerEffects,
): IssuerContext['attestationStatus'] {
  const allowPrivateAddresses = isPrivateHost(new URL(baseUrl).hostname)
  return { loadList: createStatusLists(effects, allowPrivateAddresses).loadList, onUnreachable: 'reject' }
}

/** Derives the secrets, each for its own purpose. */
function secretsOf({ deriveSecrets }: KeyRing): IssuerContext['secrets'] {
  const secrets = Object.entries(secretPurposes).map(([name, purpose]) => [name, deriveSecrets(purpose)])
  return Object.fromEntries(secrets) as IssuerContext['secrets']
}
