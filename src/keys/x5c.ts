/** Certificate chains in JWS headers. RFC 7515 section 4.1.6. */
import { fromBase64 } from '../codec/base64url.ts'
import { malformed, within } from '../codec/malformed.ts'
import { type Certificate, parseCertificate } from './certificate.ts'
import { MAX_CHAIN } from './trust-anchors.ts'

/** Decodes the certificates of `x5c` to DER. Throws a MalformedError unless it is an array of base64 strings. */
export function decodeX5c(value: unknown): readonly Buffer[] {
  if (!Array.isArray(value)) return malformed('x5c is not an array')
  return value.map((text, index) =>
    within(`x5c[${index}]`, () => (typeof text === 'string' ? fromBase64(text) : malformed('it is not a string'))),
  )
}

/**
 * Parses the certificates of `x5c`, that of the key first. Throws a MalformedError if it is invalid. Does not verify
 * trust.
 */
export function readX5c(value: unknown): readonly [Certificate, ...Certificate[]] {
  const chain = decodeX5c(value)
  if (chain.length > MAX_CHAIN) malformed(`x5c has more than ${MAX_CHAIN} certificates`)
  const [leaf, ...others] = chain.map((der, index) => within(`x5c[${index}]`, () => parseCertificate(der)))
  return leaf === undefined ? malformed('x5c is empty') : [leaf, ...others]
}
