/** Which authorities certificates name as their issuers, by key identifiers. RFC 5280 section 4.2.1.1. */
import { toBase64url } from '../codec/base64url.ts'
import { MalformedError } from '../codec/malformed.ts'
import { type Certificate, parseCertificate } from './certificate.ts'
import { MAX_CHAIN } from './x5c.ts'

/** Base64url. They are worth what the certificates are: anybody can write any identifier into one. */
export function authorityKeyIds(certificates: readonly Certificate[]): ReadonlySet<string> {
  return new Set(certificates.flatMap(({ authorityKeyIdentifier: id }) => (id === undefined ? [] : toBase64url(id))))
}

/** The same of a chain (DER) that nobody has verified; what is no certificate names nobody. */
export function claimedAuthorityKeyIds(chain: readonly Uint8Array[]): ReadonlySet<string> {
  return authorityKeyIds(chain.slice(0, MAX_CHAIN).flatMap(parsed))
}

function parsed(der: Uint8Array): readonly Certificate[] {
  try {
    return [parseCertificate(der)]
  } catch (error) {
    if (error instanceof MalformedError) return []
    throw error
  }
}
