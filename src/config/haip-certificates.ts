/** The rule of HAIP for the certificates that wallets get from an issuer or a verifier. */
import { isSelfSigned } from '../keys/certificate.ts'
import type { SigningKey } from '../keys/key-ring.ts'

/**
 * Returns a mistake for each key, by the path of its setting, whose certificate is self-signed: such a certificate must
 * not be in `x5c`. HAIP 1.0, SD-JWT VC: x5c, and OpenID for Verifiable Presentations.
 */
export function findSelfSignedMistakes(
  service: 'issuer' | 'verifier',
  keys: Readonly<Record<string, SigningKey | undefined>>,
): string[] {
  return Object.entries(keys).flatMap(([path, key]) => {
    const leaf = key?.chain[0]
    if (leaf === undefined || !isSelfSigned(leaf)) return []
    return [
      `${path}: the profile haip needs a certificate of a CA, and ${leaf.subjectText} is self-signed; get one, or make a test CA with vouchsafe init ${service} --profile haip`,
    ]
  })
}
