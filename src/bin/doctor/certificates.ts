/** What a person should know of the keys and certificates of a service before a wallet or a verifier tells them. */
import type { ReadKey } from '../../config/signing.ts'
import { type Certificate, certificateProblem, isSignedBy } from '../../keys/certificate.ts'
import { identifierProblem } from '../../keys/identifier.ts'
import type { Finding } from './finding.ts'

type Say = (outcome: Finding['outcome'], text: string) => Finding

const DAY_MS = 86_400_000
const SOON_DAYS = 30

/** A key that fits its certificate, and the certificate is valid: reading them has found that out. */
export function signingFindings({ chain }: ReadKey, at: Date): Finding[] {
  const say: Say = (outcome, text) => ({ subject: 'signing', outcome, text })
  const [leaf, ...others] = chain
  if (leaf === undefined) return []
  return [
    say('ok', `the key fits the certificate ${leaf.subjectText}`),
    expiry(leaf, at, say),
    ...(others.length > 0 ? chainFindings(chain, at, say) : [loneFinding(leaf, say)]),
  ]
}

export function tlsFindings({ chain }: ReadKey, baseUrl: string | undefined, at: Date): Finding[] {
  const say: Say = (outcome, text) => ({ subject: 'tls', outcome, text })
  const [leaf] = chain
  if (leaf === undefined) return []
  const plain = baseUrl?.startsWith('http:') ?? false
  return [
    expiry(leaf, at, say),
    ...(plain ? [say('warning', 'the service speaks https, and baseUrl says http')] : []),
    ...(leaf.selfIssued ? [say('warning', 'the certificate is self-signed; phones and most wallets refuse it')] : []),
  ]
}

export function identifierFinding({ chain }: ReadKey, issuerId: string): Finding {
  const [leaf] = chain
  const say: Say = (outcome, text) => ({ subject: 'issuer.id', outcome, text })
  if (!leaf?.hasSubjectAltName) {
    return say('note', 'the certificate has no alternative names, so nothing ties it to issuer.id')
  }
  const problem = identifierProblem(leaf, issuerId)
  return problem === undefined
    ? say('ok', `${issuerId} is a name in the certificate`)
    : say('problem', `${problem}; verifiers would refuse every credential`)
}

/** The anchors that hold; reading the configuration warns of the others. */
export function anchorFindings(subject: string, anchors: readonly Certificate[], at: Date): Finding[] {
  const say: Say = (outcome, text) => ({ subject, outcome, text })
  return anchors.filter(({ notAfter }) => notAfter >= at).map((anchor) => expiry(anchor, at, say))
}

function expiry(certificate: Certificate, at: Date, say: Say): Finding {
  const problem = certificateProblem(certificate, at, 0)
  if (problem !== undefined) return say('warning', problem)
  const { subjectText, notAfter } = certificate
  const days = Math.floor((notAfter.getTime() - at.getTime()) / DAY_MS)
  const text = `${subjectText} is valid until ${notAfter.toISOString().slice(0, 10)}, ${days} days from now`
  return days < SOON_DAYS ? say('warning', `${text}: renew it soon`) : say('ok', text)
}

function loneFinding(leaf: Certificate, say: Say): Finding {
  if (leaf.selfIssued) {
    return say(
      'warning',
      'the certificate is self-signed: right for trying out, and refused by wallets of the HAIP profile',
    )
  }
  return say('note', `the certificate of its issuer, ${leaf.issuerText}, is not sent along; others must know it`)
}

function chainFindings(chain: readonly Certificate[], at: Date, say: Say): Finding[] {
  const problems = chain.slice(1).flatMap((issuer, index) => {
    const below = chain[index] as Certificate
    const unsigned = isSignedBy(below, issuer)
      ? []
      : [say('problem', `certificate ${index + 2}, ${issuer.subjectText}, did not sign ${below.subjectText} before it`)]
    const problem = certificateProblem(issuer, at, 0)
    return problem === undefined ? unsigned : [...unsigned, say('warning', problem)]
  })
  return problems.length > 0 ? problems : [say('ok', `each of the ${chain.length} certificates is signed by the next`)]
}
