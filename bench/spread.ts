/** A figure of several rounds: the median, which stands for it, with the least and the most. */
import { percentile, type Target } from './report.ts'

export interface Spread {
  readonly median: number
  readonly least: number
  readonly most: number
}

export function spreadOf(values: readonly number[]): Spread {
  return { median: percentile(values, 50), least: Math.min(...values), most: Math.max(...values) }
}

/** Writes a spread as `1.02 (0.97 to 1.05)`, and one of counts as `2 (1 to 5)`. */
export function spreadText({ median, least, most }: Spread): string {
  const digits = [median, least, most].every(Number.isInteger) ? 0 : 2
  return `${median.toFixed(digits)} (${least.toFixed(digits)} to ${most.toFixed(digits)})`
}

export const atMost = (target: string, limit: number, spread: Spread, unit?: string): Target =>
  targetOf(target, spread.median <= limit, spread, unit)

export const atLeast = (target: string, limit: number, spread: Spread, unit?: string): Target =>
  targetOf(target, spread.median >= limit, spread, unit)

function targetOf(target: string, reached: boolean, spread: Spread, unit = 'times'): Target {
  const { median: value, least, most } = spread
  return { target, reached, figure: `${spreadText(spread)} ${unit}`, value, least, most }
}
