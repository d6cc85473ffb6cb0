/** The setting `authentication.presentation`: a verifier that requests another credential from the person. */
import type { Static } from 'typebox'
import * as Type from 'typebox'
import { isSecureTransport } from '../protocol/private-host.ts'
import { type DatasetMapping, DatasetsSetting, findDatasetMistakes, resolveDatasets } from './claim-datasets.ts'

export const PresentationSetting = Type.Object(
  {
    verifier: Type.String({ description: 'The base URL of a Vouchsafe verifier, with issuerTrustAnchors' }),
    apiKey: Type.String({ minLength: 1, description: 'A key of integrations.authentication of the verifier' }),
    verificationQueryId: Type.String({ minLength: 1, description: 'The query there that the person has to answer' }),
    datasets: DatasetsSetting,
  },
  {
    additionalProperties: false,
    description:
      'A verifier that asks the person for another credential, in place of `interactionUrl`; a path of `datasets` begins with the id of a credential in the query',
  },
)
type PresentationSetting = Static<typeof PresentationSetting>

export interface PresentationConfig {
  readonly verifier: string
  readonly apiKey: string
  readonly verificationQueryId: string
  readonly datasets: ReadonlyMap<string, DatasetMapping>
}

/** Converts valid settings. */
export function resolvePresentation(settings: PresentationSetting): PresentationConfig {
  return { ...settings, datasets: resolveDatasets(settings.datasets) }
}

/** Returns the mistakes in the setting. */
export function findPresentationMistakes({ verifier, datasets }: PresentationSetting): string[] {
  const url = URL.canParse(verifier) ? new URL(verifier) : undefined
  const isBase = url !== undefined && url.origin === verifier && isSecureTransport(url)
  const address = isBase ? [] : ['verifier: write its base URL, like https://verifier.example.edu, without a path']
  return [...address, ...findDatasetMistakes(datasets, 2)].map((mistake) => `authentication.presentation.${mistake}`)
}
