/** The pauses between attempts: exponential backoff, and jitter against many who would try again at the same moment. */

export interface BackOff {
  readonly firstMs: number
  readonly longestMs: number
}

/** Returns the pause after `failures` failures in a row: `firstMs` after the first, twice as long after each more. */
export function backOffMs({ firstMs, longestMs }: BackOff, failures: number): number {
  return Math.min(longestMs, firstMs * 2 ** Math.min(Math.max(0, failures - 1), 32))
}

/** Returns a fraction from 0 up to but not including 1, drawn from `random`. */
export function drawFraction(random: (bytes: number) => Uint8Array): number {
  const [high = 0, low = 0] = random(2)
  return (high * 256 + low) / 65_536
}
