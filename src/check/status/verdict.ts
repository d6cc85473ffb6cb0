/**
 * Decides on the status of a credential by the status lists that it refers to, which the issuer of the credential or a
 * provider under the same trust anchor must have signed. Token Status List, Status Types, Validation Rules and Extended
 * Key Usage Extension; Bitstring Status List 1.0.
 */
import { isDeepStrictEqual } from 'node:util'
import { type Problem, readOrProblem, readPart } from '../../codec/malformed.ts'
import type { StatusPurpose } from '../../codec/status-list.ts'
import { untrustedText } from '../../codec/untrusted-text.ts'
import { findTimeProblem } from '../../credential/evidence.ts'
import type { Evidence } from '../../credential/format.ts'
import {
  type Certificate,
  findValidityProblem,
  isSamePublicKey,
  isSameSubjectOfSameCa,
  isSignedBy,
  leafProblem,
} from '../../keys/certificate.ts'
import { identifierProblem } from '../../keys/certificate-identifier.ts'
import { beginsWithTlsServer, EXTENDED_KEY_USAGE, tlsProblem } from '../../keys/certificate-purpose.ts'
import { anchorAsSigner, findTrustPath, MAX_CHAIN, type TrustPath } from '../../keys/trust-path.ts'
import { fail, pass, type Verdict, warn } from '../check.ts'
import type { FindSuccessorProblem, StatusPolicy } from './status-list-loader.ts'
import type { ListType } from './status-list-request.ts'
import type { FetchedStatusList } from './status-list-token.ts'
import { readStatusReferences, type StatusReference } from './status-reference.ts'

/** The parts of a credential or a wallet attestation that its status check needs. */
export interface StatusEvidence extends Pick<Evidence, 'status' | 'credentialStatus'> {
  /** The type of list to ask for first. */
  readonly listType: ListType
  /** The issuers that the credential names. */
  readonly identifiers: readonly string[]
  /** The certificates of the credential, with the issuer's own first. */
  readonly certificates: readonly Certificate[]
}

/** The context of status checks: how lists are loaded, and whom the operator trusts. */
export interface StatusCheckContext {
  readonly now: Date
  readonly clockSkewSeconds: number
  readonly trustAnchors: readonly Certificate[] | undefined
  readonly parseCertificate: (der: Uint8Array) => Certificate
  /** Whether TLS server certificates may sign status lists. */
  readonly acceptTlsServerCertificates: boolean
  /** Finds a path from the issuer of a credential to a trust anchor: one for which `accepts` returns true, if any. */
  readonly findIssuerPath: (accepts: (path: readonly Certificate[]) => boolean) => TrustPath
  readonly status: StatusPolicy
}

/**
 * The names of the defined status values; all others are application-specific. Token Status List, Status Types Values.
 */
const VALUES: readonly string[] = ['valid', 'revoked', 'suspended']

/** Checks all lists that the credential refers to, and returns the verdict of the first that fails. */
export async function fetchStatusVerdict(evidence: StatusEvidence, context: StatusCheckContext): Promise<Verdict> {
  const statusReferences = readOrProblem(() => readStatusReferences(evidence))
  if ('problem' in statusReferences) return fail(statusReferences.problem, statusReferences.cause)
  const ignoredNotes = statusReferences.ignored.map((each) => `not looked at: ${each}`)
  if (statusReferences.references.length === 0)
    return pass(['the credential carries no status', ...ignoredNotes].join('; '))
  const verdicts: Verdict[] = []
  for (const reference of statusReferences.references) {
    const verdict = await judgeReference(reference, evidence, context)
    if (verdict.outcome === 'failed') return verdict
    verdicts.push(verdict)
  }
  const detail = [...verdicts.flatMap((verdict) => verdict.detail ?? []), ...ignoredNotes].join('; ')
  return verdicts.some(({ outcome }) => outcome === 'warning') ? warn(detail) : pass(detail)
}

async function judgeReference(
  reference: StatusReference,
  evidence: StatusEvidence,
  context: StatusCheckContext,
): Promise<Verdict> {
  const { loadList, onUnreachable } = context.status
  const at = `${reference.kind === 'identifier list' ? 'identifier list' : 'status list'} ${untrustedText(reference.uri)}`
  const result = await loadList(reference, evidence.listType)
  if ('unreachable' in result) {
    const why = `the ${at} could not be looked at: ${result.unreachable}`
    return onUnreachable === 'accept' ? warn(why) : fail(why)
  }
  if ('problem' in result) return fail(`the ${at} cannot be used: ${result.problem}`, result.cause)
  const { list, fetchedAt, isCached } = result
  const signerChain = readSignerChain(list, evidence, context)
  if ('problem' in signerChain) return fail(`the ${at} cannot be used: ${signerChain.problem}`, signerChain.cause)
  const problem =
    signerProblem(list, signerChain, { reference, evidence, context }) ??
    timeProblem(list, context) ??
    contentProblem(list, reference, evidence)
  if (problem !== undefined) return fail(`the ${at} cannot be used: ${problem}`)
  result.markVerified(makeSuccessorCheck(signerChain, context))
  const value = list.findStatus(reference.entry)
  if (value === undefined) return fail(`the ${at} cannot be used: it has no entry of that index`)
  const when = `by the ${at}, fetched at ${fetchedAt.toISOString()}${isCached ? ' and kept since' : ''}`
  return value === 0 ? pass(`not ${deniedStates(reference)} ${when}`) : fail(`${stateText(reference, value)} ${when}`)
}

