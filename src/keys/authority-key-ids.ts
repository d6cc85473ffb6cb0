/** Under which authorities certificates are, by key identifiers. RFC 5280 sections 4.2.1.1 and 4.2.1.2. */
import { toBase64url } from '../codec/base64url.ts'
import { MalformedError } from '../codec/malformed.ts'
import { type Certificate, parseCertificate } from './certificate.ts'
import { MAX_CHAIN } from './x5c.ts'

/**
 * Returns the key identifiers (base64url) of authorities on a path whose signatures were verified, the issuer's
 * certificate first. An identifier counts where a certificate names it and the next one of the path has it: an issuer
 * can have any identifier written into a certificate of its own, and so it names nobody by itself.
 */
export function verifiedAuthorityKeyIds(path: readonly Certificate[]): ReadonlySet<string> {
  const above = path.slice(1)
  return keyIds(path.filter(({ authorityKeyIdentifier: id }, at) => id && above[at]?.subjectKeyIdentifier?.equals(id)))
}

/**
 * Returns the ids, in base64url, of the authorities that the certificates of `chain` (DER) name. Nothing is verified,
 * and what is not a certificate is skipped.
 */
export function claimedAuthorityKeyIds(chain: readonly Uint8Array[]): ReadonlySet<string> {
  return keyIds(chain.slice(0, MAX_CHAIN).flatMap(parseOrSkip))
}

function keyIds(certificates: readonly Certificate[]): ReadonlySet<string> {
  return new Set(certificates.flatMap(({ authorityKeyIdentifier: id }) => (id === undefined ? [] : toBase64url(id))))
}

function parseOrSkip(der: Uint8Array): readonly Certificate[] {
  try {
    return [parseCertificate(der)]
  } catch (error) {
    if (error instanceof MalformedError) return []
    throw error
  }
}
