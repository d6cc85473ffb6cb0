/** Notices when the system clock jumps ahead, so that a wrong clock deletes no sessions. */
import type { Logger } from 'pino'

const DAY_MS = 86_400_000
/** How long nothing is deleted after a jump, so that the clock can be set right. */
const HOLD_MS = 3_600_000

/** The two clocks of the machine, in milliseconds. */
export interface Clocks {
  /** Returns the time since the epoch, which jumps when the clock is set. */
  readonly system: () => number
  /** Returns the time since some moment, which no setting of the clock changes. */
  readonly monotonic: () => number
}

export const machineClocks: Clocks = { system: () => Date.now(), monotonic: () => performance.now() }

/**
 * Returns a function that tests whether the clock is doubtful, so that deletions are to wait: from the moment when the
 * system clock is found more than a day ahead of the last call, until it is set back or an hour has passed. Logs each
 * such moment once.
 */
export function watchForClockJump({ system, monotonic }: Clocks, log: Logger): () => boolean {
  const differenceOf = (): number => system() - monotonic()
  let trusted = differenceOf()
  let heldSince: number | undefined
  return () => {
    const difference = differenceOf()
    const jumpMs = difference - trusted
    const at = monotonic()
    if (jumpMs > DAY_MS && (heldSince === undefined || at - heldSince < HOLD_MS)) {
      if (heldSince === undefined) logJump(log, jumpMs)
      heldSince ??= at
      return true
    }
    trusted = difference
    heldSince = undefined
    return false
  }
}

function logJump(log: Logger, jumpMs: number): void {
  const line = { event: 'clock_jumped', seconds: Math.round(jumpMs / 1000) }
  log.error(line, 'the clock of the machine jumped ahead: for an hour nothing is deleted; set the clock if it is wrong')
}
