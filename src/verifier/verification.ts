/**
 * Verifies a response: parses each presentation, runs all checks and makes the report. All decisions are made by
 * checks. The effects are loading trust lists and status lists, and logging. OpenID4VP 1.0, VP Token Validation.
 */
import { setImmediate } from 'node:timers/promises'
import { allHold, type CheckResult, type CheckRun, runChecks } from '../check/check.ts'
import type { JsonObject } from '../codec/json.ts'
import { readOrProblem } from '../codec/malformed.ts'
import { earliestEnd, latestStart } from '../credential/evidence.ts'
import type { CredentialFormat, Evidence } from '../credential/format.ts'
import { formatOf } from '../credential/formats.ts'
import { type Certificate, hexFingerprint } from '../keys/certificate.ts'
import { isCanonicalIdentifier } from '../keys/certificate-identifier.ts'
import { createSearchBudget, type SearchBudget } from '../keys/trust-path.ts'
import type { CredentialQuery } from '../protocol/dcql.ts'
import type { EvidenceWithChain, OperatorPolicy, PresentationCheckContext } from './checks/context.ts'
import { evidenceChecks, readingChecks, responseChecks } from './checks/index.ts'
import type { Reading, ResponseCheckContext } from './checks/response.ts'
import { createIssuerPathFinder, parseIssuerChain } from './issuer-path.ts'
import { findListsOfPath, joinAnchors, judgeTrustLists } from './trust-list/anchors.ts'
import type { CurrentTrustList } from './trust-list/current.ts'

/** The report on a response. `Result` is the type of the results of checks. */
export interface VerificationReport<Result = CheckResult> {
  readonly verified: boolean
  /**
   * `open` means that no trust anchors are configured, so the issuer is not checked. Absent in sessions of earlier
   * releases.
   */
  readonly trust?: 'open' | 'anchors'
  /** The results of the checks of the whole response. */
  readonly checks: readonly Result[]
  /** The reports on credentials, by credential query id. */
  readonly credentials: Readonly<Record<string, readonly CredentialReport<Result>[]>>
}

/** The report on a credential. It has data of the credential only if all its checks hold. */
export interface CredentialReport<Result = CheckResult> {
  readonly format: string
  /** The certificate of the key that signed the credential. */
  readonly issuer_certificate?: IssuerCertificate
  /** The issuer in the credential (`iss`, `issuer`), if it is a canonical https URL, a DID or a URN. */
  readonly issuer?: string
  readonly type?: readonly string[]
  /** The disclosed claims, as the root for DCQL paths. */
  readonly claims?: JsonObject
  /** The thumbprint of the key that signed the presentation; absent without holder binding. */
  readonly holder_key_thumbprint?: string
  /** The start of the validity period in ISO 8601. */
  readonly valid_from?: string
  readonly valid_until?: string
  readonly checks: readonly Result[]
}

export interface IssuerCertificate extends NamedCertificate {
  /**
   * The trust anchor of the path, which may be the certificate itself, and the URL of the trust list that has it;
   * absent if none are configured.
   */
  readonly anchor?: NamedCertificate & { readonly trust_list?: string }
}

interface NamedCertificate {
  /** The subject, as in `CN=Example University, C=DE`. */
  readonly subject: string
  /** The SHA-256 fingerprint of the DER, in hexadecimal. */
  readonly sha256: string
}

/** A parsed response. */
export interface VpResponse {
  readonly vpToken: ReadonlyMap<string, readonly string[]>
  readonly state: string | undefined
}

/** The request, and the policy of the operator. */
export interface VerificationContext
  extends OperatorPolicy,
    ResponseCheckContext,
    Pick<PresentationCheckContext, 'sessionStart'> {
  /** The binding of all presentations; each approves its own transactions. */
  readonly binding: Omit<PresentationCheckContext['binding'], 'transactionData'>
}

