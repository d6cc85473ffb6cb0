/**
 * How many faults of a kind are tried: `npm run test:faults` tries every fault, and `npm test` some of each kind, which
 * show that the defence stands.
 */
import { it, type TestContext } from 'vitest'

const isEveryFault = process.env.VOUCHSAFE_TEST_ALL === 'yes'

/** Returns the rows of a table that a run tries: the first `count` of them in `npm test`. */
export function faults<Row>(rows: readonly Row[], count = 1): readonly Row[] {
  return isEveryFault ? rows : rows.slice(0, count)
}

/** A test that `npm run test:faults` runs alone. */
export const longFault = it.runIf(isEveryFault)

/** Returns how often a service is killed: `VOUCHSAFE_TEST_KILLS` times, or 8 where every fault is tried, else 3. */
export function killRounds(): number {
  return Number(process.env.VOUCHSAFE_TEST_KILLS ?? (isEveryFault ? 8 : 3))
}

/** The figures of a fault for the table of docs/faults.md. */
export interface FaultReport {
  readonly tried: number
  /** The answers that a client remembered, and those of them that were lost; absent where nothing was counted. */
  readonly acknowledged?: number
  readonly lost?: number
  /** The text beside the name of the test, such as how long an answer took. */
  readonly saw?: string
}

declare module 'vitest' {
  interface TaskMeta {
    fault?: FaultReport
  }
}

/** Hands the figures of a fault to the reporter of the run. */
export function reportFault({ meta }: TestContext['task'], report: FaultReport): void {
  meta.fault = report
}