function timeProblem(
  { validity }: FetchedStatusList,
  { now, clockSkewSeconds }: Pick<StatusCheckContext, 'now' | 'clockSkewSeconds'>,
): string | undefined {
  const problem = findTimeProblem(validity, now, clockSkewSeconds)
  if (problem === undefined) return undefined
  const { member, at, isEarly } = problem
  if (at === undefined) return `${member} is not a time`
  return isEarly
    ? `it is from the future (${member}); compare the clocks of both machines`
    : `it expired on ${at.toISOString()}`
}

/**
 * Makes the function that tests whether a list may be cached in place of a verified one, until a credential names it
 * and it is verified in full. The function keeps nothing of the credential but a certificate of its issuer.
 */
function makeSuccessorCheck(
  [signer]: readonly Certificate[],
  { clockSkewSeconds }: StatusCheckContext,
): FindSuccessorProblem {
  return (next, last, { now, isExpired }) => {
    if (!isDeepStrictEqual(lastingPartsOf(next), lastingPartsOf(last)))
      return 'its certificates, its issuer or its statusPurpose are not those of the last one'
    if (signer === undefined || !next.isSignedBy(signer.publicKey))
      return 'its signature is not by the key of the last one'
    if (!isExpired && latestBeginning(next) < latestBeginning(last)) return 'it is older than the last one'
    const problem = findValidityProblem(signer, now, clockSkewSeconds)
    return problem === undefined
      ? timeProblem(next, { now, clockSkewSeconds })
      : `the certificate of its key ${problem}`
  }
}

function lastingPartsOf({ chain, identifiers, purposes }: FetchedStatusList): readonly unknown[] {
  return [chain, identifiers, purposes]
}

/** Returns the latest of the times that must have come, that of the signature among them. */
function latestBeginning({ validity }: FetchedStatusList): number {
  return Math.max(...validity.notBefore.map(({ at }) => at?.getTime() ?? Number.NEGATIVE_INFINITY))
}

function contentProblem(
  list: FetchedStatusList,
  { purpose }: StatusReference,
  { identifiers }: StatusEvidence,
): string | undefined {
  if (list.identifiers.some((name) => name !== identifiers[0])) return 'it names another issuer than the credential'
  return purpose !== undefined && !list.purposes.includes(purpose) ? `its statusPurpose is not ${purpose}` : undefined
}

/** Returns the states that a value of zero in this list denies, in words. */
function deniedStates({ kind, purpose }: StatusReference): string {
  if (kind === 'identifier list') return 'revoked'
  return purpose === undefined ? 'revoked or suspended' : stateOfPurpose(purpose)
}

/** Returns the state of the credential by a value that is not zero in this list, in words. */
function stateText({ purpose }: StatusReference, value: number): string {
  if (purpose !== undefined) return stateOfPurpose(purpose)
  return VALUES[value] ?? `neither valid nor revoked nor suspended (status value ${value})`
}

function stateOfPurpose(purpose: StatusPurpose): string {
  return purpose === 'revocation' ? 'revoked' : 'suspended'
}

/**
 * Returns the certificates of the list, with that of its key first. A list without certificates must be signed by the
 * credential's own issuer key, so this returns the certificates of the credential.
 */
function readSignerChain(
  { chain }: FetchedStatusList,
  { certificates }: StatusEvidence,
  { parseCertificate }: StatusCheckContext,
): readonly Certificate[] | Problem {
  if (chain.length === 0) return certificates
  if (chain.length > MAX_CHAIN) return { problem: `it comes with more than ${MAX_CHAIN} certificates` }
  return readOrProblem(() =>
    readPart('a certificate of it cannot be read', () => chain.map((der) => parseCertificate(der))),
  )
}

/** The reference for which a list is judged, and the credential that has it. */
interface ListUse {
  readonly reference: StatusReference
  readonly evidence: StatusEvidence
  readonly context: StatusCheckContext
}

