/**
 * The words of the checks: each question, its specification and its level. A session is stored with the results of its
 * checks and a reference to these words, which are two thirds of a report and the same for all sessions of a release.
 * The database has the words of each release once, so that a report has those with which its checks ran.
 * docs/decisions/0024-words-of-checks.md.
 */
import { cacheValue, createPromiseCache } from '../async/cache.ts'
import type { CheckDescription, CheckDescriptions, CheckResult } from '../check/check.ts'
import { digestOf } from '../codec/digest.ts'
import { allChecks } from './checks/index.ts'
import type { VerifierStore } from './collections.ts'
import { mapPresentations, type VerificationReport } from './verification.ts'

/** The result of a check with its description, as in reports for the application. */
export interface DescribedCheckResult extends CheckResult, CheckDescription {}

/** A report for the application. */
export type DescribedReport = VerificationReport<DescribedCheckResult>

export const currentDescriptions: CheckDescriptions = Object.fromEntries(
  allChecks.map(({ id, asks, spec, level }) => [id, { asks, spec, level }]),
)

const CURRENT_ID = digestOf(JSON.stringify(currentDescriptions))
const MAX_CACHED_RELEASES = 100
/** How long a process relies on having stored its descriptions, which a database that was put back has lost. */
const STORED_MS = 60_000

interface DescriptionEffects {
  readonly store: Pick<VerifierStore, 'get' | 'commit'>
  readonly now: () => Date
}

export interface StoredDescriptions {
  /** Stores the current descriptions, unless the database has them, and returns their id. */
  readonly storeCurrent: () => Promise<string>
  /** Loads the descriptions with an id of `storeCurrent`. Throws an Error when there are none: none is ever removed. */
  readonly load: (id: string) => Promise<CheckDescriptions>
}

/**
 * Creates the access to the descriptions in the database. Those of this release are stored by each process, again and
 * again, and never loaded, since their id is their digest: a database that lost the row by a takeover voids no report.
 */
export function createStoredDescriptions({ store, now }: DescriptionEffects): StoredDescriptions {
  const storedCurrent = cacheValue(
    async () => {
      // A conflict means that the database has them.
      await store.commit([{ insert: 'check_descriptions', id: CURRENT_ID, value: currentDescriptions }])
      return CURRENT_ID
    },
    { ttlMs: STORED_MS, now },
  )
  const otherReleases = createPromiseCache<CheckDescriptions>(MAX_CACHED_RELEASES)
  return {
    storeCurrent: storedCurrent.get,
    load: async (id) => {
      if (id === CURRENT_ID) return currentDescriptions
      return otherReleases.get(id, async () => {
        const row = await store.get('check_descriptions', id)
        if (row === undefined) throw new Error(`the check descriptions ${id} of a session are not in the database`)
        return row.value
      })
    },
  }
}

/** Adds the descriptions to all check results of a report. */
export function describeReport(report: VerificationReport, descriptions: CheckDescriptions): DescribedReport {
  const { verified, trust, checks, credentials } = report
  return {
    verified,
    ...(trust === undefined ? {} : { trust }),
    checks: describeResults(checks, descriptions),
    credentials: mapPresentations(credentials, (presentation) => ({
      ...presentation,
      checks: describeResults(presentation.checks, descriptions),
    })),
  }
}

/** Adds the descriptions to results. Throws an Error for a check without description. */
export function describeResults(
  results: readonly CheckResult[],
  descriptions: CheckDescriptions,
): DescribedCheckResult[] {
  return results.map(({ id, outcome, detail }) => {
    const description = descriptions[id]
    if (description === undefined) throw new Error(`there is no description of the check ${id}`)
    return { id, ...description, outcome, ...(detail === undefined ? {} : { detail }) }
  })
}
