/** Findings about the keys and certificates of a service, before a wallet or verifier meets them. */
import { describeValidity, endsSoon, findCertificateWarnings } from '../../config/certificate-warnings.ts'
import type { ReadKey } from '../../config/signing.ts'
import { type Certificate, certificateProblem, isSelfSigned, leafProblem } from '../../keys/certificate.ts'
import { identifierProblem } from '../../keys/identifier.ts'
import type { Finding } from './finding.ts'

type Say = (outcome: Finding['outcome'], text: string) => Finding

/**
 * Makes the findings about a signing key and its chain. Reading them has found out already that the key fits and the
 * chain holds.
 */
export function signingFindings(subject: string, chain: readonly Certificate[], at: Date): Finding[] {
  const say: Say = (outcome, text) => ({ subject, outcome, text })
  const [leaf, ...others] = chain
  if (leaf === undefined) return []
  return [
    say('ok', `the key fits the certificate ${leaf.subjectText}`),
    ...certificateFindings(subject, chain, at),
    ...(others.length > 0 ? chainFindings(chain, at, say) : singleCertificateFindings(leaf, say)),
  ]
}

export function tlsFindings({ chain }: ReadKey, baseUrl: string | undefined, at: Date): Finding[] {
  const plain = baseUrl?.startsWith('http:') ?? false
  const contradiction = 'the service speaks https, and baseUrl says http'
  return [
    ...certificateFindings('tls', chain, at),
    ...(plain ? [{ subject: 'tls', outcome: 'warning', text: contradiction } as const] : []),
  ]
}

/** Makes findings of the warnings of start-up, and one of the end of a certificate's validity when that is far. */
function certificateFindings(subject: string, chain: readonly Certificate[], at: Date): Finding[] {
  const [leaf] = chain
  const warnings = findCertificateWarnings(subject, chain, at).map((warning) => warning.slice(`${subject}: `.length))
  return [
    ...(leaf === undefined || endsSoon(leaf, at)
      ? []
      : [{ subject, outcome: 'ok', text: describeValidity(leaf, at) } as const]),
    ...warnings.map((text) => ({ subject, outcome: 'warning', text }) as const),
  ]
}

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

/** Makes the findings about the valid anchors; reading the configuration reports the others. */
export function anchorFindings(subject: string, anchors: readonly Certificate[], at: Date): Finding[] {
  const say: Say = (outcome, text) => ({ subject, outcome, text })
  return anchors
    .filter(({ notAfter }) => notAfter >= at)
    .flatMap((anchor) => [expiryFinding(anchor, at, say), ...anchorUsageFindings(anchor, at, say)])
}

/** Checks whether the anchor itself may sign credentials: it should, or be a CA. */
function anchorUsageFindings(anchor: Certificate, at: Date, say: Say): Finding[] {
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

function singleCertificateFindings(leaf: Certificate, say: Say): Finding[] {
  if (isSelfSigned(leaf)) return []
  return [say('note', `the certificate of its issuer, ${leaf.issuerText}, is not sent along; others must know it`)]
}

/** Makes the findings about a chain without its anchor, which may have expired without harm here. */
function chainFindings(chain: readonly Certificate[], at: Date, say: Say): Finding[] {
  const problems = chain.slice(1).map((issuer) => certificateProblem(issuer, at, 0))
  return [
    say('ok', `each of the ${chain.length} certificates is signed by the next`),
    ...problems.flatMap((problem) => (problem === undefined ? [] : [say('warning', problem)])),
  ]
}
