/**
 * The configurations in issuer metadata, as text: made once for all documents that have the same of them, whoever asks.
 * OpenID4VCI 1.0, Credential Issuer Metadata Parameters.
 */
import { hash } from 'node:crypto'
import { cacheById, createPromiseCache } from '../async/cache.ts'
import type { Configuration } from '../credential/format.ts'
import type { Signer } from '../keys/signer.ts'
import type { IssuerConfig } from './config.ts'
import { configurationMetadata, makeOlderConfigurationMetadata } from './configuration-metadata.ts'
import { isOffered } from './configurations.ts'
import type { ConfigurationsMember, IssuerContext, MetadataVersion } from './context.ts'

export interface ConfigurationTexts {
  /**
   * Returns the member of all configurations that are offered, for the final specification; the same object where
   * nothing has changed.
   */
  readonly makeOfferedMember: () => Promise<ConfigurationsMember>
  /** Returns the member of the configurations with these ids, removed or not. */
  readonly makeMember: (ids: readonly string[], version: MetadataVersion) => Promise<ConfigurationsMember>
}

const CACHED = { texts: 1000, sets: 64 }

export interface ConfigurationTextEffects extends Pick<IssuerContext, 'store' | 'loadConfiguration'> {
  readonly signer: () => Signer
  readonly config: Pick<IssuerConfig, 'draft13' | 'profile'>
}

export function createConfigurationTexts({
  store,
  signer,
  loadConfiguration,
  config,
}: ConfigurationTextEffects): ConfigurationTexts {
  const loadText = cacheById(CACHED.texts, async (key) => {
    const [version, id = ''] = key.split('/')
    const configuration = await loadConfiguration(id)
    if (configuration === undefined) return undefined
    const metadataOf = version === 'final' ? configurationMetadata : makeOlderConfigurationMetadata
    return JSON.stringify(metadataOf(configuration, signer(), config.draft13))
  })
  const joinTexts = async (ids: readonly string[], version: MetadataVersion): Promise<ConfigurationsMember> => {
    const members = await Promise.all(
      ids.map(async (id) => {
        const text = await loadText(`${version}/${id}`)
        return text === undefined ? [] : [`${JSON.stringify(id)}:${text}`]
      }),
    )
    return memberOf(members.flat(), ids, await Promise.all(ids.map(loadConfiguration)))
  }
  const membersOfSets = createPromiseCache<ConfigurationsMember>(CACHED.sets)
  let latest: ConfigurationsMember | undefined
  return {
    makeOfferedMember: async () => {
      const rows = await store.list('credential_configuration')
      const ids = rows.filter(({ value }) => isOffered(value, config)).map(({ id }) => id)
      const current = await joinTexts(ids, 'final')
      if (latest?.digest !== current.digest) latest = current
      return latest
    },
    makeMember: (ids, version) => membersOfSets.get([version, ...ids].join('/'), () => joinTexts(ids, version)),
  }
}

function memberOf(
  members: readonly string[],
  ids: readonly string[],
  configurations: readonly (Configuration | undefined)[],
): ConfigurationsMember {
  const json = Buffer.from(`{${members.join()}}`)
  const scopes = ids.map((id, index) => [id, configurations[index]?.posted.scope] as const)
  return {
    json,
    digest: hash('sha256', json, 'base64url'),
    batchSize: largestBatch(configurations),
    idsByScope: groupByScope(scopes),
  }
}

function groupByScope(scopes: readonly (readonly [id: string, scope: string | undefined])[]) {
  const idsByScope = new Map<string, readonly string[]>()
  for (const [id, scope] of scopes) {
    if (scope !== undefined) idsByScope.set(scope, [...(idsByScope.get(scope) ?? []), id])
  }
  return idsByScope
}

/** Returns the largest batch size among the configurations; 1 of none. */
export function largestBatch(configurations: readonly (Configuration | undefined)[]): number {
  return Math.max(1, ...configurations.map((configuration) => configuration?.batchSize ?? 1))
}
