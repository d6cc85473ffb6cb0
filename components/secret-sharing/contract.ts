/** The questions and transactions of the component to its contract, SecretSharing.sol. */

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
 * The bytes of a ticket, by which the contract knows which registration of an id is meant. Several stand one after
 * another.
 */
export const TICKET = 32
/** The bytes of an id, with which a ticket ends. */
export const ID = 16

/** The part of a sharing that concerns this engine. */
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

/** Reads a sharing; undefined when there is none of that id at this block. */
export function sharingOf(id: bigint, context: Context): Sharing | undefined {
  const data = callData(selectors['share(uint128,address)'], uint(id), account(context.engine))
  const values = answer(context.read(data))
  if (values.address(0) === NOBODY) return undefined
  return {
    owner: values.address(0),
    commitment: values.word(1),
    uploaded: values.flag(2),
    downloadDeadline: values.number(3) * 1000,
    deleting: values.flag(4),
    ticket: values.word(5),
  }
}

/**
 * Tells the contract that this engine holds these shares, in one transaction, in which none delays the others; of no
 * shares nothing.
 */
export function registerShared(tickets: Uint8Array, context: Context): void {
  if (tickets.length > 0) context.transact(callData(selectors['registerAllShared(uint256[])'], list(tickets)))
}

/** Returns those of `tickets` for which the contract waits to hear from this engine. */
export function awaited(tickets: Uint8Array, context: Context): Uint8Array {
  return ticketsOf(callData(selectors['awaited(address,uint256[])'], account(context.engine), list(tickets)), context)
}

/**
 * Reads the shares that this engine is still to delete, `most` at most, from the place `from` on; and the place behind
 * them.
 */
export function toDelete(
  from: bigint,
  most: number,
  context: Context,
): { readonly tickets: Uint8Array; readonly next: bigint } {
  const parameters = [account(context.engine), uint(from), uint(most)]
  const values = answer(context.read(callData(selectors['toDelete(address,uint256,uint256)'], ...parameters)))
  return { tickets: concat(values.list(0, (items, at) => items.word(at))), next: values.uint(1) }
}

/** Tells the contract that this engine has deleted these shares, as {@link registerShared} does. */
export function registerDeleted(tickets: Uint8Array, context: Context): void {
  if (tickets.length > 0) context.transact(callData(selectors['registerAllDeleted(uint256[])'], list(tickets)))
}

function list(tickets: Uint8Array): Value {
  return { tail: concat([uint(tickets.length / TICKET), tickets]) }
}

function ticketsOf(data: Uint8Array, context: Context): Uint8Array {
  return concat(answer(context.read(data)).list(0, (items, at) => items.word(at)))
}
