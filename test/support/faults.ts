/**
 * How many faults of a kind are tried: `npm run test:faults` tries every fault, and `npm test` some of each kind, which
 * show that the defence stands.
 */
import { it } from 'vitest'

const isEveryFault = process.env.VOUCHSAFE_TEST_FAULTS === 'every'

/** Returns the rows of a table that a run tries: the first `count` of them in `npm test`. */
export function faults<Row>(rows: readonly Row[], count = 1): readonly Row[] {
  return isEveryFault ? rows : rows.slice(0, count)
}

/** A test that `npm run test:faults` runs alone. */
export const longFault = it.runIf(isEveryFault)
