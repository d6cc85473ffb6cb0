/**
 * Checks that the issuer sent the requested credentials, each usable and bound to a key of the wallet. Does not decide
 * on trust: the wallet shows who signed. OpenID4VCI 1.0, Credential Response; RFC 9901, Verification by the Holder.
 */
import { type Json, type JsonObject, memberOf } from '../codec/json.ts'
import type { Problem } from '../codec/malformed.ts'
import type { Evidence } from '../credential/format.ts'
import { type Certificate, leafProblem, parseCertificate } from '../keys/certificate.ts'
import { CLOCK_SKEW_SECONDS, type HolderKey } from './context.ts'
import { readOrRefuseWith, refuseWith } from './error.ts'
import { metaText, requireHeldFormat } from './held-format.ts'
import type { OfferedCredential } from './issuer-metadata.ts'
import type { CredentialCopy } from './stored-credential.ts'

/**
 * Parses the credentials of a response, and finds the key of each. There must be at least one, and at most one for each
 * key. Refuses with `invalid_response`, or with `invalid_credential` and the reason.
 */
export function checkReceivedCredentials(
  answer: JsonObject,
  offeredCredential: OfferedCredential,
  keys: readonly HolderKey[],
  now: Date,
): readonly [CredentialCopy, ...CredentialCopy[]] {
  const credentials = memberOf(answer, 'credentials')
  const [first, ...others] = (Array.isArray(credentials) ? credentials : []).map((each) => memberOf(each, 'credential'))
  const unusedKeys = new Map(keys.map((key) => [key.signer.kid, key]))
  const checkMember = (credential: Json | undefined): CredentialCopy => {
    if (typeof credential === 'string') return checkCopy(credential, offeredCredential, unusedKeys, now)
    return refuseWith('invalid_response', 'the credential response has no credentials[0].credential that is a string')
  }
  return [checkMember(first), ...others.map(checkMember)]
}

function checkCopy(
  credential: string,
  offeredCredential: OfferedCredential,
  unusedKeys: Map<string, HolderKey>,
  now: Date,
): CredentialCopy {
  const evidence = readEvidence(credential, offeredCredential.format)
  const holderKey = findHolderKey(evidence, unusedKeys)
  const problem =
    ('problem' in holderKey ? holderKey.problem : undefined) ??
    signatureProblem(evidence, now) ??
    contentProblem(evidence, offeredCredential) ??
    expiryProblem(evidence, now)
  if ('problem' in holderKey || problem !== undefined) {
    return refuseWith('invalid_credential', `the issuer sent a credential that this wallet does not keep: ${problem}`)
  }
  unusedKeys.delete(holderKey.signer.kid)
  return { credential, holderKey }
}

function readEvidence(credential: string, id: string): Evidence {
  const format = requireHeldFormat(id)
  const what = 'the issuer sent a credential that cannot be read'
  return readOrRefuseWith('invalid_credential', what, () => format.readHeld(credential))
}

function findHolderKey({ boundKey }: Evidence, unusedKeys: ReadonlyMap<string, HolderKey>): HolderKey | Problem {
  if ('problem' in boundKey) return { problem: boundKey.problem }
  return unusedKeys.get(boundKey.thumbprint) ?? { problem: 'it is bound to another key than the one we proved' }
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
  const reason = issuer.signatureProblem(leaf.publicKey)
  return reason && `its signature is not by the key of ${leaf.subjectText}: ${reason}`
}

function contentProblem(evidence: Evidence, offeredCredential: OfferedCredential): string | undefined {
  const { issuer, holder } = evidence
  const [identifier, ...others] = issuer.identifiers
  // The format may leave the issuer to the certificate; then there is no identifier.
  if (identifier === '') return 'it does not say who issued it (iss)'
  if (others.some((other) => other !== identifier)) return 'it names two different issuers'
  if (!requireHeldFormat(offeredCredential.format).matchesMeta(evidence, offeredCredential.meta)) {
    return `it is not of the type ${metaText(offeredCredential.meta)} that was offered`
  }
  return holder === undefined ? undefined : 'it carries a key binding, which only a holder can make'
}

function expiryProblem({ validity }: Evidence, now: Date): string | undefined {
  for (const { member, at } of [...validity.notBefore, ...validity.notAfter]) {
    if (at === undefined) return `its ${member} is not a time`
  }
  const expiry = validity.notAfter.find(({ at }) => at !== undefined && at <= now)
  return expiry === undefined ? undefined : `it expired on ${expiry.at?.toISOString()} (${expiry.member})`
}
