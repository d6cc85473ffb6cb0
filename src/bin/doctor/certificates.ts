/** Findings about the keys and certificates of a service. */
import {
  describeValidity,
  endsSoon,
  findCertificateWarnings,
  findPreviousWarnings,
} from '../../config/certificate-warnings.ts'
import type { ReadKey } from '../../config/signing.ts'
import { type Certificate, certificateProblem, isSelfSigned, leafProblem } from '../../keys/certificate.ts'
import { identifierProblem } from '../../keys/certificate-identifier.ts'
import { type Finding, findingOfMistake } from './finding.ts'

type Say = (outcome: Finding['outcome'], text: string) => Finding

/** Returns the findings about a signing key and its chain, which were checked when they were read. */
export function findSigningFindings(subject: string, chain: readonly Certificate[], at: Date): Finding[] {
  const say: Say = (outcome, text) => ({ subject, outcome, text })
  const [leaf, ...others] = chain
  if (leaf === undefined) return []
  return [
    say('ok', `the key fits the certificate ${leaf.subjectText}`),
    ...findCertificateFindings(subject, chain, at),
    ...(others.length > 0 ? findChainFindings(chain, at, say) : findSingleCertificateFindings(leaf, say)),
  ]
}

/** Returns the findings about an earlier key, of which nothing but its end matters. */
export function findPreviousFindings(subject: string, chain: readonly Certificate[], at: Date): Finding[] {
  const [leaf] = chain
  if (leaf === undefined || endsSoon(leaf, at)) {
    return findPreviousWarnings(subject, chain, at).map((warning) => findingOfMistake('warning', warning))
  }
  return [{ subject, outcome: 'ok', text: `the key fits its certificate; ${describeValidity(leaf, at)}` }]
}

/** Returns the findings about the TLS certificate. */
export function findTlsFindings({ chain }: ReadKey, baseUrl: string | undefined, at: Date): Finding[] {
  const plain = baseUrl?.startsWith('http:') ?? false
  const contradiction = 'the service speaks https, and baseUrl says http'
  return [
    ...findCertificateFindings('tls', chain, at),
    ...(plain ? [{ subject: 'tls', outcome: 'warning', text: contradiction } as const] : []),
  ]
}

/** Returns the certificate warnings as findings, and one with the expiry if that is not soon. */
function findCertificateFindings(subject: string, chain: readonly Certificate[], at: Date): Finding[] {
  const [leaf] = chain
  const warnings = findCertificateWarnings(subject, chain, at).map((warning) => warning.slice(`${subject}: `.length))
  return [
    ...(leaf === undefined || endsSoon(leaf, at)
      ? []
      : [{ subject, outcome: 'ok', text: describeValidity(leaf, at) } as const]),
    ...warnings.map((text) => ({ subject, outcome: 'warning', text }) as const),
  ]
}

/** Returns the finding whether `issuer.id` is a name of the certificate. */
export function identifierFinding([leaf]: readonly Certificate[], issuerId: string): Finding {
  const say: Say = (outcome, text) => ({ subject: 'issuer.id', outcome, text })
  if (!leaf?.hasSubjectAltName) {
    return say('note', 'the certificate has no alternative names, so nothing ties it to issuer.id')
  }
  const problem = identifierProblem(leaf, issuerId)
  return problem === undefined
    ? say('ok', `${issuerId} is a name in the certificate`)
    : say('warning', `${problem}; verifiers that compare the two refuse what it signs`)
}

/** Returns the findings about valid anchors; those about invalid ones come from reading the configuration. */
export function findAnchorFindings(subject: string, anchors: readonly Certificate[], at: Date): Finding[] {
  const say: Say = (outcome, text) => ({ subject, outcome, text })
  return anchors
    .filter(({ notAfter }) => notAfter >= at)
    .flatMap((anchor) => [expiryFinding(anchor, at, say), ...findAnchorUsageFindings(anchor, at, say)])
}

/** Returns a finding if the anchor may not sign credentials and is not a CA. */
function findAnchorUsageFindings(anchor: Certificate, at: Date, say: Say): Finding[] {
  const problem = leafProblem(anchor, at, 0, 'credential')
  if (problem === undefined || certificateProblem(anchor, at, 0) !== undefined) return []
  if (anchor.isCa && anchor.keyUsage?.has('keyCertSign') !== false) {
    return [
      say(
        'note',
        `${problem}; it vouches for the certificates that it signed, and by itself it should sign nothing else`,
      ),
    ]
  }
  return [say('warning', `${problem}, and it is not a CA: put the certificate there that signs, or that of its CA`)]
}

function expiryFinding(certificate: Certificate, at: Date, say: Say): Finding {
  const problem = certificateProblem(certificate, at, 0)
  if (problem !== undefined) return say('warning', problem)
  return say(endsSoon(certificate, at) ? 'warning' : 'ok', describeValidity(certificate, at))
}

function findSingleCertificateFindings(leaf: Certificate, say: Say): Finding[] {
  if (isSelfSigned(leaf)) return []
  return [say('note', `the certificate of its issuer, ${leaf.issuerText}, is not sent along; others must know it`)]
}

/** Returns the findings about a chain without its anchor, whose expiry does not matter here. */
function findChainFindings(chain: readonly Certificate[], at: Date, say: Say): Finding[] {
  const problems = chain.slice(1).map((issuer) => certificateProblem(issuer, at, 0))
  return [
    say('ok', `each of the ${chain.length} certificates is signed by the next`),
    ...problems.flatMap((problem) => (problem === undefined ? [] : [say('warning', problem)])),
  ]
}
