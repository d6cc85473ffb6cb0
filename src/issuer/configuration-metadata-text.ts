/**
 * The metadata of the credential configurations as JSON text, which is made once and reused for all metadata documents
 * with the same configurations. OpenID4VCI 1.0, Credential Issuer Metadata Parameters.
 */
import { hash } from 'node:crypto'
import { cacheById, createPromiseCache } from '../async/cache.ts'
import type { Configuration } from '../credential/format.ts'
import type { KeyRing } from '../keys/key-ring.ts'
import type { IssuerConfig } from './config.ts'
import { configurationMetadata, makeOlderConfigurationMetadata } from './configuration-metadata.ts'
import { groupByScope, isListed, isOffered, largestBatch } from './configurations.ts'
import type { ConfigurationsText, IssuerContext, MetadataVersion, OfferedConfigurationsText } from './context.ts'

export interface ConfigurationTexts {
  /**
   * Returns the text for all offered configurations, and for removed ones that sessions may need, in the form of the
   * final specification. Its bytes are the same object while they have not changed.
   */
  readonly makeOfferedText: () => Promise<OfferedConfigurationsText>
  /** Returns the text for the configurations with these ids, including removed ones. */
  readonly makeText: (ids: readonly string[], version: MetadataVersion) => Promise<ConfigurationsText>
}

/** A configuration, and its member of `credential_configurations_supported` as text. */
interface ConfigurationMember {
  readonly configuration: Configuration
  readonly text: string
}

type MetadataOf = typeof configurationMetadata | typeof makeOlderConfigurationMetadata

/** The maximum number of members in the cache of each version. */
const MAX_CACHED_MEMBERS = 1000
const MAX_CACHED_SETS = 64

export interface ConfigurationTextEffects extends Pick<IssuerContext, 'store' | 'loadConfiguration' | 'now'> {
  readonly getKeys: () => Pick<KeyRing, 'credentialSigner'>
  readonly config: Pick<IssuerConfig, 'draft13' | 'profile' | 'proofAlgorithms'>
}

/** Creates the functions that make `credential_configurations_supported`, with caches for the texts. */
export function createConfigurationTexts({
  store,
  getKeys,
  loadConfiguration,
  config,
  now,
}: ConfigurationTextEffects): ConfigurationTexts {
  const cacheMembers = (metadataOf: MetadataOf) =>
    cacheById(MAX_CACHED_MEMBERS, async (id): Promise<ConfigurationMember | undefined> => {
      const configuration = await loadConfiguration(id)
      if (configuration === undefined) return undefined
      const metadata = metadataOf(configuration, getKeys().credentialSigner, config)
      return { configuration, text: `${JSON.stringify(id)}:${JSON.stringify(metadata)}` }
    })
  const loadMember: Readonly<Record<MetadataVersion, ReturnType<typeof cacheMembers>>> = {
    final: cacheMembers(configurationMetadata),
    older: cacheMembers(makeOlderConfigurationMetadata),
  }
  const loadMembers = async (ids: readonly string[], version: MetadataVersion): Promise<ConfigurationMember[]> => {
    const members = await Promise.all(ids.map(loadMember[version]))
    return members.filter((member) => member !== undefined)
  }
  const textsOfSets = createPromiseCache<ConfigurationsText>(MAX_CACHED_SETS)
  let latest: ConfigurationsText | undefined
  return {
    makeOfferedText: async () => {
      const rows = await store.list('credential_configuration')
      const listedRows = rows.filter(({ value }) => isListed(value, config, now()))
      const offeredRows = listedRows.filter(({ value }) => isOffered(value, config))
      const current = textOf(await loadMembers(listedRows.map(idOf), 'final'))
      if (latest?.digest !== current.digest) latest = current
      return { ...latest, idsByScope: await groupByScope({ loadConfiguration }, offeredRows.map(idOf)) }
    },
    makeText: (ids, version) =>
      textsOfSets.get([version, ...ids].join('/'), async () => textOf(await loadMembers(ids, version))),
  }
}

const idOf = ({ id }: { readonly id: string }): string => id

/** Joins the members of `credential_configurations_supported`. */
function textOf(members: readonly ConfigurationMember[]): ConfigurationsText {
  const json = Buffer.from(`{${members.map(({ text }) => text).join()}}`)
  return {
    json,
    digest: hash('sha256', json, 'base64url'),
    batchSize: largestBatch(members.map(({ configuration }) => configuration)),
  }
}
