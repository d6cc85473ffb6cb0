/** Waiting for what the chain says, while its node may be out of reach for a moment. */
import { isOutage } from '../../src/chain/chain.ts'

/** The time, and the way to let it pass. */
export interface Clock {
  readonly now: () => Date
  readonly wait: (ms: number) => Promise<void>
}

const PAUSE_MS = 1000

/**
 * Asks the chain again and again while it cannot be asked, which says nothing of what the caller waits for. Rejects
 * with the last error after `end`, in milliseconds since 1970. `isWaitedFor` tests which errors to wait through.
 */
export async function askDespiteOutages<T>(
  { now, wait }: Clock,
  end: number,
  ask: () => Promise<T>,
  isWaitedFor: (error: unknown) => boolean = isOutage,
): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!isWaitedFor(error) || now().getTime() >= end) throw error
    }
    await wait(PAUSE_MS)
  }
}
