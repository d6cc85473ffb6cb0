/**
 * Checks, and the function that runs a list of them in order. A check returns a verdict; only the runner makes
 * outcomes. A check may be asynchronous, and the next one then waits for it.
 */
import type { Logger } from 'pino'
import { MalformedError } from '../codec/malformed.ts'
import { describeCauseForLog, describeErrorForLog } from '../http/logged-error.ts'

/** The words of a check, which may differ between releases. */
export interface CheckDescription {
  /** The question that the check answers, in words. */
  readonly asks: string
  /** The specification and section of the requirement. */
  readonly spec: string
  /** A failed MUST fails the verification; a failed SHOULD is a warning. */
  readonly level: 'MUST' | 'SHOULD'
}

/** Descriptions of checks, by check id. */
export type CheckDescriptions = Readonly<Record<string, CheckDescription>>

export interface Check<Evidence, Context> extends CheckDescription {
  /** The id of the check. It never changes, since reports, documents and tests refer to it. */
  readonly id: `${string}.${string}`
  /** The ids of the checks that must hold ({@link allHold}) before this check runs. They precede it in the list. */
  readonly needs?: readonly string[]
  /**
   * Returns why the check does not apply; undefined if it does. `context` has what this service requested, never what
   * it received.
   */
  notApplicableReason?(context: Context): string | undefined
  run(evidence: Evidence, context: Context): Verdict | Promise<Verdict>
}

/** The result of a check. */
export type Verdict =
  | { readonly outcome: 'passed'; readonly detail?: string }
  /** The check could not be done, and the operator's policy tolerates that: a warning. */
  | { readonly outcome: 'warning'; readonly detail: string }
  /** A warning, unless the check is a MUST. `cause` is the error of a library, for the log only. */
  | { readonly outcome: 'failed'; readonly detail: string; readonly cause?: unknown }
  /** The check has nothing to look at because its object is missing; another check fails for that. */
  | { readonly outcome: 'not_run'; readonly detail: string }

export interface CheckResult {
  readonly id: string
  readonly outcome: 'passed' | 'failed' | 'warning' | 'not_applicable' | 'not_run'
  readonly detail?: string
}

/** The request whose checks run: the log of the service, the id of the request, and what is judged. */
export interface CheckRun {
  readonly logger: Pick<Logger, 'error' | 'info'>
  readonly requestId: string
  /** Names what is judged; a presentation when absent. */
  readonly judged?: 'wallet attestation'
  /** Why some checks make no sense of what is judged, by check id; a check's own `notApplicableReason` comes first. */
  readonly notApplicableReasons?: Readonly<Record<string, string>>
  /** The ids of checks that others of the list need, and that this run leaves out, so that they hold nothing up. */
  readonly omittedCheckIds?: readonly string[]
}

/** The maximum length of a detail: of a sentence with the names of three certificates, and what to do. */
const MAX_DETAIL = 600
/** The number of characters at the end of a longer detail that are kept, since the end says what to do. */
const END_OF_DETAIL = 190

export const pass = (detail?: string): Verdict => ({ outcome: 'passed', ...(detail !== undefined && { detail }) })
export const fail = (detail: string, cause?: unknown): Verdict => ({ outcome: 'failed', detail, cause })
export const warn = (detail: string): Verdict => ({ outcome: 'warning', detail })
export const notRun = (detail: string): Verdict => ({ outcome: 'not_run', detail })

/**
 * Runs all checks in order. With `evidence` undefined, all are `not_run`. A check that throws is a mistake of this
 * service: the check fails, the error is logged, and the detail has the id of the request.
 */
export async function runChecks<Evidence, Context>(
  checks: readonly Check<Evidence, Context>[],
  evidence: Evidence | undefined,
  context: Context,
  run: CheckRun,
): Promise<CheckResult[]> {
  const outcomes = new Map<string, CheckResult['outcome']>()
  const runSoFar = { ...run, outcomes }
  const results: CheckResult[] = []
  for (const check of checks) {
    const running = runCheck(check, evidence, context, runSoFar)
    // Awaits only promises: most checks are synchronous, and needless awaits are slow.
    const result = recordConclusion(check, running instanceof Promise ? await running : running, run)
    outcomes.set(check.id, result.outcome)
    results.push(result)
  }
  return results
}

