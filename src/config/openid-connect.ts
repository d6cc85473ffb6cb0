/**
 * The setting `authentication.openidConnect`: an OpenID Connect provider for sign-in, and the mapping of its claims to
 * datasets.
 */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { issuerProblem } from './address.ts'
import { type DatasetMapping, DatasetsSetting, findDatasetMistakes, resolveDatasets } from './claim-datasets.ts'

const DEFAULT_SCOPE = 'openid profile email'

export const OpenidConnectSetting = Type.Object(
  {
    issuer: Type.String({ description: 'The issuer identifier of the provider, https' }),
    clientId: Type.String({ minLength: 1, description: 'The client id of this service at the provider' }),
    clientSecret: Type.Optional(
      Type.String({ minLength: 1, description: 'The secret of clientId; absent for a public client' }),
    ),
    scope: Type.Optional(
      Type.String({ description: `The scope that is asked for, with openid in it; \`${DEFAULT_SCOPE}\` when absent` }),
    ),
    datasets: DatasetsSetting,
  },
  {
    additionalProperties: false,
    description:
      'An OpenID Connect provider that signs the person in, in place of `interactionUrl`; browsers come back to `/auth/sign-in/answer`',
  },
)
type OpenidConnectSetting = Static<typeof OpenidConnectSetting>

export interface OpenidConnectConfig {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret?: string
  readonly scope: string
  /** The mappings, by the scope or the id of a credential configuration. */
  readonly datasets: ReadonlyMap<string, DatasetMapping>
}

/** Adds the defaults to valid settings. */
export function resolveOpenidConnect(settings: OpenidConnectSetting): OpenidConnectConfig {
  const { datasets, scope = DEFAULT_SCOPE, ...rest } = settings
  return { ...rest, scope, datasets: resolveDatasets(datasets) }
}

/** Returns the mistakes in the setting. */
export function findOpenidConnectMistakes(settings: OpenidConnectSetting): string[] {
  const { issuer, scope = DEFAULT_SCOPE, datasets } = settings
  const problem = issuerProblem(issuer, 'https://login.example.edu')
  return [
    ...(problem === undefined ? [] : [`issuer: ${problem}`]),
    ...(scope.split(' ').includes('openid') ? [] : ['scope: openid must be one of its values']),
    ...findDatasetMistakes(datasets, 1),
  ].map((mistake) => `authentication.openidConnect.${mistake}`)
}
