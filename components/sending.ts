/**
 * When a transaction that was sent is looked for. The contract is read at a block that may be older than the newest, as
 * the engine waits for confirmations. So the time runs by the block that the engine sees: it is over when the engine,
 * by its own clock, will see a block of a minute after the sending.
 */

/** The part of the context of a call that has its clocks. */
interface Clocks {
  readonly block: { readonly time: Date }
  readonly now: () => Date
}

/** The time that a transaction has into a block. */
export const INCLUSION_MS = 60_000
/**
 * The most by which the block that is seen counts as late: as long as 64 confirmations of 12 seconds take, and a little
 * longer. Where blocks come with transactions alone, the newest may be days old.
 */
const MOST_LATE_MS = 900_000

/** Returns the time, in milliseconds since 1970, from which a transaction that is sent now is looked for. */
export function lookTime(context: Clocks): number {
  const now = context.now().getTime()
  const late = now - context.block.time.getTime()
  return now + INCLUSION_MS + Math.min(MOST_LATE_MS, Math.max(0, late))
}

/**
 * Tests whether a time is over that {@link lookTime} gave. So is one that is too far away, as of a clock that was set
 * back.
 */
export function isOver(time: number, context: Clocks): boolean {
  const now = context.now().getTime()
  return time <= now || time > now + INCLUSION_MS + MOST_LATE_MS
}

/**
 * Returns the milliseconds until the next look for what waits until a time of {@link lookTime}: none when that is over,
 * and else a minute at least, so that one look is for many transactions.
 */
export function msUntilLook(time: number, context: Clocks): number {
  return isOver(time, context) ? 0 : Math.max(INCLUSION_MS, time - context.now().getTime())
}
