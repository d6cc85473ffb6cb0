/**
 * The latest calls of each contract, in memory, for the operator: what its component was asked, how that ended, and
 * what it logged.
 */
import { createLru } from '../async/lru.ts'
import type { Hook } from '../component/runtime.ts'
import type { Address } from '../offchain/address.ts'

/** The answers by which a call ended: of the component (`done`), or of the engine in its place. */
export const CALL_OUTCOMES = [
  ...(['done', 'trap', 'bad-response', 'deadline'] as const),
  ...(['quota', 'overloaded', 'unavailable', 'reconciling'] as const),
] as const
export type CallOutcome = (typeof CALL_OUTCOMES)[number]

export interface EndedCall {
  readonly hook: Hook
  readonly began: Date
  readonly milliseconds: number
  readonly outcome: CallOutcome
  /** The status of an HTTP response. */
  readonly status?: number | undefined
  /** The id of the HTTP request. */
  readonly request?: string | undefined
  readonly why?: string | undefined
  readonly log?: readonly string[] | undefined
}

export interface PastCall extends Omit<EndedCall, 'hook' | 'log'> {
  readonly hook: Hook['kind']
  /** The method and the path of a request; the query may say more than a path does, and is left out. */
  readonly asked?: string
  readonly log: readonly string[]
}

export interface CallHistory {
  add(contract: Address, call: EndedCall): void
  /** Returns the calls of a contract, the latest first. */
  of(contract: Address): readonly PastCall[]
}

/** The most contracts with a history: some 50 MB where every contract logs as much as it can, and far less else. */
const MOST_CONTRACTS = 100
const MOST_CALLS = 50
const MOST_LINES = 20
const MOST_CHARACTERS = 500

export function createCallHistory(): CallHistory {
  const callsOf = createLru<Address, PastCall[]>(MOST_CONTRACTS)
  return {
    add: (contract, call) => {
      const calls = callsOf.get(contract) ?? []
      calls.push(pastCall(call))
      if (calls.length > MOST_CALLS) calls.shift()
      callsOf.set(contract, calls)
    },
    of: (contract) => (callsOf.get(contract) ?? []).toReversed(),
  }
}

function pastCall({ hook, why, log = [], ...call }: EndedCall): PastCall {
  const lines = log.slice(0, MOST_LINES).map(cut)
  const left = log.length - lines.length
  return {
    ...call,
    hook: hook.kind,
    ...(hook.kind === 'http' && { asked: cut(`${hook.request.method} ${hook.request.uri.split('?', 1)[0] ?? ''}`) }),
    ...(why !== undefined && { why: cut(why) }),
    log: left === 0 ? lines : [...lines, `(${left} more in the log of this engine)`],
  }
}

/** Returns the beginning of a text, in memory of its own: a part of a string keeps all of it. */
function cut(text: string): string {
  const end = text.length > MOST_CHARACTERS ? '…' : ''
  return Buffer.from(text.slice(0, MOST_CHARACTERS)).toString() + end
}
