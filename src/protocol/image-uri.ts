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

/**
 * Returns why some wallets cannot read an image that {@link isImageUri} accepts; undefined if all known wallets can.
 * Wallets made with Credo refuse the whole request, or the whole metadata, with such an image (oid4vc-ts, August 2026).
 */
export function imageProblem(uri: string): string | undefined {
  if (/^https:/i.test(uri) || /^data:image\/[\w.-]+;base64,/.test(uri)) return undefined
  const form = /^data:/i.test(uri) ? 'a data: URI of SVG, or without ;base64' : 'an http: URL'
  const remedy = 'use an https: URL, or a data: URI that begins like data:image/png;base64,'
  return `wallets made with Credo, such as Paradym, read nothing of a document with ${form}; ${remedy}`
}
