/**
 * Contracts that could not be read at a look, or were not reached. One of them must keep nobody from seeing the others: it is read
 * again by itself, less and less often, and until then it is served as it was read last.
 */
import type { Address } from '../offchain/address.ts'
import { backOff } from './retry.ts'

/** An engine that sees nothing of a contract for long does not serve it, so that it must not wait longer. */
const LONGEST_MS = 15_000

interface Waiting {
  /** All times in milliseconds since the epoch. */
  readonly since: number
  readonly attempts: number
  readonly notBefore: number
}

export interface Unread {
  /** Those whose time has come; who was not read for longest is first. */
  due(now: number): readonly Address[]
  has(contract: Address): boolean
  count(): number
  /** How long it has not been read; 0 when it was. */
  seconds(contract: Address, now: number): number
  /** True when it is the first time. */
  failed(contract: Address, now: number): boolean
  notReached(contract: Address, now: number): void
  /** They were read, or nobody asks for them any more. */
  forget(contracts: Iterable<Address>): void
  all(): Iterable<Address>
}

export function unreadContracts(): Unread {
  const waiting = new Map<Address, Waiting>()
  // The newest is the last, also when it had a place before.
  const put = (contract: Address, one: Waiting): void => {
    waiting.delete(contract)
    waiting.set(contract, one)
  }
  return {
    due: (now) => [...waiting].flatMap(([contract, { notBefore }]) => (notBefore <= now ? [contract] : [])),
    has: (contract) => waiting.has(contract),
    count: () => waiting.size,
    seconds: (contract, now) => (now - (waiting.get(contract)?.since ?? now)) / 1000,
    failed: (contract, now) => {
      const { since, attempts } = waiting.get(contract) ?? { since: now, attempts: 0 }
      put(contract, { since, attempts: attempts + 1, notBefore: now + Math.min(LONGEST_MS, backOff(attempts + 1)) })
      return attempts === 0
    },
    notReached: (contract, now) => {
      // Its place is kept.
      if (!waiting.has(contract)) put(contract, { since: now, attempts: 0, notBefore: now })
    },
    forget: (contracts) => {
      for (const contract of contracts) waiting.delete(contract)
    },
    all: () => waiting.keys(),
  }
}