/** The context that the presentations of one response share. */
interface ResponseContext extends VerificationContext, Pick<PresentationCheckContext, 'findIssuerPath'> {
  /** The trust lists for all types, also those that do not count now. */
  readonly trustLists: readonly CurrentTrustList[]
  readonly budget: SearchBudget
}

/** The number of failed presentations after which the rest of a response is not verified. */
const MAX_FAILURES = 3
const SKIPPED_READING = {
  problem: `it was not looked at, because ${MAX_FAILURES} presentations of the response had failed`,
}

/** Verifies the presentations of a response one by one. Other requests are served between two of them. */
export async function verifyVpResponse(
  response: VpResponse,
  context: VerificationContext,
  run: CheckRun,
): Promise<VerificationReport> {
  const trustLists = await context.loadTrustLists()
  const budget = createSearchBudget()
  const responseContext = { ...context, trustLists, budget, findIssuerPath: createIssuerPathFinder(context, budget) }
  const counts = new Map([...response.vpToken].map(([id, presentations]) => [id, presentations.length]))
  const checks = await runChecks(responseChecks, { state: response.state, counts }, context, run)
  const credentials: (readonly [string, readonly CredentialReport[]])[] = []
  let failures = 0
  for (const credentialQuery of context.query.credentials) {
    // Without `multiple`, only the first presentation is parsed, and others fail `query.count`.
    const presentations = response.vpToken.get(credentialQuery.id)?.slice(0, credentialQuery.multiple ? undefined : 1)
    if (presentations === undefined) continue
    const format = requireFormat(credentialQuery)
    const reports: CredentialReport[] = []
    for (const text of presentations) {
      if (credentials.length + reports.length > 0) await setImmediate()
      const reading = failures < MAX_FAILURES ? readPresentation(format, text) : SKIPPED_READING
      const report = await verifyPresentation(reading, { credentialQuery, format }, responseContext, run)
      if (!allHold(report.checks)) failures += 1
      reports.push(report)
    }
    credentials.push([credentialQuery.id, reports])
  }
  const report = { checks, credentials: Object.fromEntries(credentials) }
  const trust = context.trustAnchors === undefined ? 'open' : 'anchors'
  return { verified: allHold(checksOf(report)), trust, ...report }
}

/** Returns the ids of the failed checks of a report, once for each presentation. */
export function failedChecks(report: VerificationReport): readonly string[] {
  return checksOf(report)
    .filter(({ outcome }) => outcome === 'failed')
    .map(({ id }) => id)
}

/** Returns the results of all checks of a report. */
export function checksOf({
  checks,
  credentials,
}: Pick<VerificationReport, 'checks' | 'credentials'>): readonly CheckResult[] {
  return [...checks, ...Object.values(credentials).flatMap((reports) => reports.flatMap((report) => report.checks))]
}

/** Returns the presentations of a report, each changed by `change`. */
export function mapPresentations<Before, After>(
  credentials: Readonly<Record<string, readonly Before[]>>,
  change: (report: Before) => After,
): Record<string, After[]> {
  return Object.fromEntries(Object.entries(credentials).map(([id, reports]) => [id, reports.map(change)]))
}

async function verifyPresentation(
  reading: Reading,
  { credentialQuery, format }: Pick<PresentationCheckContext, 'credentialQuery' | 'format'>,
  context: ResponseContext,
  run: CheckRun,
): Promise<CredentialReport> {
  const evidence = 'evidence' in reading ? withChain(reading.evidence, context) : undefined
  const ownTransactions = context.transactions.filter(({ credentialIds }) => credentialIds.includes(credentialQuery.id))
  const presentationContext: PresentationCheckContext = {
    ...context,
    ...(context.trustLists.length > 0 && chooseTrust(context, evidence?.types ?? [], { credentialQuery, format })),
    credentialQuery,
    format,
    binding: { ...context.binding, transactionData: ownTransactions.map(({ text }) => text) },
  }
  const checks = [
    ...(await runChecks(readingChecks, reading, presentationContext, run)),
    ...(await runChecks(evidenceChecks, evidence, presentationContext, {
      ...run,
      notApplicableReasons: format.notApplicableReasons,
    })),
  ]
  const description = evidence && allHold(checks) ? describeCredential(evidence, checks, presentationContext) : {}
  return { format: credentialQuery.format, ...description, checks }
}

