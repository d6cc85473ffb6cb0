/** Image URIs in metadata, which wallets load. OpenID4VCI 1.0, Credential Issuer Metadata Parameters: `logo`. */
import { isSecureTransport } from './private-host.ts'

export const IMAGE_URI_RULE = 'it must be an https: URL, or a data: URI of an image'

/** Tests whether a wallet can load the image; http is only allowed for private networks. */
export function isImageUri(uri: string): boolean {
  return /^data:image\/[\w.+-]+[;,]/i.test(uri) || (URL.canParse(uri) && isSecureTransport(new URL(uri)))
}
