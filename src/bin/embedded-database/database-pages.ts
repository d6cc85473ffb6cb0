/**
 * Checks the pages of an embedded database while the service runs. SQLite notices a damaged page only when it reads the
 * page from the file.
 */
import { statSync } from 'node:fs'
import type { Logger } from 'pino'
import { singleFlight } from '../../async/single-flight.ts'
import type { DamageReport } from '../../store/sqlite-check.ts'

/** The least time between two checks. */
const CHECK_EVERY_MS = 10_000
/** The size up to which a file is checked, which takes a tenth of a second: 1 % of the time between two checks. */
const CHECKED_BYTES = 64 * 1024 * 1024

/** Checks a file for damage, outside the serving thread, on a separate connection: cached pages would hide damage. */
export type FindDamage = (file: string) => Promise<DamageReport>

/**
 * Creates a function that tests whether the file is damaged. It checks the file only when the file has changed since
 * the last check and the next check is due, and returns false otherwise.
 */
export function createPageCheck(file: string, findDamage: FindDamage, log: Logger): () => Promise<boolean> {
  // The time of modification can be set back, as `cp -p` does; the time of change cannot.
  let checkedAt = statSync(file).ctimeMs
  let dueAt = -Infinity
  return singleFlight(async () => {
    const startsAt = performance.now()
    if (startsAt < dueAt) return false
    try {
      const state = statSync(file, { throwIfNoEntry: false })
      if (state === undefined || state.ctimeMs === checkedAt || state.size > CHECKED_BYTES) return false
      dueAt = startsAt + CHECK_EVERY_MS
      const { damage } = await findDamage(file)
      checkedAt = state.ctimeMs
      return damage !== undefined
    } catch (err) {
      dueAt = startsAt + CHECK_EVERY_MS
      log.warn({ event: 'database_unchecked', err }, 'the database could not be looked at for damage')
      return false
    }
  })
}
