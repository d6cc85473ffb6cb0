/** Certificate chains in the headers of JWS. RFC 7515 section 4.1.6. */
import { malformed, within } from '../codec/malformed.ts'
import { type Certificate, parseCertificate } from './certificate.ts'

/** Each certificate costs time to read, whoever sent it. */
const MAX_CHAIN = 10

/** The certificates of an `x5c`, that of the key first. Throws a MalformedError; says nothing about who is trusted. */
export function readX5c(value: unknown): readonly [Certificate, ...Certificate[]] {
  if (!Array.isArray(value)) return malformed('x5c is not an array')
  if (value.length > MAX_CHAIN) malformed(`x5c has more than ${MAX_CHAIN} certificates`)
  const [leaf, ...others] = value.map((text, index) =>
    within(`x5c[${index}]`, () => parseCertificate(fromBase64(text))),
  )
  return leaf === undefined ? malformed('x5c is empty') : [leaf, ...others]
}

/** The standard alphabet with padding, and not that of the rest of a JWS. */
function fromBase64(text: unknown): Buffer {
  if (typeof text !== 'string') return malformed('it is not a string')
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : malformed('it is not base64')
}
