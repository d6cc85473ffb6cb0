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
import { getOperatorPolicy, type VerifierContext } from './context.ts'
import { createIssuerPathFinder, parseIssuerChain } from './issuer-path.ts'
import type { ChainTest, ChainTestResult, TrustAnchorList } from './trust-schemas.ts'

type ListedAnchor = Static<typeof TrustAnchorList>['anchors'][number]
type TestResult = Static<typeof ChainTestResult>

/** Returns the trust anchors, each with its problem if it has one. */
export function listTrustAnchors(context: VerifierContext): Static<typeof TrustAnchorList> {
  const { trustAnchors } = context.config
  const anchors = (trustAnchors ?? []).map((anchor) => describeAnchor(context, anchor))
  return { trust: trustAnchors === undefined ? 'open' : 'anchors', anchors }
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
  const policy = getOperatorPolicy(context)
  const findIssuerPath = createIssuerPathFinder(policy)
  const issuerChain = parseIssuerChain(
    certificates.map(({ der }) => der),
    policy.parseCertificate,
  )
  const checks = await runChecks(
    issuerCertificateChecks,
    { issuer: {}, issuerChain },
    { ...policy, findIssuerPath },
    // No credential is there whose signature could be verified.
    { ...run, checksLeftOut: ['issuer.signature'] },
  )
  const { trustAnchors } = context.config
  const path = trustAnchors === undefined ? undefined : certificatesOf(findIssuerPath(issuerChain))
  const anchor = trustAnchors?.find(({ fingerprint }) => fingerprint === path?.at(-1)?.fingerprint)
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

function describeCertificate(certificate: Certificate) {
  return {
    subject: certificate.subjectText,
    sha256: hexFingerprint(certificate),
    issuer: certificate.issuerText,
    not_before: epochSeconds(certificate.notBefore),
    not_after: epochSeconds(certificate.notAfter),
  }
}
