/**
 * Trust anchors: whether a certificate leads to one, by which path, and if not, why not. Says nothing about what the
 * certificate may be used for: `leafProblem` in certificate.ts does. RFC 5280 section 6, with two departures: an anchor
 * is a certificate and has to be a valid CA itself, and an anchor that is the very certificate is trusted as it is.
 * Revocation lists and policies are not processed.
 */
import { type Problem, within } from '../codec/malformed.ts'
import { type Certificate, certificateProblem, isSignedBy, readPemCertificates } from './certificate.ts'

/** A certificate that the operator trusts, with the name of its file. */
export interface TrustAnchor extends Certificate {
  readonly file: string
}

/**
 * A path that starts with the certificate asked about and ends with the anchor, or the `problem` as a sentence part.
 */
export type TrustPath = { readonly path: readonly Certificate[] } | Problem

/** The number of signatures that may still be checked in vain; searches that a stranger causes together share one. */
export interface SignatureChecks {
  remaining: number
}

/** The time at which a path must be valid, and what a search for it may cost. */
interface SearchOptions {
  readonly now: Date
  readonly clockSkewSeconds: number
  readonly checks?: SignatureChecks
  /** Tests whether a path is one that is searched for; without this member every path is. */
  readonly accepts?: (path: readonly Certificate[]) => boolean
}

interface Search extends Required<SearchOptions> {
  readonly anchors: readonly Certificate[]
  /** The certificates that may stand between the leaf and an anchor. */
  readonly intermediates: readonly Certificate[]
  /** The problem that came closest to a path, so that it is told and not one of a side track. */
  closest: { readonly reached: number; readonly problem: string }
}

const MAX_PATH = 8
const MAX_SIGNATURE_CHECKS = 12

export function createSignatureChecks(): SignatureChecks {
  return { remaining: MAX_SIGNATURE_CHECKS }
}

/**
 * Returns a path from the first of `chain` to one of `anchors`. The others of `chain` may stand in any order, or be of
 * no use.
 */
export function findTrustPath(
  chain: readonly Certificate[],
  anchors: readonly Certificate[],
  { now, clockSkewSeconds, checks = createSignatureChecks(), accepts = () => true }: SearchOptions,
): TrustPath {
  const [leaf] = chain
  if (leaf === undefined) return { problem: 'no certificate was sent' }
  const problem = certificateProblem(leaf, now, clockSkewSeconds)
  if (problem !== undefined) return untrustedPath(leaf, problem)
  // Fingerprints are over all bytes of a certificate: equal ones are the same certificate.
  if (anchors.some(({ fingerprint }) => fingerprint === leaf.fingerprint)) return { path: [leaf] }
  // Each certificate counts once, however often it was sent; the leaf is the same object as in the path.
  const certificates = new Map(chain.map((certificate) => [certificate.fingerprint, certificate])).set(
    leaf.fingerprint,
    leaf,
  )
  const search: Search = {
    anchors,
    intermediates: [...certificates.values()],
    now,
    clockSkewSeconds,
    checks,
    accepts,
    closest: { reached: 0, problem: 'there are no trust anchors' },
  }
  const path = anchors.length === 0 ? undefined : extendPath([leaf], leaf, search)
  if (path === undefined) return untrustedPath(leaf, search.closest.problem)
  // The signatures of the path were not checked in vain.
  checks.remaining += path.length - 1
  return { path }
}

/**
 * Returns the certificate as one that may sign by itself: without its key usage where it is an anchor that may sign
 * certificates, and as it is elsewhere. Whoever configured it trusts its key; some issuers have no other certificate.
 */
export function anchorAsSigner(certificate: Certificate, anchors: readonly Certificate[]): Certificate {
  const { fingerprint, keyUsage } = certificate
  if (keyUsage?.has('keyCertSign') !== true || !anchors.some((anchor) => anchor.fingerprint === fingerprint)) {
    return certificate
  }
  return { ...certificate, keyUsage: undefined }
}

/** Returns every certificate in every file. Throws a MalformedError that names the file. */
export function readTrustAnchors(files: readonly { readonly name: string; readonly text: string }[]): TrustAnchor[] {
  return files.flatMap(({ name, text }) =>
    within(name, () => readPemCertificates(text)).map((certificate) => ({ ...certificate, file: name })),
  )
}

/**
 * Tries every issuer of `last`, the end of `path`, and theirs in turn, until an anchor is reached or checks run out.
 */
