/** Texts in PEM: blocks of base64 between lines that name what these hold. RFC 7468. */
import { fromBase64 } from './base64url.ts'
import { malformed } from './malformed.ts'

/** The labels of certificates and of revocation lists. */
export const CERTIFICATE_LABEL = 'CERTIFICATE'
export const CRL_LABEL = 'X509 CRL'

export interface PemBlock {
  readonly label: string
  /** Decodes the content. Throws a MalformedError if it is not base64, or the END line is missing. */
  decode(): Buffer
}

/** Finds the blocks of a text, which may have other lines around them. */
export function findPemBlocks(text: string): readonly PemBlock[] {
  // Base64 has no dash, so this expression takes linear time.
  const blocks = text.matchAll(/-----BEGIN ([^-]*)-----([^-]*)(?:-----END ([^-]*)-----)?/g)
  return Array.from(blocks, ([, label = '', body = '', endLabel]) => ({
    label,
    decode: () => (endLabel === label ? fromBase64(body.replace(/\s/g, '')) : malformed('its END line is missing')),
  }))
}

/** Writes one block. */
export function writePem(label: string, bytes: Uint8Array): string {
  const base64 = Buffer.from(bytes).toString('base64')
  const lines = base64.match(/.{1,64}/g) ?? []
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ''].join('\n')
}
