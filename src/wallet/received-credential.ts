/**
 * Checks that the issuer sent the requested credential, bound to the wallet's key and usable. OpenID4VCI 1.0,
 * Credential Response; RFC 9901, Verification by the Holder. The person decides whom to trust: the wallet says who
 * signed.
 */
import type { Evidence } from '../credential/format.ts'
import { type Certificate, leafProblem, parseCertificate } from '../keys/certificate.ts'
import type { Signer } from '../keys/signer.ts'
import { CLOCK_SKEW_SECONDS } from './clock-skew.ts'
import { abort, orAbort } from './error.ts'
import { heldFormat } from './held-format.ts'
import type { OfferedCredential } from './issuer-metadata.ts'
import { metaText } from './meta-text.ts'

/** Checks a received credential. Refuses with `invalid_credential` and the reason. */
export function checkReceived(credential: string, offered: OfferedCredential, holder: Signer, now: Date): void {
  const evidence = readEvidence(credential, offered.format)
  const problem =
    bindingProblem(evidence, holder) ??
    signatureProblem(evidence, now) ??
    contentProblem(evidence, offered) ??
    expiryProblem(evidence, now)
  if (problem !== undefined) {
    abort('invalid_credential', `the issuer sent a credential that this wallet does not keep: ${problem}`)
  }
}

function readEvidence(credential: string, id: string): Evidence {
  const format = heldFormat(id)
  const unreadable = 'the issuer sent a credential that cannot be read'
  return orAbort('invalid_credential', unreadable, () => format.hold(credential))
}

function bindingProblem({ boundKey }: Evidence, holder: Signer): string | undefined {
  if ('problem' in boundKey) return boundKey.problem
  return boundKey.thumbprint === holder.kid ? undefined : 'it is bound to another key than the one we proved'
}

function signatureProblem({ issuer }: Evidence, now: Date): string | undefined {
  const [der] = issuer.chain
  if (der === undefined) return 'it comes without the certificate of its issuer (x5c)'
  let leaf: Certificate
  try {
    leaf = parseCertificate(der)
  } catch (error) {
    return `the certificate of its issuer cannot be read: ${(error as Error).message}`
  }
  const problem = leafProblem(leaf, now, CLOCK_SKEW_SECONDS, 'credential')
  if (problem !== undefined) return problem
  return issuer.signedBy(leaf.publicKey) ? undefined : `its signature is not by the key of ${leaf.subjectText}`
}

function contentProblem(evidence: Evidence, offered: OfferedCredential): string | undefined {
  const { issuer, holder } = evidence
  const [identifier, ...others] = issuer.identifiers
  // The name is absent when the format leaves it to the certificate.
  if (identifier === '') return 'it does not say who issued it (iss)'
  if (others.some((other) => other !== identifier)) return 'it names two different issuers'
  if (!heldFormat(offered.format).matchesMeta(evidence, offered.meta)) {
    return `it is not of the type ${metaText(offered.meta)} that was offered`
  }
  return holder === undefined ? undefined : 'it carries a key binding, which only a holder can make'
}

function expiryProblem({ validity }: Evidence, now: Date): string | undefined {
  for (const { member, at } of [...validity.notBefore, ...validity.notAfter]) {
    if (at === undefined) return `its ${member} is not a time`
  }
  const over = validity.notAfter.find(({ at }) => at !== undefined && at <= now)
  return over === undefined ? undefined : `it expired on ${over.at?.toISOString()} (${over.member})`
}
