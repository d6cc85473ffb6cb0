/** What the component asks of its contract, SecretSharing.sol, and tells it. */

import type { Context } from 'vouchsafe/component'
import { account, answer, callData, uint, type Value } from '../abi.ts'
import { concat } from '../bytes.ts'

/** The first four bytes of the Keccak-256 of each signature. */
export const selectors = {
  'share(uint128,address)': '7d93b1fe',
  'registerAllShared(uint256[])': '004af68f',
  'awaited(address,uint256[])': 'c11623cc',
  'toDelete(address,uint256,uint256)': '9dd06ceb',
  'registerAllDeleted(uint256[])': 'a9b637b0',
} as const

/**
 * Bytes of a ticket: by it the contract knows which registration of an id is meant. Several stand one after another.
 */
export const TICKET = 32
/** Bytes of an id, with which a ticket ends. */
export const ID = 16

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
  readonly ticket: Uint8Array
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
    ticket: found.word(5),
  }
}

/**
 * That this engine holds these shares, in one transaction, in which none keeps the others waiting; of no shares
 * nothing.
 */
export function registerShared(tickets: Uint8Array, context: Context): void {
  if (tickets.length > 0) context.transact(callData(selectors['registerAllShared(uint256[])'], list(tickets)))
}

/** For which of them the contract waits to hear from this engine. */
export function awaited(tickets: Uint8Array, context: Context): Uint8Array {
  return ticketsOf(callData(selectors['awaited(address,uint256[])'], account(context.engine), list(tickets)), context)
}

/** The shares that this engine is still to delete, so many at most, from a place on; and the place behind them. */
export function toDelete(
  from: bigint,
  most: number,
  context: Context,
): { readonly tickets: Uint8Array; readonly next: bigint } {
  const asked = [account(context.engine), uint(from), uint(most)]
  const found = answer(context.read(callData(selectors['toDelete(address,uint256,uint256)'], ...asked)))
  return { tickets: concat(found.list(0, (items, at) => items.word(at))), next: found.uint(1) }
}

/** That this engine has deleted these shares: as {@link registerShared}. */
export function registerDeleted(tickets: Uint8Array, context: Context): void {
  if (tickets.length > 0) context.transact(callData(selectors['registerAllDeleted(uint256[])'], list(tickets)))
}

function list(tickets: Uint8Array): Value {
  return { tail: concat([uint(tickets.length / TICKET), tickets]) }
}

function ticketsOf(asked: Uint8Array, context: Context): Uint8Array {
  return concat(answer(context.read(asked)).list(0, (items, at) => items.word(at)))
}
