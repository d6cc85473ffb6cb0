/**
 * What a check is, and the runner that asks a list of them. Nobody else writes an outcome: a check says yes, or why not,
 * and what is not asked says why it is not. A check may have to ask somebody else first; the next waits for it.
 */

export interface Check<Evidence, Context> {
  /** Stable: reports, documents and tests know it by this. */
  readonly id: `${string}.${string}`
  /** The question, for people. */
  readonly asks: string
  /** Document and heading. */
  readonly spec: string
  /** A failed MUST fails the verification; a failed SHOULD is a warning. */
  readonly level: 'MUST' | 'SHOULD'
  /** Checks that must have been answered well before this one means anything. */
  readonly needs?: readonly string[]
  /** True, or why the question is not asked. It sees what we asked for, never what we were sent. */
  applies?(context: Context): true | string
  run(evidence: Evidence, context: Context): Verdict | Promise<Verdict>
}

export type Verdict =
  | { readonly passed: true; readonly detail?: string }
  /** It could not be answered, and whoever runs the service said to go on all the same: a warning. */
  | { readonly passed: 'tolerated'; readonly detail: string }
  | { readonly passed: false; readonly detail: string }
  /** The question could not be put, because what it is about is missing; that fails another check. */
  | { readonly passed: undefined; readonly detail: string }

export interface CheckResult {
  readonly id: string
  readonly asks: string
  readonly spec: string
  readonly level: 'MUST' | 'SHOULD'
  readonly outcome: 'passed' | 'failed' | 'warning' | 'not_applicable' | 'not_run'
  readonly detail?: string
}

/** Characters of a detail. */
const MAX_DETAIL = 300
/** Characters that stay at the end of a longer detail, which says what can be done about it. */
const END_OF_DETAIL = 190

export const pass = (detail?: string): Verdict => (detail === undefined ? { passed: true } : { passed: true, detail })
export const fail = (detail: string): Verdict => ({ passed: false, detail })
export const tolerate = (detail: string): Verdict => ({ passed: 'tolerated', detail })
export const cannotAsk = (detail: string): Verdict => ({ passed: undefined, detail })

/** Asks every check in order. `evidence` is undefined when there is nothing to ask about: then all are `not_run`. */
export async function runChecks<Evidence, Context>(
  checks: readonly Check<Evidence, Context>[],
  evidence: Evidence | undefined,
  context: Context,
): Promise<CheckResult[]> {
  const outcomes = new Map<string, CheckResult['outcome']>()
  const results: CheckResult[] = []
  for (const check of checks) {
    const asked = ask(check, evidence, context, outcomes)
    // Most answer at once, and waiting for thirty answers that are there takes longer than it took to find them.
    const { outcome, detail } = asked instanceof Promise ? await asked : asked
    outcomes.set(check.id, outcome)
    const { id, asks, spec, level } = check
    results.push({ id, asks, spec, level, outcome, ...(detail === undefined ? {} : { detail: shortened(detail) }) })
  }
  return results
}

/** A detail may tell back what a stranger sent: it is cut in its middle, and in no character. */
function shortened(detail: string): string {
  if (detail.length <= MAX_DETAIL) return detail
  const begin = detail.slice(0, MAX_DETAIL - 1 - END_OF_DETAIL).replace(/[\ud800-\udbff]$/, '')
  const end = detail.slice(-END_OF_DETAIL).replace(/^[\udc00-\udfff]/, '')
  return `${begin}…${end}`
}

/** Whether nothing that must hold failed or was left unasked. */
export function allHold(results: readonly CheckResult[]): boolean {
  return results.every(({ outcome }) => outcome === 'passed' || outcome === 'warning' || outcome === 'not_applicable')
}

interface Asked {
  readonly outcome: CheckResult['outcome']
  readonly detail?: string | undefined
}

function ask<Evidence, Context>(
  check: Check<Evidence, Context>,
  evidence: Evidence | undefined,
  context: Context,
  outcomes: ReadonlyMap<string, CheckResult['outcome']>,
): Asked | Promise<Asked> {
  const applies = check.applies?.(context) ?? true
  if (applies !== true) return { outcome: 'not_applicable', detail: applies }
  if (evidence === undefined) return { outcome: 'not_run', detail: 'the presentation could not be read' }
  const unmet = check.needs?.find((id) => outcomes.get(id) === 'failed' || outcomes.get(id) === 'not_run')
  if (unmet !== undefined) return { outcome: 'not_run', detail: `it depends on ${unmet}` }
  const verdict = answer(check, evidence, context)
  return verdict instanceof Promise ? verdict.then((late) => judged(check, late)) : judged(check, verdict)
}

function judged({ level }: Pick<CheckResult, 'level'>, { passed, detail }: Verdict): Asked {
  if (passed === undefined) return { outcome: 'not_run', detail }
  if (passed === 'tolerated') return { outcome: 'warning', detail }
  if (passed) return { outcome: 'passed', detail }
  return { outcome: level === 'MUST' ? 'failed' : 'warning', detail }
}

/** An exception is a failed check: what could not be checked does not hold. */
function answer<Evidence, Context>(
  check: Check<Evidence, Context>,
  evidence: Evidence,
  context: Context,
): Verdict | Promise<Verdict> {
  const failed = (error: unknown): Verdict => fail(`could not be checked: ${(error as Error).message}`)
  try {
    const verdict = check.run(evidence, context)
    return verdict instanceof Promise ? verdict.catch(failed) : verdict
  } catch (error) {
    return failed(error)
  }
}
