/** The trust in the signer of an attestation, of a wallet or of keys. */
import { type Certificate, leafProblem } from '../../keys/certificate.ts'
import { beginsWithTlsServer } from '../../keys/certificate-purpose.ts'
import { findTrustPath } from '../../keys/trust-path.ts'

/** Returns why the signer of an attestation is not trusted, as part of a sentence; undefined if it is. */
export function attesterProblem(
  chain: readonly [Certificate, ...Certificate[]],
  anchors: readonly Certificate[],
  { now, clockSkewSeconds }: { readonly now: Date; readonly clockSkewSeconds: number },
): string | undefined {
  const [leaf] = chain
  const problem = leafProblem(leaf, now, clockSkewSeconds, 'attestation')
  if (problem !== undefined) return problem
  const trustPath = findTrustPath(chain, anchors, { now, clockSkewSeconds })
  if ('problem' in trustPath) return trustPath.problem
  return beginsWithTlsServer(trustPath.path)
    ? `the certificate '${leaf.subjectText}' is that of a TLS server; sign attestations with another one`
    : undefined
}
