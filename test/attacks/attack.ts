/**
 * The rows of the tables of attacks, and what is then expected. The tables are in the files beside this one, one for
 * each subject.
 */
import { expect } from 'vitest'
import type { StatusPolicy } from '../../src/check/status/status-list-loader.ts'
import { formatOf } from '../../src/credential/formats.ts'
import { evidenceChecks, readingChecks, responseChecks } from '../../src/verifier/checks/index.ts'
import type { CredentialReport, VerificationReport } from '../../src/verifier/verification.ts'
import type { Forgery, World } from '../support/forge.ts'
import type { Profile } from '../support/profiles.ts'

export interface Attack<Parts = Forgery> {
  /** The attack, as a sentence. */
  readonly attack: string
  /** The module of the OpenID Foundation's conformance suite that does the same. */
  readonly module?: string
  /** The id of the one check that must fail. */
  readonly fails: string
  /** The ids of the checks that are then not run. All others must pass. */
  readonly notRun?: readonly string[]
  /** Members of the credential query that differ from the usual one. */
  query?(profile: Profile): Readonly<Record<string, unknown>>
  /** Members of the DCQL query itself that differ. */
  dcql?(profile: Profile): Readonly<Record<string, unknown>>
  /** The `transaction_data` of the session; the good presentation approves them. */
  readonly transactions?: readonly object[]
  /** Makes the one thing wrong. */
  change?(forgery: Parts, world: World): void | Promise<void>
  /** The `vp_token`, when it is not the one presentation under the one id. */
  vpToken?(presentation: string): unknown
}

/** The checks that are not run on a credential whose signature or certificate is no good. */
const doubtful = ['issuer.trusted', 'issuer.identifier', 'status.valid', 'query.type', 'query.claims', 'query.values']

/** The checks that are not run after a check has failed, since they depend on it, directly or not. */
export const after = {
  reading: evidenceChecks.map(({ id }) => id),
  binding: [
    'holder.signature',
    'holder.nonce',
    'holder.audience',
    'holder.fresh',
    'holder.sd_hash',
    'holder.transaction_data',
    'status.valid',
  ],
  signature: doubtful,
  certificate: doubtful,
  noCertificate: ['issuer.signature', ...doubtful],
  trust: ['status.valid'],
  disclosures: ['query.claims', 'query.values'],
  claims: ['query.values'],
} satisfies Readonly<Record<string, readonly string[]>>

/** The checks after whose failure the status is not looked up. Token Status List, Validation Rules. */
const BEFORE_STATUS = [
  'issuer.identifier',
  'query.format',
  'credential.doc_type',
  'holder.signature',
  'holder.nonce',
  'disclosures.valid',
  'validity.not_before',
  'validity.not_expired',
]

/** The settings for credentials without a status. */
export const noStatus: StatusPolicy = {
  loadList: () => Promise.reject(new Error('no status list was asked for')),
  onUnreachable: 'reject',
}

/** Returns the outcome of each check of a report, by id. */
export function outcomesOf(report: Pick<CredentialReport, 'checks'> | undefined): Record<string, string> {
  return Object.fromEntries((report?.checks ?? []).map(({ id, outcome }) => [id, outcome]))
}

/** Returns the outcome of each of `checks` when the row's check fails, and only that. */
export function expectedOutcomes(
  checks: readonly { readonly id: string }[],
  profile: Profile,
  row: Partial<Attack<never>> = {},
): Record<string, string> {
  const waived = row.query?.(profile).require_cryptographic_holder_binding === false
  const notApplicable = formatOf(profile.format)?.notApplicableReasons ?? {}
  const outcome = (id: string) => {
    if (Object.hasOwn(notApplicable, id)) return 'not_applicable'
    if (waived && id.startsWith('holder.')) return 'not_applicable'
    if (id === 'query.trusted_authorities' && row.query?.(profile).trusted_authorities === undefined)
      return 'not_applicable'
    if (id === 'holder.transaction_data' && row.transactions === undefined) return 'not_applicable'
    if (id === row.fails) return 'failed'
    if (id === 'status.valid' && BEFORE_STATUS.includes(row.fails ?? '')) return 'not_run'
    return row.notRun?.includes(id) ? 'not_run' : 'passed'
  }
  return Object.fromEntries(checks.map(({ id }) => [id, outcome(id)]))
}

/** The answer to a response, and the session afterwards. */
export interface SentPresentation {
  readonly status: number
  readonly body: unknown
  readonly report: Record<string, unknown>
}

/** Expects that the response was refused, and that the report says that it was for the one reason of the row. */
export function expectRefusal(
  { status, body, report }: SentPresentation,
  profile: Profile,
  row: Partial<Attack<never>>,
): void {
  expect(body).toEqual({ error: 'invalid_request', error_description: 'the presentation was not accepted' })
  expect(status).toBe(400)
  expect(report.status).toBe('VERIFICATION_FAILED')
  const { verified, checks, credentials } = report.result as VerificationReport
  expect(verified).toBe(false)
  expect(outcomesOf({ checks })).toEqual(expectedOutcomes(responseChecks, profile, row))
  for (const credential of Object.values(credentials).flat()) {
    expect(outcomesOf(credential)).toEqual(expectedOutcomes([...readingChecks, ...evidenceChecks], profile, row))
    const failed = credential.checks.some(({ id }) => id === row.fails)
    if (failed) expect(Object.keys(credential).sort()).toEqual(['checks', 'format'])
  }
  const failures = [
    ...checks,
    ...Object.values(credentials).flatMap((each) => each.flatMap((one) => one.checks)),
  ].filter(({ outcome }) => outcome === 'failed')
  expect(failures.map(({ detail }) => detail)).not.toContain(undefined)
  // A malformed presentation fails a check as well, and nothing but this may; a mistake of the service never.
  const thrown = failures.filter(({ detail }) => /^could not be (checked|decided)/.test(detail ?? ''))
  expect(thrown.filter(({ detail }) => detail?.endsWith('the key is not a point on the curve P-256') !== true)).toEqual(
    [],
  )
}
