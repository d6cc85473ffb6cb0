/** Judges the times between which a credential or a proof is valid. `evidence-readers.ts` reads them. */
import type { Instant, Validity } from './format.ts'

/**
 * Returns the latest `notBefore` time; undefined if there is none. `iat` does not count: a credential may be valid
 * since a time before it was signed.
 */
export function lastStart({ notBefore }: Validity): Date | undefined {
  const starts = notBefore.flatMap(({ member, at }) => (member === 'iat' ? [] : (at?.getTime() ?? [])))
  return starts.length > 0 ? new Date(Math.max(...starts)) : undefined
}

/** Returns the earliest `notAfter` time; undefined if there is none. */
export function firstEnd({ notAfter }: Validity): Date | undefined {
  const ends = notAfter.flatMap(({ at }) => at?.getTime() ?? [])
  return ends.length > 0 ? new Date(Math.min(...ends)) : undefined
}

/**
 * Returns the first limit that does not hold at `now`, where clocks may differ, and whether it is a beginning;
 * undefined if all hold.
 */
export function findTimeProblem(
  { notBefore, notAfter }: Validity,
  now: Date,
  clockSkewSeconds: number,
): (Instant & { readonly isEarly: boolean }) | undefined {
  const skew = clockSkewSeconds * 1000
  const early = notBefore.find(({ at }) => at === undefined || at.getTime() > now.getTime() + skew)
  if (early !== undefined) return { ...early, isEarly: true }
  const late = notAfter.find(({ at }) => at === undefined || at.getTime() + skew <= now.getTime())
  return late && { ...late, isEarly: false }
}
