/** What the component asks of its contract, SecretSharing.sol, and tells it. */

import type { Context } from 'vouchsafe/component'
import { account, answer, callData, list, uint } from '../abi.ts'

/** The first four bytes of the Keccak-256 of each signature. */
export const selectors = {
  'share(uint128,address)': '7d93b1fe',
  'deletionQueue()': '689ad49f',
  'registerShared(uint128)': '5d83e926',
  'registerAllShared(uint128[])': '7484eb02',
  'awaited(address,uint128[])': '52214986',
  'registerDeleted(uint128)': '64d3e959',
} as const

/** As far as this engine is concerned. */
export interface Sharing {
  readonly owner: string
  /** SHA-256 of its share. */
  readonly commitment: Uint8Array
  /** Whether it holds its share, by what it told the contract. */
  readonly uploaded: boolean
  /** The last moment of the download window, in milliseconds since 1970; 0 when nobody asked for one. */
  readonly downloadDeadline: number
  readonly deleting: boolean
}

const NOBODY = '00'.repeat(21)

/** Undefined when there is no such sharing at this block. */
export function sharingOf(id: bigint, context: Context): Sharing | undefined {
  const asked = callData(selectors['share(uint128,address)'], uint(id), account(context.engine))
  const found = answer(context.read(asked))
  if (found.address(0) === NOBODY) return undefined
  return {
    owner: found.address(0),
    commitment: found.word(1),
    uploaded: found.flag(2),
    downloadDeadline: found.number(3) * 1000,
    deleting: found.flag(4),
  }
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

/** For which of them the contract waits to hear from this engine. */
export function awaited(ids: readonly Uint8Array[], context: Context): readonly Uint8Array[] {
  const asked = callData(selectors['awaited(address,uint128[])'], account(context.engine), list(ids.map(word)))
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
