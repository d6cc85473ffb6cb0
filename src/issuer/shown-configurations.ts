/**
 * The configurations in issuer metadata, as text: made once for all documents that have the same of them, whoever asks.
 * OpenID4VCI 1.0, Credential Issuer Metadata Parameters.
 */
import { hash } from 'node:crypto'
import { cacheById } from '../async/cache.ts'
import type { Configuration } from '../credential/format.ts'
import type { Signer } from '../keys/signer.ts'
import type { IssuerConfig } from './config.ts'
import type { IssuerContext, Shape, ShownConfigurations } from './context.ts'
import { olderConfiguration, shownConfiguration } from './shown-configuration.ts'

export interface Showing {
  /**
   * Shows every configuration that is not removed, for the final specification; the same object where nothing has
   * changed.
   */
  readonly showOffered: () => Promise<ShownConfigurations>
  /** Shows the configurations with these ids, removed or not. */
  readonly showConfigurations: (ids: readonly string[], shape: Shape) => Promise<ShownConfigurations>
}

const CACHED = { texts: 1000, sets: 64 }

export interface ShowingEffects extends Pick<IssuerContext, 'store' | 'loadConfiguration'> {
  readonly signer: () => Signer
  readonly config: Pick<IssuerConfig, 'draft13'>
}

export function createShowing({ store, signer, loadConfiguration, config }: ShowingEffects): Showing {
  const textOf = cacheById(CACHED.texts, async (key) => {
    const [shape, id = ''] = key.split('/')
    const configuration = await loadConfiguration(id)
    if (configuration === undefined) return undefined
    const show = shape === 'final' ? shownConfiguration : olderConfiguration
    return JSON.stringify(show(configuration, signer(), config.draft13))
  })
  const joined = async (ids: readonly string[], shape: Shape): Promise<ShownConfigurations> => {
    const members = await Promise.all(
      ids.map(async (id) => {
        const text = await textOf(`${shape}/${id}`)
        return text === undefined ? [] : [`${JSON.stringify(id)}:${text}`]
      }),
    )
    const json = Buffer.from(`{${members.flat().join()}}`)
    const batchSize = largestBatch(await Promise.all(ids.map(loadConfiguration)))
    return { json, digest: hash('sha256', json, 'base64url'), batchSize }
  }
  const setOf = cacheById(CACHED.sets, async (key) => {
    const [shape, ...ids] = key.split('/')
    return joined(ids, shape as Shape)
  })
  let latest: ShownConfigurations | undefined
  return {
    showOffered: async () => {
      const rows = await store.list('credential_configuration')
      const ids = rows.filter(({ value }) => !value.removed).map(({ id }) => id)
      const current = await joined(ids, 'final')
      if (latest?.digest !== current.digest) latest = current
      return latest
    },
    showConfigurations: async (ids, shape) => (await setOf([shape, ...ids].join('/'))) as ShownConfigurations,
  }
}

/** The largest batch size among the configurations; 1 of none. */
export function largestBatch(configurations: readonly (Configuration | undefined)[]): number {
  return Math.max(1, ...configurations.map((configuration) => configuration?.batchSize ?? 1))
}
