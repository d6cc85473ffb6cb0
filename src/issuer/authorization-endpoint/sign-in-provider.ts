/** The operator's OpenID Connect provider, with the scope and the claims that the dataset mappings need. */
import { SIGN_IN_PATH } from '../../config/authentication.ts'
import type { Effects } from '../../http/effects.ts'
import { createOpenidProvider, type OpenidProvider } from '../../openid-connect/provider.ts'
import { claimNamesOf } from '../claims-dataset.ts'
import type { IssuerConfig } from '../config.ts'

/** The redirect URI path for the provider's response. */
export const SIGN_IN_ANSWER_PATH = `${SIGN_IN_PATH}/answer`

/** Returns the provider of the configuration; undefined if none is configured. */
export function createSignInProvider(
  { baseUrl, codeFlow }: Pick<IssuerConfig, 'baseUrl' | 'codeFlow'>,
  effects: Pick<Effects<never>, 'outbound' | 'now'>,
): OpenidProvider | undefined {
  const { openidConnect } = codeFlow ?? {}
  if (openidConnect === undefined) return undefined
  const { datasets, ...client } = openidConnect
  const claims = claimNamesOf(datasets.values())
  return createOpenidProvider({ ...client, claims, redirectUri: baseUrl + SIGN_IN_ANSWER_PATH }, effects)
}
