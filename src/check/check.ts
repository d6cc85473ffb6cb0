/**
 * Checks, and the runner that asks a list of them. The runner alone writes outcomes: a check says yes or why not, and a
 * check that is not asked says why. A check may have to ask another server first; the next check waits for the answer.
 */
import type { Logger } from 'pino'
import { MalformedError } from '../codec/malformed.ts'
import { describeCauseForLog, describeErrorForLog } from '../http/logged-error.ts'

export interface Check<Evidence, Context> {
  /** The id of the check, which never changes: reports, documents and tests refer to it. */
  readonly id: `${string}.${string}`
  /** The question, for people. */
  readonly asks: string
  /** The document and the heading that the check comes from. */
  readonly spec: string
  /** A failed MUST fails the verification; a failed SHOULD is a warning. */
  readonly level: 'MUST' | 'SHOULD'
  /** Checks that must have been answered well before this one means anything. */
  readonly needs?: readonly string[]
  /**
   * Returns why the question is not asked; undefined where it is asked. `context` has what this service asked for,
   * never what it was sent.
   */
  skipReason?(context: Context): string | undefined
  run(evidence: Evidence, context: Context): Verdict | Promise<Verdict>
}

/** The answer of a check to its question. */
export type Verdict =
  | { readonly answer: 'yes'; readonly detail?: string }
  /** The question could not be answered, and the operator chose to go on all the same: a warning. */
  | { readonly answer: 'tolerated'; readonly detail: string }
  /** `cause` is the error of a library, for the log alone. */
  | { readonly answer: 'no'; readonly detail: string; readonly cause?: unknown }
  /** The check could not ask its question, because the object of the question is missing, which fails another check. */
  | { readonly answer: 'cannot_ask'; readonly detail: string }

export interface CheckResult {
  readonly id: string
  readonly asks: string
  readonly spec: string
  readonly level: 'MUST' | 'SHOULD'
  readonly outcome: 'passed' | 'failed' | 'warning' | 'not_applicable' | 'not_run'
  readonly detail?: string
}

/** The log of the service, and the request whose checks are asked. */
export interface CheckLog {
  readonly log: Pick<Logger, 'error' | 'info'>
  readonly requestId: string
}

/** The most characters of a detail. */
const MAX_DETAIL = 300
/** The number of characters that stay at the end of a longer detail, which says what can be done about it. */
const END_OF_DETAIL = 190

export const pass = (detail?: string): Verdict => ({ answer: 'yes', ...(detail !== undefined && { detail }) })
export const fail = (detail: string, cause?: unknown): Verdict => ({ answer: 'no', detail, cause })
export const tolerate = (detail: string): Verdict => ({ answer: 'tolerated', detail })
export const cannotAsk = (detail: string): Verdict => ({ answer: 'cannot_ask', detail })

/**
 * Asks every check in order. `evidence` is undefined when there is nothing to ask about: then all are `not_run`. A
 * check that throws is a mistake of this service: the check fails, the log has the error, and the detail names the
 * request.
 */
export async function runChecks<Evidence, Context>(
  checks: readonly Check<Evidence, Context>[],
  evidence: Evidence | undefined,
  context: Context,
  log: CheckLog,
): Promise<CheckResult[]> {
  const outcomes = new Map<string, CheckResult['outcome']>()
  const results: CheckResult[] = []
  for (const check of checks) {
    const verdict = runCheck(check, evidence, context, outcomes)
    // Most checks answer at once, and waiting for thirty answers that are there takes longer than finding them.
    const { outcome, detail } = toOutcome(check, verdict instanceof Promise ? await verdict : verdict, log)
    outcomes.set(check.id, outcome)
    const { id, asks, spec, level } = check
    results.push({ id, asks, spec, level, outcome, ...(detail === undefined ? {} : { detail: shortenDetail(detail) }) })
  }
  return results
}

