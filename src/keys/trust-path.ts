/**
 * Finds the path from a certificate to a trust anchor, or why there is none. RFC 5280 section 6, with two exceptions:
 * an anchor is a certificate that must be a valid CA itself, and a certificate that is itself an anchor is trusted
 * directly. Does not check the purpose (`leafProblem` in `certificate.ts` does), revocation lists and policies.
 */

import { decodeX5c } from '../codec/jws.ts'
import { malformed, type Problem, readPart } from '../codec/malformed.ts'
import {
  type Certificate,
  certificateProblem,
  isSignedBy,
  parseCertificate,
  readPemCertificates,
} from './certificate.ts'

/** A certificate that the operator trusts, with its file name. */
export interface TrustAnchor extends Certificate {
  readonly file: string
}

/** A path from a certificate to its anchor, or the `problem` as part of a sentence. */
export type TrustPath = { readonly path: readonly Certificate[] } | Problem

/** How many issuers the searches for one response may still try in vain. */
export interface SearchBudget {
  remaining: number
}

/** The time at which a path must be valid, and the limits of the search. */
interface SearchOptions {
  readonly now: Date
  readonly clockSkewSeconds: number
  readonly budget?: SearchBudget
  /** Tests whether a path is acceptable; by default every path is. */
  readonly accepts?: (path: readonly Certificate[]) => boolean
}

interface Search extends Required<SearchOptions> {
  readonly anchors: readonly Certificate[]
  /** The possible certificates between the leaf and an anchor. */
  readonly intermediates: readonly Certificate[]
  /** The problem of the partial path that came closest to an anchor so far, which is reported. */
  closest: { readonly rank: number; readonly problem: string }
}

/** A possible issuer of the last certificate of a path, and why it may not issue that; undefined if it may. */
interface Candidate {
  readonly issuer: Certificate
  readonly problem: string | undefined
}

/** The maximum number of certificates of a path, the anchor included. */
const MAX_PATH = 8
/**
 * The maximum number of certificates that are sent together. Each is parsed before any is trusted, so the work is
 * limited; two more than a path has leave room for certificates of another path.
 */
export const MAX_CHAIN = MAX_PATH + 2
const MAX_SIGNATURE_CHECKS = 12

/** Creates the budget of issuers to try for one or several searches. */
export function createSearchBudget(): SearchBudget {
  return { remaining: MAX_SIGNATURE_CHECKS }
}

/**
 * Parses the certificates of `x5c`, that of the key first. Throws a MalformedError if it is invalid. Does not verify
 * trust.
 */
export function readX5c(value: unknown): readonly [Certificate, ...Certificate[]] {
  const chain = decodeX5c(value)
  if (chain.length > MAX_CHAIN) malformed(`x5c has more than ${MAX_CHAIN} certificates`)
  const [leaf, ...others] = chain.map((der, index) => readPart(`x5c[${index}]`, () => parseCertificate(der)))
  return leaf === undefined ? malformed('x5c is empty') : [leaf, ...others]
}

/**
 * Returns a path from the first certificate of `chain` to one of `anchors`. The other certificates of `chain` may be in
 * any order, or unrelated.
 */
export function findTrustPath(
  chain: readonly Certificate[],
  anchors: readonly Certificate[],
  { now, clockSkewSeconds, budget = createSearchBudget(), accepts = () => true }: SearchOptions,
): TrustPath {
  const [leaf] = chain
  if (leaf === undefined) return { problem: 'no certificate was sent' }
  const problem = certificateProblem(leaf, now, clockSkewSeconds)
  if (problem !== undefined) return untrustedPath(leaf, problem)
  // Certificates with equal fingerprints are identical.
  if (anchors.some(({ fingerprint }) => fingerprint === leaf.fingerprint) && accepts([leaf])) return { path: [leaf] }
  // Removes duplicates; the leaf remains the object that is in the path.
  const certificates = new Map(chain.map((certificate) => [certificate.fingerprint, certificate])).set(
    leaf.fingerprint,
    leaf,
  )
  const search: Search = {
    anchors,
    intermediates: [...certificates.values()],
    now,
    clockSkewSeconds,
    budget,
    accepts,
    closest: { rank: 0, problem: 'there are no trust anchors' },
  }
  const before = budget.remaining
  const path = anchors.length === 0 ? undefined : extendPath([leaf], leaf, search)
  if (path === undefined) return untrustedPath(leaf, search.closest.problem)
  // A search that finds a path gives its budget back: the next credential of the same issuer repeats it.
  budget.remaining = before
  return { path }
}

/**
 * Returns the certificate as one that may sign anything: an anchor with `keyCertSign` loses its key usage, since the
 * operator trusts its key and some issuers have no other certificate. Other certificates are returned unchanged.
 */
export function anchorAsSigner(certificate: Certificate, anchors: readonly Certificate[]): Certificate {
  const { fingerprint, keyUsage } = certificate
  if (keyUsage?.has('keyCertSign') !== true || !anchors.some((anchor) => anchor.fingerprint === fingerprint)) {
    return certificate
  }
  return { ...certificate, keyUsage: undefined }
}

/** Parses all certificates of all files. Throws a MalformedError with the name of the file. */
export function readTrustAnchors(files: readonly { readonly name: string; readonly text: string }[]): TrustAnchor[] {
  return files.flatMap(({ name, text }) =>
    readPart(name, () => readPemCertificates(text)).map((certificate) => ({ ...certificate, file: name })),
  )
}

