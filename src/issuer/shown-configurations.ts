/**
 * The configurations in issuer metadata, as text: made once for all documents that have the same of them, whoever asks.
 * OpenID4VCI 1.0, Credential Issuer Metadata Parameters.
 */
import { hash } from 'node:crypto'
import type { JsonObject } from '../codec/json.ts'
import type { Signer } from '../keys/signer.ts'
import { remembered } from '../memory/remembered.ts'
import type { IssuerStore } from './collections.ts'
import type { IssuerConfig } from './config.ts'
import { largestBatch } from './configurations.ts'
import type { Shape, ShownConfigurations } from './context.ts'
import { olderConfiguration, shownConfiguration } from './shown-configuration.ts'

export interface Showing {
  /** Every configuration that is not removed, for the final specification; the same object where nothing has changed. */
  readonly offered: () => Promise<ShownConfigurations>
  /** The configurations with these ids, removed or not. */
  readonly named: (ids: readonly string[], shape: Shape) => Promise<ShownConfigurations>
}

const REMEMBERED = { texts: 1000, sets: 64 }

export interface ShowingEffects {
  readonly store: IssuerStore
  readonly signer: () => Signer
  readonly configuration: (id: string) => Promise<JsonObject | undefined>
  readonly config: Pick<IssuerConfig, 'draft13'>
}

export function showConfigurations({ store, signer, configuration, config }: ShowingEffects): Showing {
  const textOf = remembered(REMEMBERED.texts, async (key: string) => {
    const [shape, id = ''] = key.split('/')
    const posted = await configuration(id)
    if (posted === undefined) return undefined
    const show = shape === 'final' ? shownConfiguration : olderConfiguration
    return JSON.stringify(show(posted, signer(), config.draft13))
  })
  const joined = async (ids: readonly string[], shape: Shape, batchSize: number): Promise<ShownConfigurations> => {
    const members = await Promise.all(
      ids.map(async (id) => {
        const text = await textOf(`${shape}/${id}`)
        return text === undefined ? [] : [`${JSON.stringify(id)}:${text}`]
      }),
    )
    const json = Buffer.from(`{${members.flat().join()}}`)
    return { json, digest: hash('sha256', json, 'base64url'), batchSize }
  }
  const setOf = remembered(REMEMBERED.sets, async (key: string) => {
    const [shape, ...ids] = key.split('/')
    return joined(ids, shape as Shape, largestBatch(await Promise.all(ids.map(configuration))))
  })
  let last: ShownConfigurations | undefined
  return {
    offered: async () => {
      const rows = (await store.list('credential_configuration')).filter(({ value }) => !value.removed)
      const batchSize = largestBatch(rows.map(({ value }) => value.configuration))
      const made = await joined(
        rows.map(({ id }) => id),
        'final',
        batchSize,
      )
      if (last?.digest !== made.digest) last = made
      return last
    },
    named: async (ids, shape) => (await setOf([shape, ...ids].join('/'))) as ShownConfigurations,
  }
}