function extendPath(
  path: readonly Certificate[],
  last: Certificate,
  search: Search,
): readonly Certificate[] | undefined {
  const anchors = issuerCandidates(last, search.anchors)
  const intermediates = issuerCandidates(last, search.intermediates).filter(
    (certificate) => !path.includes(certificate),
  )
  if (anchors.length + intermediates.length === 0) noteProblem(search, 2 * path.length, noIssuerText(last))
  for (const issuer of [...anchors, ...intermediates]) {
    if (search.checks.remaining <= 0) {
      noteProblem(search, 2 * path.length, `more than ${MAX_SIGNATURE_CHECKS} signatures would have to be checked`)
      return undefined
    }
    search.checks.remaining -= 1
    if (!isSignedBy(last, issuer)) {
      noteProblem(
        search,
        2 * path.length,
        wrongSignatureText(last, issuer, anchors.includes(issuer) ? 'trust anchor' : 'certificate'),
      )
      continue
    }
    const problem = issuerProblem(issuer, path, search)
    if (problem !== undefined) {
      noteProblem(search, 2 * path.length + 1, problem)
      continue
    }
    const longerPath = [...path, issuer]
    const wholePath = anchors.includes(issuer)
      ? acceptedPath(longerPath, search)
      : extendPath(longerPath, issuer, search)
    if (wholePath !== undefined) return wholePath
  }
  return undefined
}

function acceptedPath(path: readonly Certificate[], search: Search): readonly Certificate[] | undefined {
  if (search.accepts(path)) return path
  noteProblem(search, 2 * path.length, 'no path to an anchor is one that was asked for')
  return undefined
}

/**
 * Says why `issuer` may not have issued the last of `path`; its signature is checked. RFC 5280 section 6.1.4 (k) to
 * (o).
 */
function issuerProblem(issuer: Certificate, path: readonly Certificate[], search: Search): string | undefined {
  const { subjectText, isCa, keyUsage, pathLength } = issuer
  if (path.length >= MAX_PATH) return `the path is longer than ${MAX_PATH} certificates`
  if (!isCa) return `the issuer certificate '${subjectText}' is not a CA (its basic constraints do not say so)`
  if (keyUsage?.has('keyCertSign') === false) {
    return `the key usage of the issuer certificate '${subjectText}' does not allow keyCertSign`
  }
  // Certificates that a CA issued to itself are not counted, and neither is the first.
  const below = path.slice(1).filter(({ selfIssued }) => !selfIssued).length
  if (pathLength !== undefined && below > pathLength) {
    return `the issuer certificate '${subjectText}' allows ${pathLength} CAs below itself, and there are ${below}`
  }
  return certificateProblem(issuer, search.now, search.clockSkewSeconds)
}

/** Returns the candidates with the name of the issuer, those whose key identifier fits as well first. */
function issuerCandidates(certificate: Certificate, candidates: readonly Certificate[]): Certificate[] {
  const { issuer, authorityKeyIdentifier } = certificate
  const withName = candidates.filter(({ subject }) => subject.equals(issuer))
  const hasKeyIdentifier = ({ subjectKeyIdentifier: own }: Certificate): boolean =>
    authorityKeyIdentifier !== undefined && own?.equals(authorityKeyIdentifier) === true
  return [...withName.filter(hasKeyIdentifier), ...withName.filter((each) => !hasKeyIdentifier(each))]
}

function noteProblem(search: Search, reached: number, problem: string): void {
  if (reached > search.closest.reached) search.closest = { reached, problem }
}

function noIssuerText({ subjectText, issuerText, selfIssued }: Certificate): string {
  return selfIssued
    ? `'${subjectText}' names itself as its issuer and is not an anchor`
    : `no anchor is named '${issuerText}', and no certificate of that name was sent`
}

function wrongSignatureText({ subjectText, signature }: Certificate, issuer: Certificate, kind: string): string {
  if (signature.algorithm === undefined) {
    return `the certificate '${subjectText}' is signed with an algorithm that is not supported (${signature.oid})`
  }
  return `the ${kind} '${issuer.subjectText}' is named as the issuer of '${subjectText}', but its key did not sign it`
}

function untrustedPath({ subjectText, issuerText }: Certificate, problem: string): TrustPath {
  return { problem: `'${subjectText}', issued by '${issuerText}', is not trusted: ${problem}` }
}
