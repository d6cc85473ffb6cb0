/** Checks of the issuer and of its trust path. The certificate must be that of the key that verified the signature. */

import { type Check, fail, notRun, pass, warn } from '../../check/check.ts'
import { MAX_URL } from '../../codec/url.ts'
import type { IssuerEvidence } from '../../credential/evidence-parts.ts'
import { type Certificate, hexFingerprint, leafProblem } from '../../keys/certificate.ts'
import { identifierProblem } from '../../keys/certificate-identifier.ts'
import { beginsWithTlsServer, tlsProblem } from '../../keys/certificate-purpose.ts'
import { anchorAsSigner } from '../../keys/trust-path.ts'
import { SD_JWT_VC } from '../../protocol/specifications.ts'
import type { IssuerChain } from '../issuer-path.ts'
import { missingListsText } from '../trust-list/anchors.ts'
import { CREDIBILITY_CHECKS, type EvidenceWithChain, type PresentationCheckContext } from './context.ts'

/** The part of a presentation that the checks of the certificate need. */
interface CertificateEvidence {
  readonly issuer: Pick<IssuerEvidence, 'signedAt'>
  readonly issuerChain: IssuerChain
}

/** The part of the context that the checks of the certificate need. */
export type CertificateCheckContext = Pick<
  PresentationCheckContext,
  'findIssuerPath' | 'now' | 'clockSkewSeconds' | 'trustAnchors' | 'trustLists' | 'acceptTlsServerCertificates'
>

/** The checks of the certificate and its path, which need no other part of a presentation. */
export const issuerCertificateChecks: readonly Check<CertificateEvidence, CertificateCheckContext>[] = [
  {
    id: 'issuer.certificate',
    asks: 'Is the issuer certificate valid now, and may its key sign?',
    spec: `RFC 5280 section 6.1.3; ${SD_JWT_VC}, Issuer Signature Mechanisms; ISO/IEC 18013-5 section 9.3.1`,
    level: 'MUST',
    run({ issuer: { signedAt }, issuerChain: { leaf } }, { now, clockSkewSeconds, trustAnchors = [] }) {
      if ('problem' in leaf) return fail(leaf.problem, leaf.cause)
      const problemOf = (certificate: Certificate) =>
        leafProblem(certificate, now, clockSkewSeconds, 'credential') ?? signingTimeProblem(certificate, signedAt?.at)
      const problem = problemOf(leaf)
      if (problem === undefined) return pass()
      const tolerated = problemOf(anchorAsSigner(leaf, trustAnchors)) === undefined
      return tolerated ? warn(`${problem}; accepted, because the certificate itself is a trust anchor`) : fail(problem)
    },
  },
  {
    id: 'issuer.trusted',
    asks: 'Does the issuer certificate lead to a trust anchor?',
    spec: 'RFC 5280 section 6; OpenID4VP 1.0, VP Token Validation',
    level: 'MUST',
    needs: CREDIBILITY_CHECKS,
    notApplicableReason: ({ trustAnchors }) =>
      trustAnchors === undefined ? 'no trust anchors are configured (issuerTrustAnchors)' : undefined,
    run({ issuerChain }, { findIssuerPath, trustLists, acceptTlsServerCertificates }) {
      const { leaf } = issuerChain
      if ('problem' in leaf) return notRun('there is no issuer certificate to trust')
      const trustPath = findIssuerPath(issuerChain)
      if ('problem' in trustPath) {
        const detail = `${trustPath.problem}. ${missingListsText(trustLists)}${trustInstruction(leaf)}`
        return fail(detail, trustPath.cause)
      }
      if (!acceptTlsServerCertificates && beginsWithTlsServer(trustPath.path)) {
        return fail(`${tlsProblem(leaf)} (acceptTlsServerCertificates). ${trustInstruction(leaf)}`)
      }
      return pass(`by way of ${trustPath.path.map((each) => each.subjectText).join(', ')}`)
    },
  },
]

export const issuerChecks: readonly Check<EvidenceWithChain, PresentationCheckContext>[] = [
  {
    id: 'issuer.signature',
    asks: 'Did the key of the issuer certificate sign this credential?',
    spec: 'RFC 9901, Verification of the SD-JWT; RFC 7515 section 5.2; ISO/IEC 18013-5 section 9.3.1',
    level: 'MUST',
    run({ issuer, issuerChain: { leaf } }) {
      if ('problem' in leaf) return notRun('there is no issuer certificate to take the key from')
      const problem = issuer.signatureProblem(leaf.publicKey)
      return problem === undefined ? pass() : fail(`the signature is not by the key of ${leaf.subjectText}: ${problem}`)
    },
  },
  ...issuerCertificateChecks,
  {
    id: 'issuer.identifier',
    asks: 'Does the credential name one issuer, and is that a name in its certificate?',
    spec: `VC-JOSE-COSE, Using JOSE (iss and issuer); RFC 9525 section 6; ${SD_JWT_VC}, Issuer Signature Mechanisms`,
    level: 'MUST',
    needs: CREDIBILITY_CHECKS,
    run({ issuer: { identifiers }, issuerChain: { leaf } }, { issuerIdentifier }) {
      const [identifier] = identifiers
      if (identifier === undefined) return pass('the credential names no issuer beside its certificate')
      if (identifier === '') return fail('the credential names no issuer')
      if (identifier.length > MAX_URL) return fail(`the name of the issuer is longer than ${MAX_URL} characters`)
      if (identifiers.some((each) => each !== identifier)) return fail('iss and issuer of the credential differ')
      if ('problem' in leaf) return notRun('there is no issuer certificate to compare with')
      const problem = identifierProblem(leaf, identifier)
      if (problem === undefined) return pass()
      return issuerIdentifier === 'match'
        ? fail(problem)
        : warn(`${problem}; accepted, as the setting issuerIdentifier is not match`)
    },
  },
]

/**
 * Returns the problem of a credential that was signed outside of the certificate's validity. Another check fails for a
 * missing time. ISO/IEC 18013-5 section 9.3.1.
 */
function signingTimeProblem({ notBefore, notAfter, subjectText }: Certificate, at: Date | undefined) {
  if (at === undefined || (notBefore <= at && at <= notAfter)) return undefined
  return `the credential says that it was signed when the certificate '${subjectText}' was not valid`
}

/** Tells the application how to trust the certificate: by its fingerprint, since anybody can choose its names. */
function trustInstruction(leaf: Certificate): string {
  return `To trust it, put certificate SHA-256 ${hexFingerprint(leaf)} or its CA's into issuerTrustAnchors`
}
