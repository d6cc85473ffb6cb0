/** Finds the key identifiers of the authorities above a certificate. RFC 5280 sections 4.2.1.1 and 4.2.1.2. */
import { toBase64url } from '../codec/base64url.ts'
import { readOrElse } from '../codec/malformed.ts'
import { type Certificate, isSamePublicKey, parseCertificate } from './certificate.ts'
import { MAX_CHAIN } from './trust-path.ts'

/**
 * Returns the key identifiers (base64url) of the authorities on a path of verified signatures, which begins with the
 * issuer's certificate. Uses an authority key identifier only if the next certificate has it as its subject key
 * identifier, since an issuer can put any value into its own certificate, and only if that is not the identifier of
 * another key among `anchors`, since an authority can do so too.
 */
export function verifiedAuthorityKeyIds(
  path: readonly Certificate[],
  anchors: readonly Certificate[],
): ReadonlySet<string> {
  const above = path.slice(1)
  return keyIds(
    path.filter(({ authorityKeyIdentifier: id }, at) => {
      const authority = above[at]
      return id && authority?.subjectKeyIdentifier?.equals(id) && !isIdOfAnother(id, authority, anchors)
    }),
  )
}

/** Tests whether `id` is not the digest of the authority's key, but identifies another key among `anchors`. */
function isIdOfAnother(id: Buffer, authority: Certificate, anchors: readonly Certificate[]): boolean {
  if (authority.keyDigest.equals(id)) return false
  return anchors.some(
    ({ keyDigest, subjectKeyIdentifier, publicKey }) =>
      (keyDigest.equals(id) || subjectKeyIdentifier?.equals(id) === true) &&
      !isSamePublicKey(publicKey, authority.publicKey),
  )
}

/**
 * Returns the authority key identifiers (base64url) in the certificates of `chain` (DER), without verifying signatures.
 * Skips bytes that are not a certificate.
 */
export function claimedAuthorityKeyIds(chain: readonly Uint8Array[]): ReadonlySet<string> {
  return keyIds(chain.slice(0, MAX_CHAIN).flatMap(parseOrSkip))
}

function keyIds(certificates: readonly Certificate[]): ReadonlySet<string> {
  return new Set(certificates.flatMap(({ authorityKeyIdentifier: id }) => (id === undefined ? [] : toBase64url(id))))
}

function parseOrSkip(der: Uint8Array): readonly Certificate[] {
  return readOrElse<readonly Certificate[]>(
    () => [parseCertificate(der)],
    () => [],
  )
}
