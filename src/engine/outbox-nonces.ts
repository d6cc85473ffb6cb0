/**
 * Chooses the nonces of transactions, and finds gaps: nonces that no transaction in flight has, although one in flight
 * has a higher nonce. No chain includes a transaction above a gap. A gap is there after a reorganisation, when another
 * transaction of the account left the pools of the nodes, or when a node once gave a wrong number.
 */
import { ChainError } from '../chain/chain.ts'
import type { OutboxMemory } from './outbox-memory.ts'

export interface NoncePlan {
  /** The nonces of the transactions in flight. */
  readonly noncesInFlight: ReadonlySet<number>
  /** The nonce of the next transaction that is signed. */
  readonly next: number
  /** The number of transactions in flight that the chain can include before the next one. */
  readonly inFlight: number
  /** The nonces that are missing below those in flight, after these were missing for long; 0 for no gap. */
  readonly missing: number
}

/**
 * How long a gap must be there before the engine believes the node: a node that is some blocks behind shows gaps for a
 * moment.
 */
const GAP_AFTER_MS = 120_000
/** How long the nonces of included transactions count as used, although the node says a lower next one. */
const INCLUDED_NONCE_MS = 120_000
/** No account has sent so many transactions, so that a node that says more is wrong. */
const MAX_NONCE = 2 ** 40

/**
 * Plans the nonces of a round. `accountNonce` is the next nonce of the account, as the node says. Records in `memory`
 * the gap below the transactions in flight, if there is one.
 */
export function planNonces(
  memory: OutboxMemory,
  accountNonce: number,
  noncesInFlight: ReadonlySet<number>,
  now: number,
): NoncePlan {
  if (accountNonce > MAX_NONCE) throw new ChainError(`the node says the nonce ${accountNonce}, which no account has`)
  const highest = Math.max(-1, ...noncesInFlight)
  let free = Math.max(accountNonce, findLowestNonce(memory, now))
  while (noncesInFlight.has(free)) free++
  if (free > highest) {
    memory.gap = undefined
    memory.mayFillGap = false
    return { noncesInFlight, next: free, inFlight: noncesInFlight.size, missing: 0 }
  }
  if (memory.gap?.nonce !== free) memory.gap = { nonce: free, since: now }
  const isOld = now - memory.gap.since >= GAP_AFTER_MS
  // Once the node is believed, the gap is filled to its end, although its first nonce changes meanwhile.
  if (isOld) memory.mayFillGap = true
  if (!memory.mayFillGap) return { noncesInFlight, next: highest + 1, inFlight: noncesInFlight.size, missing: 0 }
  const above = [...noncesInFlight].filter((nonce) => nonce > free).length
  return {
    noncesInFlight,
    next: free,
    inFlight: noncesInFlight.size - above,
    missing: isOld ? highest - free + 1 - above : 0,
  }
}

/** Records that a block included a transaction with the nonce. */
export function recordIncludedNonce(memory: OutboxMemory, nonce: number, now: number): void {
  if (nonce >= findLowestNonce(memory, now)) memory.includedNonce = { nonce, at: now }
}

/** Returns the lowest nonce that may be free. The nonce of a receipt counts for a time, as it may have been wrong. */
function findLowestNonce({ includedNonce }: OutboxMemory, now: number): number {
  return includedNonce === undefined || now - includedNonce.at >= INCLUDED_NONCE_MS ? 0 : includedNonce.nonce + 1
}
