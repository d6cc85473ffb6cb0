/** What the component asks of its contract, SecretSharing.sol, and tells it. */

import type { Context } from 'vouchsafe/component'
import { answer, callData, list, uint } from '../abi.ts'

/** The first four bytes of the Keccak-256 of each signature. */
export const selectors = {
  'engines()': 'cc6497a3',
  'sharing(uint128)': '8bbdedea',
  'deletionQueue()': '689ad49f',
  'registerShared(uint128)': '5d83e926',
  'registerAllShared(uint128[])': '7484eb02',
  'awaited(uint256,uint128[])': 'aa9f1194',
  'registerDeleted(uint128)': '64d3e959',
} as const

export interface Sharing {
  readonly owner: string
  readonly commitments: readonly Uint8Array[]
  /** Which engines hold their share, by what they told the contract. */
  readonly uploaded: readonly boolean[]
  /** The last moment of the download window, in milliseconds since 1970; 0 when nobody asked for one. */
  readonly downloadDeadline: number
  readonly deleting: boolean
}

const NOBODY = '00'.repeat(21)

/** Undefined when there is no such sharing at this block. */
export function sharingOf(id: bigint, context: Context): Sharing | undefined {
  const found = answer(context.read(callData(selectors['sharing(uint128)'], uint(id))))
  if (found.address(0) === NOBODY) return undefined
  return {
    owner: found.address(0),
    commitments: found.list(2, (items, at) => items.word(at)),
    uploaded: found.list(3, (items, at) => items.flag(at)),
    downloadDeadline: found.number(4) * 1000,
    deleting: found.flag(5),
  }
}

/** Where this engine stands in the list of the contract. An engine that is not in it cannot run this component. */
export function ownIndex(context: Context): number {
  const found = answer(context.read(callData(selectors['engines()'])))
  const index = found.list(0, (items, at) => items.tuple(at).address(0)).indexOf(context.engine)
  if (index < 0) throw new Error('this engine is none of those that the contract names')
  return index
}

export function deletionQueue(context: Context): readonly bigint[] {
  return answer(context.read(callData(selectors['deletionQueue()']))).list(0, (items, at) => items.uint(at))
}

/** Of several in one transaction, in which none keeps the others waiting. Ids are 16 bytes each, at least one. */
export function registerShared(ids: readonly Uint8Array[], context: Context): void {
  const [first, ...others] = ids.map(word)
  if (first === undefined) return
  const single = others.length === 0
  context.transact(
    single
      ? callData(selectors['registerShared(uint128)'], first)
      : callData(selectors['registerAllShared(uint128[])'], list([first, ...others])),
  )
}

/** For which of them the contract waits to hear from the engine in that place. */
export function awaited(index: number, ids: readonly Uint8Array[], context: Context): readonly Uint8Array[] {
  const asked = callData(selectors['awaited(uint256,uint128[])'], uint(index), list(ids.map(word)))
  return answer(context.read(asked)).list(0, (items, at) => items.word(at).subarray(16))
}

function word(id: Uint8Array): Uint8Array {
  const padded = new Uint8Array(32)
  padded.set(id, 32 - id.length)
  return padded
}

export function registerDeleted(id: bigint, context: Context): void {
  context.transact(callData(selectors['registerDeleted(uint128)'], uint(id)))
}
