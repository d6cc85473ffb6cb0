/**
 * Keeps the latest calls of each contract in memory, for the operator: the request, the outcome, and the lines that the
 * component logged.
 */
import { createLru } from '../async/cache.ts'
import { shortenText } from '../codec/untrusted-text.ts'
import { pathOf } from '../codec/url.ts'
import type { Hook } from '../component/runtime.ts'
import type { Address } from '../offchain/address.ts'

/**
 * The outcomes of a call. With `done` the component has answered; with `abandoned` nobody waits for an answer; with all
 * others the engine answers in the place of the component.
 */
export const CALL_OUTCOMES = [
  'done',
  'trap',
  'bad-response',
  'deadline',
  'quota',
  'overloaded',
  'unavailable',
  'reconciling',
  'stale-chain',
  'abandoned',
] as const
export type CallOutcome = (typeof CALL_OUTCOMES)[number]

/** A call that has ended, for the history. */
export interface CallRecord {
  readonly hook: Hook
  readonly began: Date
  readonly milliseconds: number
  readonly outcome: CallOutcome
  /** The status of an HTTP response. */
  readonly status?: number | undefined
  /** The id of the HTTP request. */
  readonly request?: string | undefined
  /** The reason for the failure, for the operator. */
  readonly why?: string | undefined
  readonly log?: readonly string[] | undefined
}

/** A call as the history keeps it for the operator. */
export interface ShownCall extends Omit<CallRecord, 'hook' | 'log'> {
  readonly hook: Hook['kind']
  /** The method and the path of an HTTP request, without the query, which may contain personal data. */
  readonly asked?: string
  readonly log: readonly string[]
}

export interface CallHistory {
  add(contract: Address, call: CallRecord): void
  /** Returns the calls of a contract, the latest first. */
  list(contract: Address): readonly ShownCall[]
}

/** The most contracts with a history. They take some 50 MB when every contract logs as much as it can. */
const MAX_CONTRACTS = 100
const MAX_CALLS = 50
const MAX_LINES = 20
const MAX_CHARACTERS = 500

export function createCallHistory(): CallHistory {
  const callsByContract = createLru<Address, ShownCall[]>(MAX_CONTRACTS)
  return {
    add: (contract, call) => {
      const calls = callsByContract.get(contract) ?? []
      calls.push(shownCall(call))
      if (calls.length > MAX_CALLS) calls.shift()
      callsByContract.set(contract, calls)
    },
    list: (contract) => (callsByContract.get(contract) ?? []).toReversed(),
  }
}

function shownCall({ hook, why, log = [], ...call }: CallRecord): ShownCall {
  const lines = log.slice(0, MAX_LINES).map(shorten)
  const remaining = log.length - lines.length
  return {
    ...call,
    hook: hook.kind,
    ...(hook.kind === 'http' && { asked: shorten(`${hook.request.method} ${pathOf(hook.request.uri)}`) }),
    ...(why !== undefined && { why: shorten(why) }),
    log: remaining === 0 ? lines : [...lines, `(${remaining} more in the log of this engine)`],
  }
}

/** Returns the beginning of a text as a copy, since V8 keeps the whole string in memory for a slice of it. */
function shorten(text: string): string {
  return Buffer.from(shortenText(text, MAX_CHARACTERS)).toString()
}
