/** Image URIs in metadata, which wallets load. OpenID4VCI 1.0, Credential Issuer Metadata Parameters: `logo`. */
import { MAX_URL, parseInternationalUrl } from '../codec/url.ts'
import { isSecureTransport } from './private-host.ts'

export const IMAGE_URI_RULE = `it must be an https: URL of at most ${MAX_URL} characters, or a data: URI of an image`

/** Tests whether a wallet can load the image; http is only allowed for private networks. */
export function isImageUri(uri: string): boolean {
  if (/^data:image\/[\w.+-]+[;,]/i.test(uri)) return true
  const url = parseInternationalUrl(uri)
  return url !== undefined && isSecureTransport(url)
}
