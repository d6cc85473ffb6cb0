/** Waiting until a transaction that was sent is included, also while the node of the chain is out of reach. */
import { isOutage } from '../../src/chain/chain.ts'
import { ClientError } from './errors.ts'
import { askDespiteOutages, type Clock } from './outage.ts'

export interface Patience extends Clock {
  /**
   * The time that a transaction may take into a block; two minutes unless given. The time begins anew, for a quarter of
   * an hour at most, while its block waits for confirmations.
   */
  readonly patienceMs?: number
}

/** `unconfirmed`: the transaction is in a block that has not enough confirmations yet. */
export type Inclusion = 'pending' | 'unconfirmed' | 'included'

const PATIENCE_MS = 120_000
/**
 * The longest time to wait for confirmations, when the patience ends sooner: as long as 64 blocks of 12 seconds take,
 * and a little longer.
 */
export const MAX_CONFIRMING_MS = 900_000
const POLL_MS = 200
const CONFIRMING_POLL_MS = 1000

/** Returns the time, in milliseconds since 1970, at which the patience with a transaction ends. */
export function endOf({ now, patienceMs = PATIENCE_MS }: Patience): number {
  return now().getTime() + patienceMs
}

/**
 * Waits for the inclusion of the transaction `hash`, which was sent. A poll of the chain that fails says nothing of the
 * transaction. Rejects with a {@link ClientError} `timeout`, and with what `poll` rejects with.
 */
export async function waitForInclusion(
  patience: Patience,
  hash: string,
  poll: () => Promise<Inclusion>,
): Promise<void> {
  const { now, wait } = patience
  let end = endOf(patience)
  const lastEnd = Math.max(end, now().getTime() + MAX_CONFIRMING_MS)
  for (;;) {
    const inclusion = await pollDespiteOutages(patience, hash, { end, poll })
    if (inclusion === 'included') return
    const isConfirming = inclusion === 'unconfirmed'
    if (isConfirming) end = Math.min(endOf(patience), lastEnd)
    if (now().getTime() >= end) {
      const problem = isConfirming ? 'is in a block, and that was not confirmed in time' : 'was not included in time'
      throw new ClientError('timeout', `the transaction ${hash} ${problem}`)
    }
    await wait(isConfirming ? CONFIRMING_POLL_MS : POLL_MS)
  }
}

async function pollDespiteOutages(
  patience: Patience,
  hash: string,
  { end, poll }: { readonly end: number; readonly poll: () => Promise<Inclusion> },
): Promise<Inclusion> {
  try {
    return await askDespiteOutages(patience, end, poll)
  } catch (error) {
    if (!isOutage(error)) throw error
    const problem = `the transaction ${hash} was sent, and nobody says what became of it: ${error.message}`
    throw new ClientError('timeout', problem)
  }
}
