/**
 * The processor time that other machines on the same host took of this one's: a figure that was measured meanwhile is
 * worse than it could be.
 */
import { readFileSync } from 'node:fs'

/** Where `steal` stands among the times of /proc/stat; the two after it are counted in others already. */
const STEAL = 7

/**
 * Starts to measure, and returns the function that returns the share of all processor time since the start that other
 * machines took, between 0 and 1; undefined where the system does not report it.
 */
export function startStolenTime(): () => number | undefined {
  const before = times()
  return () => {
    const after = times()
    if (before === undefined || after === undefined) return undefined
    const passedTimes = after.map((time, at) => time - (before[at] ?? 0))
    const all = passedTimes.reduce((sum, each) => sum + each, 0)
    return all === 0 ? undefined : (passedTimes[STEAL] ?? 0) / all
  }
}

function times(): readonly number[] | undefined {
  try {
    const [line = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1)
    return line
      .trim()
      .split(/\s+/)
      .slice(1, STEAL + 2)
      .map(Number)
  } catch {
    return undefined
  }
}

export function percent(part: number | undefined): string {
  return part === undefined ? 'unknown' : `${(100 * part).toFixed(0)} %`
}
