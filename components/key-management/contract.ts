/** The questions and transactions of the component to its contract, KeyManagement.sol. */

import type { Context } from 'vouchsafe/component'
import { type Answer, account, answer, byteString, callData, list, uint } from '../abi.ts'
import { concat } from '../bytes.ts'

/** The first four bytes of the Keccak-256 of each signature. */
export const selectors = {
  'engines()': 'cc6497a3',
  'key(uint128)': '77ae0c92',
  'policy(uint128)': 'd0db4d51',
  'commitments(uint128)': 'f9166447',
  'sharesFor(uint128,uint256)': '79302ee0',
  'confirmations(uint128)': 'f1a04608',
  'changesAfter(uint256,uint256,uint256)': 'dee28359',
  'awaited(address,(uint128,bytes32,uint8)[])': '84f50a50',
  'publishCommitments(uint128,bytes32,bytes)': '421792ed',
  'publishShares(uint128,bytes32,bytes[])': '2d0e32b6',
  'confirm(uint128,bytes32,bytes32)': '1c071528',
  'complain(uint128,bytes32,address,string)': 'b276bf41',
} as const

/** The names of statuses in the order of the contract's `Status`. */
const STATUSES = ['unknown', 'commitments', 'shares', 'confirmation', 'active', 'failed', 'disabled'] as const
export type Status = (typeof STATUSES)[number]

export interface Key {
  readonly owner: string
  readonly threshold: number
  readonly status: Status
  /** The public key of Ed25519; all zero before the key is active. */
  readonly publicKey: Uint8Array
  readonly accuser: string
  readonly accused: string
  readonly reason: string
  /** The 32 bytes by which this key is known from every other that has its id on another fork of the chain. */
  readonly registration: Uint8Array
}

export interface Policy {
  readonly signers: readonly string[]
  /** The end of the policy in milliseconds since 1970; 0 for no end. */
  readonly notAfter: number
  readonly sharesPerDay: number
  readonly prefix: Uint8Array
}

/** The latest end of a policy in seconds since 1970; a later one counts as this, whose milliseconds a number holds. */
const LATEST_END = 1n << 43n

/** The part of a context that reads. */
export type Reading = Pick<Context, 'read'>

export function keyOf(id: bigint, context: Reading): Key {
  const values = answer(context.read(callData(selectors['key(uint128)'], uint(id))))
  return {
    owner: values.address(0),
    threshold: values.number(1),
    status: STATUSES[values.number(2)] ?? 'unknown',
    publicKey: values.word(3),
    accuser: values.address(4),
    accused: values.address(5),
    reason: values.text(6),
    registration: values.word(7),
  }
}

export function policyOf(id: bigint, context: Reading): Policy {
  const values = answer(context.read(callData(selectors['policy(uint128)'], uint(id))))
  const notAfter = values.uint(1)
  return {
    signers: values.list(0, (items, at) => items.address(at)),
    notAfter: Number(notAfter < LATEST_END ? notAfter : LATEST_END) * 1000,
    sharesPerDay: values.number(2),
    prefix: values.bytes(3),
  }
}

/** Reads the addresses of all engines, in the order that everything else here follows. */
export function engines(context: Reading): readonly string[] {
  const values = answer(context.read(callData(selectors['engines()'])))
  return values.list(0, (items, at) => items.tuple(at).address(0))
}

/** Reads the packages that the engines published in round 1, each empty for an engine that has not. */
export function commitments(id: bigint, context: Reading): readonly Uint8Array[] {
  return byteStrings(context.read(callData(selectors['commitments(uint128)'], uint(id))))
}

/** Reads the shares that the engines encrypted to this one in round 2, each empty for an engine that has not. */
export function sharesFor(id: bigint, index: number, context: Reading): readonly Uint8Array[] {
  return byteStrings(context.read(callData(selectors['sharesFor(uint128,uint256)'], uint(id), uint(index))))
}

