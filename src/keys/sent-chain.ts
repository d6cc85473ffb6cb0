/** The certificates that go out with a signature: `x5c`, leaf first. RFC 7515 section 4.1.6. */
import type { Certificate } from './certificate.ts'

/**
 * Standard base64 of each DER certificate. A self-signed certificate after the leaf is the trust anchor, which the receiver
 * has or does not have: it is never sent (HAIP 1.0, x5c). A self-signed leaf is all there is, so it stays.
 */
export function sentChain(chain: readonly Certificate[]): string[] {
  return chain
    .filter((certificate, index) => index === 0 || !certificate.selfIssued)
    .map((certificate) => certificate.der.toString('base64'))
}