/**
 * Returns why the signer of the list is not authorized for the issuer of the credential; undefined if it is.
 * `signerChain` is the result of {@link readSignerChain}. If the credential names a certificate for its list, that
 * certificate alone is the trust anchor, and whoever it certified may sign the list, except for TLS servers and other
 * issuers of mdocs. ISO/IEC 18013-5, second edition, 12.3.6.2.
 */
function signerProblem(
  list: FetchedStatusList,
  signerChain: readonly Certificate[],
  { reference: { trustPoint }, evidence: { certificates, identifiers }, context }: ListUse,
): string | undefined {
  const [issuerLeaf] = certificates
  const [leaf] = signerChain
  if (issuerLeaf === undefined || leaf === undefined) return 'there is no certificate of its key'
  if (!list.isSignedBy(leaf.publicKey)) return `its signature is not by the key of ${leaf.subjectText}`
  const { trustAnchors = [], now, clockSkewSeconds } = context
  const problem = leafProblem(anchorAsSigner(leaf, trustAnchors), now, clockSkewSeconds, 'status')
  if (problem !== undefined) return problem
  const hasIssuerKey = isSamePublicKey(leaf.publicKey, issuerLeaf.publicKey)
  if (hasIssuerKey && trustPoint === undefined) return undefined
  const trustPath =
    trustPoint === undefined
      ? findTrustPath(signerChain, trustAnchors, { now, clockSkewSeconds })
      : findPathToTrustPoint(signerChain, trustPoint, context)
  if ('problem' in trustPath) return trustPath.problem
  if (!context.acceptTlsServerCertificates && beginsWithTlsServer(trustPath.path)) return tlsProblem(leaf)
  if (hasIssuerKey || isSameIssuer(trustPath.path, issuerLeaf, identifiers)) return undefined
  if (trustPoint === undefined ? isProvider(trustPath.path, context) : !isDocumentSigner(leaf)) return undefined
  const signer = leaf.subjectText || 'a certificate without a subject'
  return `it is signed by ${signer}, who is not the issuer of what has this status`
}

/** Returns the path of the list's signer to the certificate that the credential names for the list, or the problem. */
function findPathToTrustPoint(
  signerChain: readonly Certificate[],
  trustPoint: Uint8Array,
  { now, clockSkewSeconds, parseCertificate }: StatusCheckContext,
): TrustPath {
  const anchor = readOrProblem(() =>
    readPart('the certificate that the credential names for it cannot be read', () => parseCertificate(trustPoint)),
  )
  if ('problem' in anchor) return anchor
  const trustPath = findTrustPath(signerChain, [anchor], { now, clockSkewSeconds })
  return 'problem' in trustPath
    ? { problem: `the credential names the certificate of ${anchor.subjectText} for it: ${trustPath.problem}` }
    : trustPath
}

/**
 * Tests whether `path` begins with another certificate of `issuer` with a different key: with the same subject and the
 * same CA, which signed both unless the operator trusts the certificate itself, or with the issuer identifier of the
 * credential as a name.
 */
function isSameIssuer(path: readonly Certificate[], issuer: Certificate, identifiers: readonly string[]): boolean {
  const [leaf, ca] = path
  if (leaf === undefined) return false
  if (isSameSubjectOfSameCa(leaf, issuer) && (ca === undefined || isSignedBy(issuer, ca))) return true
  const [identifier] = identifiers
  return identifier !== undefined && identifierProblem(leaf, identifier) === undefined
}

/**
 * Tests whether a path begins with a certificate for signing status lists, and has the same trust anchor as that of the
 * issuer. An authority for mdocs (IACA), which certified the issuer as a document signer, needs no extended key usage
 * for that. ISO/IEC 18013-5 12.3.6.2 and annex B.
 */
function isProvider(
  path: readonly Certificate[],
  { findIssuerPath }: Pick<StatusCheckContext, 'findIssuerPath'>,
): boolean {
  const anchor = path.at(-1)?.fingerprint
  const leadsToSameAnchor = (each: readonly Certificate[]): boolean => each.at(-1)?.fingerprint === anchor
  const issuerPath = findIssuerPath(leadsToSameAnchor)
  if ('problem' in issuerPath || !leadsToSameAnchor(issuerPath.path)) return false
  const [signer, signerCa] = path
  const [issuer, issuerCa] = issuerPath.path
  if (signer === undefined) return false
  const { extendedKeyUsage } = signer
  if (extendedKeyUsage !== undefined) return extendedKeyUsage.includes(EXTENDED_KEY_USAGE.statusSigning)
  const isOfSameCa = signerCa !== undefined && signerCa.fingerprint === issuerCa?.fingerprint
  return issuer !== undefined && isDocumentSigner(issuer) && !signer.isCa && isOfSameCa
}

function isDocumentSigner({ extendedKeyUsage }: Certificate): boolean {
  return extendedKeyUsage?.includes(EXTENDED_KEY_USAGE.mdlDocumentSigner) === true
}