export function confirmations(id: bigint, context: Reading): readonly boolean[] {
  const values = answer(context.read(callData(selectors['confirmations(uint128)'], uint(id))))
  return values.list(0, (items, at) => items.flag(at))
}

/** The position up to which an engine has read the changes of the contract. */
export interface Reached {
  readonly count: bigint
  /** The 32 bytes of the last change: by them the contract tells whether it is still the same one. */
  readonly entry: Uint8Array
}

/** Reads the two words of a number of changes and the last of them. */
export function readReached(words: Uint8Array): Reached {
  const values = answer(words)
  return { count: values.uint(0), entry: values.word(1) }
}

/** A key that came to a status, and is there still. */
export interface Change extends Step {
  readonly threshold: number
  readonly reached: Reached
}

/**
 * Reads the changes after those that were read, looking through `most` at most; all from the first, where the chain
 * took back what was read.
 */
export function changesAfter(
  { count, entry }: Reached,
  most: number,
  context: Reading,
): { readonly changes: readonly Change[]; readonly reached: Reached; readonly more: boolean } {
  const data = callData(selectors['changesAfter(uint256,uint256,uint256)'], uint(count), entry, uint(most))
  const values = answer(context.read(data))
  return {
    changes: values.list(0, changeAt),
    reached: { count: values.uint(1), entry: values.word(2) },
    more: values.flag(3),
  }
}

/** Reads a change, for which there are four words. */
function changeAt(items: Answer, at: number): Change {
  const entry = items.word(4 * at + 1)
  return {
    id: answer(concat([new Uint8Array(16), entry.subarray(0, 16)])).uint(0),
    registration: items.word(4 * at + 2),
    status: STATUSES[entry[16] ?? 0] ?? 'unknown',
    threshold: items.number(4 * at + 3),
    reached: { count: items.uint(4 * at), entry },
  }
}

/** Returns the steps that the contract still waits for this engine to take. */
export function awaited<T extends Step>(steps: readonly T[], context: Pick<Context, 'read' | 'engine'>): readonly T[] {
  if (steps.length === 0) return []
  const words = steps.flatMap(({ id, registration, status }) => [
    uint(id),
    registration,
    uint(STATUSES.indexOf(status)),
  ])
  const data = callData(selectors['awaited(address,(uint128,bytes32,uint8)[])'], account(context.engine), {
    tail: concat([uint(steps.length), ...words]),
  })
  const places = answer(context.read(data)).list(0, (items, at) => items.number(at))
  return places.flatMap((place) => steps[place] ?? [])
}

/** A key at a status. */
export interface Step extends Registered {
  readonly status: Status
}

/** The key that a transaction is about: the contract refuses it where the id belongs to another registration. */
export interface Registered {
  readonly id: bigint
  readonly registration: Uint8Array
}

export const publishCommitments = ({ id, registration }: Registered, published: Uint8Array): Uint8Array =>
  callData(selectors['publishCommitments(uint128,bytes32,bytes)'], uint(id), registration, byteString(published))

export const publishShares = ({ id, registration }: Registered, encrypted: readonly Uint8Array[]): Uint8Array =>
  callData(selectors['publishShares(uint128,bytes32,bytes[])'], uint(id), registration, list(encrypted.map(byteString)))

export const confirm = ({ id, registration }: Registered, publicKey: Uint8Array): Uint8Array =>
  callData(selectors['confirm(uint128,bytes32,bytes32)'], uint(id), registration, publicKey)

export const complain = ({ id, registration }: Registered, accused: string, reason: string): Uint8Array =>
  callData(
    selectors['complain(uint128,bytes32,address,string)'],
    uint(id),
    registration,
    account(accused),
    byteString(new TextEncoder().encode(reason)),
  )

function byteStrings(values: Uint8Array): Uint8Array[] {
  return answer(values).list(0, (items, at) => items.bytes(at))
}
