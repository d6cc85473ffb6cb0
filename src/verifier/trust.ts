/** The trust anchors for operators, and the test of a certificate chain. */
import type { Static } from 'typebox'
import { allHold, type CheckRun, runChecks, shortenDetail } from '../check/check.ts'
import { readOrElse } from '../codec/malformed.ts'
import { epochSeconds } from '../codec/time.ts'
import { type Certificate, certificateProblem, hexFingerprint, readPemCertificates } from '../keys/certificate.ts'
import { MAX_CHAIN, type TrustAnchor, type TrustPath } from '../keys/trust-path.ts'
import { refuse } from '../protocol/error.ts'
import { currentDescriptions, describeResults } from './check-descriptions.ts'
import { issuerCertificateChecks } from './checks/issuer.ts'
import { createOperatorPolicy, type VerifierContext } from './context.ts'
import { createIssuerPathFinder, parseIssuerChain } from './issuer-path.ts'
import { findListsOfPath, joinAnchors } from './trust-list/anchors.ts'
import type { CurrentTrustList } from './trust-list/current.ts'
import type { ChainTest, ChainTestResult, TrustAnchorList } from './trust-schemas.ts'

type ListedAnchor = Static<typeof TrustAnchorList>['anchors'][number]
type ListedTrustList = Static<typeof TrustAnchorList>['trust_lists'][number]
type TestResult = Static<typeof ChainTestResult>

/** Returns the trust anchors and the trust lists, each with its problem if it has one. */
export async function listTrustAnchors(context: VerifierContext): Promise<Static<typeof TrustAnchorList>> {
  const { trustAnchors } = context.config
  const anchors = (trustAnchors ?? []).map((anchor) => describeAnchor(context, anchor))
  const trustLists = await context.loadTrustLists()
  return {
    trust: trustAnchors === undefined ? 'open' : 'anchors',
    anchors,
    trust_lists: trustLists.map(describeTrustList),
  }
}

/**
 * Runs the issuer checks for a chain, as if its first certificate had signed a credential now. Refuses with
 * `invalid_request` text that is not a PEM chain.
 */
export async function testChain(
  context: VerifierContext,
  { certificates: pem }: ChainTest,
  run: CheckRun,
): Promise<TestResult> {
  const certificates = readPemChain(pem)
  const policy = createOperatorPolicy(context)
  // No credential is there whose type could choose among the lists.
  const trustLists = await policy.loadTrustLists()
  const trustAnchors = joinAnchors(policy.trustAnchors, trustLists)
  const findIssuerPath = createIssuerPathFinder({ ...policy, trustAnchors })
  const issuerChain = parseIssuerChain(
    certificates.map(({ der }) => der),
    policy.parseCertificate,
  )
  const checks = await runChecks(
    issuerCertificateChecks,
    { issuer: {}, issuerChain },
    { ...policy, trustAnchors, trustLists, findIssuerPath },
    // No credential is there whose signature could be verified.
    { ...run, omittedCheckIds: ['issuer.signature'] },
  )
  const path = trustAnchors === undefined ? undefined : certificatesOf(findIssuerPath(issuerChain))
  const ownAnchor = path?.at(-1)
  const anchor = context.config.trustAnchors?.find(({ fingerprint }) => fingerprint === ownAnchor?.fingerprint)
  const [listUrl] = ownAnchor === undefined ? [] : findListsOfPath([ownAnchor], trustLists)
  return {
    trusted: allHold(checks),
    trust: trustAnchors === undefined ? 'open' : 'anchors',
    checks: describeResults(checks, currentDescriptions),
    certificates: certificates.map(describeCertificate),
    ...(path && {
      path: path.map(describeCertificate),
      valid_until: Math.min(...path.map(({ notAfter }) => epochSeconds(notAfter))),
    }),
    ...(anchor && { anchor: describeAnchor(context, anchor) }),
    ...(listUrl && { trust_list: listUrl }),
  }
}

function certificatesOf(trustPath: TrustPath): readonly Certificate[] | undefined {
  return 'path' in trustPath ? trustPath.path : undefined
}

function readPemChain(pem: string): readonly Certificate[] {
  if (pem.split('-----BEGIN').length - 1 > MAX_CHAIN) {
    refuse(
      'invalid_request',
      `certificates: there are more than ${MAX_CHAIN}; leave out those that are anchors already`,
    )
  }
  return readOrElse(
    () => readPemCertificates(pem),
    (error) => {
      const description = `certificates: ${error.message}; paste the text from BEGIN CERTIFICATE to END CERTIFICATE`
      return refuse('invalid_request', description, { cause: error })
    },
  )
}

function describeAnchor({ config, now }: VerifierContext, anchor: TrustAnchor): ListedAnchor {
  const problem = certificateProblem(anchor, now(), config.clockSkewSeconds)
  return {
    ...describeCertificate(anchor),
    file: anchor.file,
    ...(problem === undefined ? {} : { problem: shortenDetail(problem) }),
  }
}

function describeTrustList({
  url,
  credentialTypes,
  list,
  anchors,
  fetchProblem,
  problem = fetchProblem,
}: CurrentTrustList): ListedTrustList {
  return {
    url,
    ...(credentialTypes && { credential_types: [...credentialTypes] }),
    ...(list && {
      sequence_number: list.sequenceNumber,
      issued_at: epochSeconds(list.issuedAt),
      next_update: epochSeconds(list.nextUpdate),
    }),
    certificates: anchors.length,
    ...(problem === undefined ? {} : { problem: shortenDetail(problem) }),
  }
}

function describeCertificate(certificate: Certificate) {
  return {
    subject: certificate.subjectText,
    sha256: hexFingerprint(certificate),
    issuer: certificate.issuerText,
    not_before: epochSeconds(certificate.notBefore),
    not_after: epochSeconds(certificate.notAfter),
  }
}