/** Cuts a long detail in its middle, and inside no character, since a detail may repeat what a stranger sent. */
export function shortenDetail(detail: string): string {
  if (detail.length <= MAX_DETAIL) return detail
  const begin = detail.slice(0, MAX_DETAIL - 1 - END_OF_DETAIL).replace(/[\ud800-\udbff]$/, '')
  const end = detail.slice(-END_OF_DETAIL).replace(/^[\udc00-\udfff]/, '')
  return `${begin}…${end}`
}

/** Tests whether nothing that must hold failed or was left unasked. */
export function allHold(results: readonly CheckResult[]): boolean {
  return results.every(({ outcome }) => outcome === 'passed' || outcome === 'warning' || outcome === 'not_applicable')
}

/** The outcome of a check, as the report has it. */
interface CheckOutcome {
  readonly outcome: CheckResult['outcome']
  readonly detail?: string | undefined
}

/** The error that a check threw in place of a verdict, for the log. */
interface ThrownError {
  readonly error: unknown
}

/** Returns the outcome of a check that is not asked, with the reason; undefined where it is asked. */
function findReasonToSkip<Evidence, Context>(
  check: Check<Evidence, Context>,
  evidence: Evidence | undefined,
  context: Context,
  outcomes: ReadonlyMap<string, CheckResult['outcome']>,
): CheckOutcome | undefined {
  const skipReason = check.skipReason?.(context)
  if (skipReason !== undefined) return { outcome: 'not_applicable', detail: skipReason }
  if (evidence === undefined) return { outcome: 'not_run', detail: 'the presentation could not be read' }
  const unmet = check.needs?.find((id) => outcomes.get(id) === 'failed' || outcomes.get(id) === 'not_run')
  return unmet === undefined ? undefined : { outcome: 'not_run', detail: `${unmet} did not pass` }
}

/**
 * Returns the verdict of the check, or why it is not asked. Malformed input fails the check; any other error is
 * returned as {@link ThrownError}.
 */
function runCheck<Evidence, Context>(
  check: Check<Evidence, Context>,
  evidence: Evidence | undefined,
  context: Context,
  outcomes: ReadonlyMap<string, CheckResult['outcome']>,
): CheckOutcome | Verdict | ThrownError | Promise<Verdict | ThrownError> {
  const onError = (error: unknown): Verdict | ThrownError =>
    error instanceof MalformedError ? fail(`could not be checked: ${error.message}`, error.cause) : { error }
  try {
    const skippedOutcome = findReasonToSkip(check, evidence, context, outcomes)
    if (skippedOutcome !== undefined) return skippedOutcome
    const verdict = check.run(evidence as Evidence, context)
    return verdict instanceof Promise ? verdict.catch(onError) : verdict
  } catch (error) {
    return onError(error)
  }
}

/** Returns the outcome of a check by its verdict, and logs the errors that no report has. */
function toOutcome(
  { id, level }: Pick<CheckResult, 'id' | 'level'>,
  verdict: CheckOutcome | Verdict | ThrownError,
  { log, requestId }: CheckLog,
): CheckOutcome {
  if ('outcome' in verdict) return verdict
  const failedOutcome = level === 'MUST' ? 'failed' : 'warning'
  if ('error' in verdict) {
    const line = { event: 'check_threw', request: requestId, check: id, error: describeErrorForLog(verdict.error) }
    log.error(line, 'a check threw an error')
    return {
      outcome: failedOutcome,
      detail: `could not be decided because of an error in this service; its log has the error, under request ${requestId}`,
    }
  }
  const { answer, detail } = verdict
  if (answer === 'cannot_ask') return { outcome: 'not_run', detail }
  if (answer === 'tolerated') return { outcome: 'warning', detail }
  if (answer === 'yes') return { outcome: 'passed', detail }
  if (verdict.cause !== undefined) {
    const line = { event: 'check_failed', request: requestId, check: id, cause: describeCauseForLog(verdict.cause) }
    log.info(line, 'a check failed on what a library refused')
  }
  return { outcome: failedOutcome, detail }
}