/** Returns the trust lists as they count for the types of a presentation, with the anchors and paths that they make. */
function chooseTrust(
  context: ResponseContext,
  types: readonly string[],
  { credentialQuery, format }: Pick<PresentationCheckContext, 'credentialQuery' | 'format'>,
) {
  const trustLists = judgeTrustLists(context.trustLists, types, credentialQuery.meta, format)
  const trustAnchors = joinAnchors(context.trustAnchors, trustLists)
  const findIssuerPath = createIssuerPathFinder({ ...context, trustAnchors }, context.budget)
  return { trustLists, trustAnchors, findIssuerPath }
}

function withChain(evidence: Evidence, { parseCertificate }: VerificationContext): EvidenceWithChain {
  return { ...evidence, issuerChain: parseIssuerChain(evidence.issuer.chain, parseCertificate) }
}

function readPresentation(format: CredentialFormat, text: string): Reading {
  return readOrProblem(() => ({ evidence: format.read(text) }))
}

/** Returns the format of a credential query. Stored queries have only known formats. */
function requireFormat({ format: id }: CredentialQuery): CredentialFormat {
  const format = formatOf(id)
  if (format === undefined) throw new Error(`there is no format ${id}`)
  return format
}

function describeCredential(
  evidence: EvidenceWithChain,
  checks: readonly CheckResult[],
  { findIssuerPath, trustLists }: Pick<PresentationCheckContext, 'findIssuerPath' | 'trustLists'>,
): Omit<CredentialReport, 'format' | 'checks'> {
  const [identifier] = evidence.issuer.identifiers
  const { leaf } = evidence.issuerChain
  const trustPath = findIssuerPath(evidence.issuerChain)
  const anchor = 'path' in trustPath ? trustPath.path.at(-1) : undefined
  const [listUrl] = anchor === undefined || trustLists.length === 0 ? [] : findListsOfPath([anchor], trustLists)
  const [from, until] = [latestStart(evidence.validity), earliestEnd(evidence.validity)]
  return {
    ...(!('problem' in leaf) && {
      issuer_certificate: {
        ...certificateName(leaf),
        ...(anchor && { anchor: { ...certificateName(anchor), ...(listUrl && { trust_list: listUrl }) } }),
      },
    }),
    ...(identifier !== undefined && isCanonicalIdentifier(identifier) ? { issuer: identifier } : {}),
    type: evidence.types,
    claims: shownClaims(evidence),
    ...describeHolderKey(evidence, checks),
    ...(from ? { valid_from: from.toISOString() } : {}),
    ...(until ? { valid_until: until.toISOString() } : {}),
  }
}

/** Returns the thumbprint of the holder key, if the presentation is signed with it. */
function describeHolderKey(
  { boundKey }: Evidence,
  checks: readonly CheckResult[],
): Pick<CredentialReport, 'holder_key_thumbprint'> {
  const isProven = checks.some(({ id, outcome }) => id === 'holder.signature' && outcome === 'passed')
  return isProven && 'thumbprint' in boundKey ? { holder_key_thumbprint: boundKey.thumbprint } : {}
}

function certificateName(certificate: Certificate): NamedCertificate {
  return { subject: certificate.subjectText, sha256: hexFingerprint(certificate) }
}

function shownClaims({ claims, securingMembers }: Evidence): JsonObject {
  return Object.fromEntries(Object.entries(claims).filter(([name]) => !securingMembers.includes(name)))
}
