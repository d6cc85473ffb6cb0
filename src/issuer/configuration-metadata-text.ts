/**
 * The metadata of the credential configurations as JSON text, which is made once and reused for all metadata documents
 * with the same configurations. OpenID4VCI 1.0, Credential Issuer Metadata Parameters.
 */
import { hash } from 'node:crypto'
import { cacheById, createPromiseCache } from '../async/cache.ts'
import type { Configuration } from '../credential/format.ts'
import type { Signer } from '../keys/signer.ts'
import type { IssuerConfig } from './config.ts'
import { configurationMetadata, makeOlderConfigurationMetadata } from './configuration-metadata.ts'
import { groupByScope, isOffered, largestBatch } from './configurations.ts'
import type { ConfigurationsText, IssuerContext, MetadataVersion, OfferedConfigurationsText } from './context.ts'

export interface ConfigurationTexts {
  /**
   * Returns the text for all offered configurations, in the form of the final specification. Returns the same object
   * while nothing has changed.
   */
  readonly makeOfferedText: () => Promise<OfferedConfigurationsText>
  /** Returns the text for the configurations with these ids, including removed ones. */
  readonly makeText: (ids: readonly string[], version: MetadataVersion) => Promise<ConfigurationsText>
}

const MAX_CACHED_TEXTS = 1000
const MAX_CACHED_SETS = 64

export interface ConfigurationTextEffects extends Pick<IssuerContext, 'store' | 'loadConfiguration'> {
  readonly signer: () => Signer
  readonly config: Pick<IssuerConfig, 'draft13' | 'profile'>
}

/** Creates the functions that make `credential_configurations_supported`, with caches for the texts. */
export function createConfigurationTexts({
  store,
  signer,
  loadConfiguration,
  config,
}: ConfigurationTextEffects): ConfigurationTexts {
  const loadText = cacheById(MAX_CACHED_TEXTS, async (key) => {
    const [version, id = ''] = key.split('/')
    const configuration = await loadConfiguration(id)
    if (configuration === undefined) return undefined
    const metadataOf = version === 'final' ? configurationMetadata : makeOlderConfigurationMetadata
    return JSON.stringify(metadataOf(configuration, signer(), config.draft13))
  })
  const joinTexts = async (ids: readonly string[], version: MetadataVersion): Promise<ConfigurationsText> => {
    const members = await Promise.all(
      ids.map(async (id) => {
        const text = await loadText(`${version}/${id}`)
        return text === undefined ? [] : [`${JSON.stringify(id)}:${text}`]
      }),
    )
    return textOf(members.flat(), await Promise.all(ids.map(loadConfiguration)))
  }
  const textsOfSets = createPromiseCache<ConfigurationsText>(MAX_CACHED_SETS)
  let latest: OfferedConfigurationsText | undefined
  return {
    makeOfferedText: async () => {
      const rows = await store.list('credential_configuration')
      const ids = rows.filter(({ value }) => isOffered(value, config)).map(({ id }) => id)
      const current = await joinTexts(ids, 'final')
      if (latest?.digest === current.digest) return latest
      latest = { ...current, idsByScope: await groupByScope({ loadConfiguration }, ids) }
      return latest
    },
    makeText: (ids, version) => textsOfSets.get([version, ...ids].join('/'), () => joinTexts(ids, version)),
  }
}

function textOf(
  members: readonly string[],
  configurations: readonly (Configuration | undefined)[],
): ConfigurationsText {
  const json = Buffer.from(`{${members.join()}}`)
  return {
    json,
    digest: hash('sha256', json, 'base64url'),
    batchSize: largestBatch(configurations),
  }
}
