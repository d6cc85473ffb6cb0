/** Tells how far the work with a large database is; of a small one nothing is told. */
import type { CopyProgress } from '../../store/tables.ts'
import { bytesText, rowsText } from '../terminal/command-result.ts'

/** The interval of the reports about rows. */
const REPORT_EVERY_MS = 2000
/** The size from which a step takes seconds, so that somebody wonders about it. */
const LARGE_BYTES = 200_000_000

/** Shows a text to whoever waits. */
export type Tell = (text: string) => void

/** Shows nothing. */
export const tellNothing: Tell = () => undefined

/** Tells a step that begins, and how many bytes it reads, unless they are few. */
export function tellStep(tell: Tell, step: string, bytes: number): void {
  if (bytes >= LARGE_BYTES) tell(`${step} (${bytesText(bytes)}) ...`)
}

/** Creates the function that tells the copied rows, once in two seconds. */
export function createRowReport(tell: Tell): CopyProgress {
  let reportedAt = performance.now()
  return (table, rows) => {
    if (performance.now() - reportedAt < REPORT_EVERY_MS) return
    reportedAt = performance.now()
    tell(`${table}: ${rowsText(rows)} copied`)
  }
}