/** Cuts the middle out of a long detail, without splitting a character. */
export function shortenDetail(detail: string): string {
  if (detail.length <= MAX_DETAIL) return detail
  const begin = detail.slice(0, MAX_DETAIL - 1 - END_OF_DETAIL).replace(/[\ud800-\udbff]$/, '')
  const end = detail.slice(-END_OF_DETAIL).replace(/^[\udc00-\udfff]/, '')
  return `${begin}…${end}`
}

/** Tests whether each check passed, does not apply, or only warns. */
export function allHold(results: readonly CheckResult[]): boolean {
  return results.every(({ outcome }) => outcome === 'passed' || outcome === 'warning' || outcome === 'not_applicable')
}

/** How a check ended: with its verdict, or as the runner alone says. */
type Conclusion =
  | Verdict
  | { readonly outcome: 'not_applicable'; readonly detail: string }
  | { readonly outcome: 'threw'; readonly error: unknown }

/** A run, with the outcomes of its checks so far. */
interface RunSoFar extends CheckRun {
  readonly outcomes: ReadonlyMap<string, CheckResult['outcome']>
}

/** Runs a check, unless it does not apply or cannot be asked. An error is a failure if it tells of malformed input. */
function runCheck<Evidence, Context>(
  check: Check<Evidence, Context>,
  evidence: Evidence | undefined,
  context: Context,
  run: RunSoFar,
): Conclusion | Promise<Conclusion> {
  const onError = (error: unknown): Conclusion =>
    error instanceof MalformedError
      ? fail(`could not be checked: ${error.message}`, error.cause)
      : { outcome: 'threw', error }
  try {
    const reason = check.notApplicableReason?.(context) ?? run.notApplicableReasons?.[check.id]
    if (reason !== undefined) return { outcome: 'not_applicable', detail: reason }
    if (evidence === undefined) return notRun(`the ${run.judged ?? 'presentation'} could not be read`)
    const unmet = check.needs?.find((id) => isUnmet(id, run))
    if (unmet !== undefined) return notRun(`${unmet} did not pass`)
    const verdict = check.run(evidence, context)
    return verdict instanceof Promise ? verdict.catch(onError) : verdict
  } catch (error) {
    return onError(error)
  }
}

/**
 * Tests whether a check that another one needs has failed or was not run. Throws when it has no outcome, being misspelt
 * or later in the list, so that the check which needs it is not passed.
 */
function isUnmet(id: string, { outcomes, omittedCheckIds }: RunSoFar): boolean {
  const outcome = outcomes.get(id)
  if (outcome === undefined && omittedCheckIds?.includes(id) !== true) {
    throw new Error(`${id} has no outcome: a check must stand after those that it needs`)
  }
  return outcome === 'failed' || outcome === 'not_run'
}

/**
 * Returns the result of a check for the report, and logs what the report does not have: the error that the check threw,
 * and the cause of a failure.
 */
function recordConclusion(
  { id, level }: Check<never, never>,
  conclusion: Conclusion,
  { logger, requestId }: CheckRun,
): CheckResult {
  const failedOutcome = level === 'MUST' ? 'failed' : 'warning'
  if (conclusion.outcome === 'threw') {
    const error = describeErrorForLog(conclusion.error)
    logger.error({ event: 'check_threw', request: requestId, check: id, error }, 'a check threw an error')
    const where = `its log has the error, under request ${requestId}`
    return makeResult(id, failedOutcome, `could not be decided because of an error in this service; ${where}`)
  }
  if (conclusion.outcome !== 'failed') return makeResult(id, conclusion.outcome, conclusion.detail)
  if (conclusion.cause !== undefined) {
    const cause = describeCauseForLog(conclusion.cause)
    const line = { event: 'check_failed', request: requestId, check: id, cause }
    logger.info(line, 'a check failed on what a library refused')
  }
  return makeResult(id, failedOutcome, conclusion.detail)
}

function makeResult(id: string, outcome: CheckResult['outcome'], detail: string | undefined): CheckResult {
  return detail === undefined ? { id, outcome } : { id, outcome, detail: shortenDetail(detail) }
}