/**
 * Extends `path`, which ends with `last`, by each possible issuer, recursively, until it reaches an anchor or the
 * budget is used up. Only the keys of anchors verify signatures here; the others do once an anchor is reached.
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
  if (anchors.length + intermediates.length === 0) noteProblem(search, path.length, noIssuerText(last))
  const candidates = [...anchors, ...intermediates].map((issuer) => {
    return { issuer, problem: issuerProblem(issuer, path, search) }
  })
  for (const { issuer, problem } of orderCandidates(last, candidates)) {
    if (search.budget.remaining <= 0) {
      noteProblem(search, path.length, `more than ${MAX_SIGNATURE_CHECKS} signatures would have to be checked`)
      return undefined
    }
    search.budget.remaining -= 1
    const isAnchor = anchors.includes(issuer)
    if (isAnchor && !isSignedBy(last, issuer)) {
      noteProblem(search, path.length, wrongSignatureText(last, issuer, 'trust anchor'))
      continue
    }
    if (problem !== undefined) {
      noteProblem(search, path.length, problem, true)
      continue
    }
    const longerPath = [...path, issuer]
    const wholePath = isAnchor ? acceptedPath(longerPath, search) : extendPath(longerPath, issuer, search)
    if (wholePath !== undefined) return wholePath
  }
  return undefined
}

/** Returns the path, whose anchor signed the certificate below, if all of its signatures hold and it is asked for. */
function acceptedPath(path: readonly Certificate[], search: Search): readonly Certificate[] | undefined {
  // Each key is used only after the certificate with the key was verified, from the anchor down.
  const pairs = path.slice(0, -2).map((certificate, index) => ({ certificate, issuer: path[index + 1] ?? certificate }))
  const broken = pairs.findLast(({ certificate, issuer }) => !isSignedBy(certificate, issuer))
  if (broken !== undefined) {
    const { certificate, issuer } = broken
    noteProblem(search, path.indexOf(certificate) + 1, wrongSignatureText(certificate, issuer, 'certificate'))
    return undefined
  }
  if (search.accepts(path)) return path
  noteProblem(search, path.length, 'no path to an anchor is one that was asked for')
  return undefined
}

/**
 * Returns why `issuer` may not issue the last certificate of `path`, whatever the signature. RFC 5280 section 6.1.4 (k)
 * to (o).
 */
function issuerProblem(issuer: Certificate, path: readonly Certificate[], search: Search): string | undefined {
  const { subjectText, isCa, keyUsage, pathLength } = issuer
  if (path.length >= MAX_PATH) return `the path is longer than ${MAX_PATH} certificates`
  if (!isCa) return `the issuer certificate '${subjectText}' is not a CA (its basic constraints do not say so)`
  if (keyUsage?.has('keyCertSign') === false) {
    return `the key usage of the issuer certificate '${subjectText}' does not allow keyCertSign`
  }
  // Self-issued certificates and the leaf do not count.
  const below = path.slice(1).filter(({ selfIssued }) => !selfIssued).length
  if (pathLength !== undefined && below > pathLength) {
    return `the issuer certificate '${subjectText}' allows ${pathLength} CAs below itself, and there are ${below}`
  }
  return certificateProblem(issuer, search.now, search.clockSkewSeconds)
}

/** Returns the candidates whose subject is the issuer's name. One that is there many times is returned once. */
function issuerCandidates({ issuer }: Certificate, candidates: readonly Certificate[]): Certificate[] {
  const candidatesWithName = candidates.filter(({ subject }) => subject.equals(issuer))
  return [...new Map(candidatesWithName.map((each) => [each.fingerprint, each])).values()]
}

/**
 * Orders the possible issuers of a certificate, so that none can hide another by its name: first those whose key has
 * the key identifier that the certificate names, then those that only say so of themselves, then the others; and of
 * those, first the ones that may issue it.
 */
function orderCandidates({ authorityKeyIdentifier: id }: Certificate, candidates: readonly Candidate[]): Candidate[] {
  const keyRank = ({ keyDigest, subjectKeyIdentifier }: Certificate): number => {
    if (id === undefined) return 0
    return keyDigest.equals(id) ? 0 : subjectKeyIdentifier?.equals(id) === true ? 1 : 2
  }
  const rankOf = ({ issuer, problem }: Candidate): number => 2 * keyRank(issuer) + (problem === undefined ? 0 : 1)
  return candidates.toSorted((one, other) => rankOf(one) - rankOf(other))
}

/**
 * Keeps the problem of a path of `length` certificates if none came closer. Of two paths of one length, the one whose
 * next issuer is there and may not issue came closer than the one whose issuer is missing or did not sign.
 */
function noteProblem(search: Search, length: number, problem: string, hasIssuer = false): void {
  const rank = 2 * length + (hasIssuer ? 1 : 0)
  if (rank > search.closest.rank) search.closest = { rank, problem }
}

function noIssuerText({ subjectText, issuerText, selfIssued }: Certificate): string {
  return selfIssued
    ? `'${subjectText}' names itself as its issuer and is not an anchor`
    : `no anchor is named '${issuerText}', and no certificate of that name was sent`
}

function wrongSignatureText(
  { subjectText, selfIssued, signature }: Certificate,
  issuer: Certificate,
  kind: string,
): string {
  if (signature.algorithm === undefined) {
    return `the certificate '${subjectText}' is signed with an algorithm that is not supported (${signature.oid})`
  }
  return selfIssued
    ? `the ${kind} '${issuer.subjectText}' is another certificate of that name`
    : `the ${kind} '${issuer.subjectText}' is named as the issuer of '${subjectText}', but its key did not sign it`
}

function untrustedPath({ subjectText, issuerText, selfIssued }: Certificate, problem: string): TrustPath {
  const by = selfIssued ? 'itself' : `'${issuerText}'`
  return { problem: `'${subjectText}', issued by ${by}, is not trusted: ${problem}` }
}
