/** Findings about the keys and certificates of a service. */
import {
  describeValidity,
  endsSoon,
  findCertificateWarnings,
  findPreviousWarnings,
} from '../../config/certificate-warnings.ts'
import { type Certificate, certificateProblem, isSelfSigned, leafProblem } from '../../keys/certificate.ts'
import { identifierProblem } from '../../keys/certificate-identifier.ts'
import { type Finding, findingOfMistake, makeFinding } from './finding.ts'

/** Returns the findings about a signing key and its chain, which were checked when they were read. */
export function findSigningFindings(subject: string, chain: readonly Certificate[], at: Date): Finding[] {
  const [leaf, ...others] = chain
  if (leaf === undefined) return []
  return [
    makeFinding(subject, 'ok', `the key fits the certificate ${leaf.subjectText}`),
    ...findValidityFindings(subject, chain, at),
    ...(others.length > 0 ? findChainFindings(subject, chain, at) : findSingleCertificateFindings(subject, leaf)),
  ]
}

/** Returns the findings about an earlier key, of which nothing but its end matters. */
export function findPreviousFindings(subject: string, chain: readonly Certificate[], at: Date): Finding[] {
  const [leaf] = chain
  if (leaf === undefined || endsSoon(leaf, at)) {
    return findPreviousWarnings(subject, chain, at).map((warning) => findingOfMistake('warning', warning))
  }
  return [makeFinding(subject, 'ok', `the key fits its certificate; ${describeValidity(leaf, at)}`)]
}

/** Returns the certificate warnings as findings, and one with the expiry if that is not soon. */
export function findValidityFindings(subject: string, chain: readonly Certificate[], at: Date): Finding[] {
  const [leaf] = chain
  const warnings = findCertificateWarnings(subject, chain, at).map((warning) => warning.slice(`${subject}: `.length))
  return [
    ...(leaf === undefined || endsSoon(leaf, at) ? [] : [makeFinding(subject, 'ok', describeValidity(leaf, at))]),
    ...warnings.map((text) => makeFinding(subject, 'warning', text)),
  ]
}

/** Returns the finding whether `issuer.id` is a name of the certificate. */
export function identifierFinding([leaf]: readonly Certificate[], issuerId: string): Finding {
  if (!leaf?.hasSubjectAltName) {
    return makeFinding('issuer.id', 'note', 'the certificate has no alternative names, so nothing ties it to issuer.id')
  }
  const problem = identifierProblem(leaf, issuerId)
  return problem === undefined
    ? makeFinding('issuer.id', 'ok', `${issuerId} is a name in the certificate`)
    : makeFinding('issuer.id', 'warning', `${problem}; verifiers that compare the two refuse what it signs`)
}

/** Returns the findings about valid anchors; those about invalid ones come from reading the configuration. */
export function findAnchorFindings(subject: string, anchors: readonly Certificate[], at: Date): Finding[] {
  return anchors
    .filter(({ notAfter }) => notAfter >= at)
    .flatMap((anchor) => [expiryFinding(subject, anchor, at), ...findAnchorUsageFindings(subject, anchor, at)])
}

/** Returns a finding if the anchor may not sign credentials and is not a CA. */
function findAnchorUsageFindings(subject: string, anchor: Certificate, at: Date): Finding[] {
  const problem = leafProblem(anchor, at, 0, 'credential')
  if (problem === undefined || certificateProblem(anchor, at, 0) !== undefined) return []
  if (anchor.isCa && anchor.keyUsage?.has('keyCertSign') !== false) {
    return [
      makeFinding(
        subject,
        'note',
        `${problem}; it vouches for the certificates that it signed, and by itself it should sign nothing else`,
      ),
    ]
  }
  return [
    makeFinding(
      subject,
      'warning',
      `${problem}, and it is not a CA: put the certificate there that signs, or that of its CA`,
    ),
  ]
}

/** Returns when a certificate ends, and a warning if that is soon. */
export function expiryFinding(subject: string, certificate: Certificate, at: Date): Finding {
  const problem = certificateProblem(certificate, at, 0)
  if (problem !== undefined) return makeFinding(subject, 'warning', problem)
  return makeFinding(subject, endsSoon(certificate, at) ? 'warning' : 'ok', describeValidity(certificate, at))
}

function findSingleCertificateFindings(subject: string, leaf: Certificate): Finding[] {
  if (isSelfSigned(leaf)) return []
  return [
    makeFinding(
      subject,
      'note',
      `the certificate of its issuer, ${leaf.issuerText}, is not sent along; others must know it`,
    ),
  ]
}

/** Returns the findings about a chain without its anchor, whose expiry does not matter here. */
function findChainFindings(subject: string, chain: readonly Certificate[], at: Date): Finding[] {
  const problems = chain.slice(1).map((issuer) => certificateProblem(issuer, at, 0))
  return [
    makeFinding(subject, 'ok', `each of the ${chain.length} certificates is signed by the next`),
    ...problems.flatMap((problem) => (problem === undefined ? [] : [makeFinding(subject, 'warning', problem)])),
  ]
}
