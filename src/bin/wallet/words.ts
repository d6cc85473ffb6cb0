/** The options of `vouchsafe wallet` that are more than texts. */
import { parseInternationalUrl } from '../../codec/url.ts'
import type { WalletInitiatedRequest } from '../../wallet/receive.ts'
import { UsageError } from '../terminal/command-line.ts'

/** Reads the options for a request without an offer. Throws a {@link UsageError}. */
export function readUnofferedRequest(values: {
  readonly issuer?: string | undefined
  readonly configuration?: string | undefined
  readonly scope?: string | undefined
}): WalletInitiatedRequest | undefined {
  const { issuer: credentialIssuer, configuration: configurationId, scope } = values
  if (credentialIssuer === undefined && configurationId === undefined && scope === undefined) return undefined
  if (credentialIssuer === undefined || (configurationId === undefined) === (scope === undefined)) {
    throw new UsageError('wallet', 'without an offer, say --issuer URL and one of --configuration ID and --scope SCOPE')
  }
  if (parseInternationalUrl(credentialIssuer) === undefined)
    throw new UsageError('wallet', `--issuer ${credentialIssuer} is not an absolute URL`)
  return { credentialIssuer, credential: configurationId === undefined ? { scope: scope ?? '' } : { configurationId } }
}

/** Reads the origin of a page, as a browser writes it. Throws a {@link UsageError}. */
export function readPageOrigin(origin: string | undefined): string | undefined {
  if (origin === undefined || (URL.canParse(origin) && new URL(origin).origin === origin)) return origin
  throw new UsageError('wallet', '--origin is the origin of a page as browsers write it, such as https://shop.example')
}
