/** Reads the parameters of JSON-RPC methods of a local chain. All functions of this file throw a MalformedError. */
import { isObject, memberOf } from '../../codec/json.ts'
import { malformed } from '../../codec/malformed.ts'
import { evmAddress } from '../../offchain/address.ts'
import { readEvmAddress, readHash, readNumber, readQuantity } from '../evm/values.ts'
import type { Ledger, LedgerEntry } from './ledger.ts'

const NEWEST: readonly unknown[] = [undefined, null, 'latest', 'pending', 'safe', 'finalized']

/** Returns the block that a tag, a number or an object of EIP-1898 names; undefined when there is no such block. */
export function findEntry(ledger: Ledger, tag: unknown): LedgerEntry | undefined {
  if (NEWEST.includes(tag)) return ledger.entries.at(-1)
  if (tag === 'earliest') return ledger.entries[0]
  if (isObject(tag)) {
    const hash = memberOf(tag, 'blockHash')
    return hash === undefined ? findEntry(ledger, memberOf(tag, 'blockNumber')) : findByHash(ledger, hash)
  }
  return ledger.entries[readNumber(tag)]
}

/** Returns a block as {@link findEntry} does. Throws a MalformedError when there is no such block. */
export function requireEntry(ledger: Ledger, tag: unknown): LedgerEntry {
  return findEntry(ledger, tag) ?? malformed('there is no such block')
}

/** Returns the block with that hash; undefined when there is none. */
export function findByHash({ entries }: Ledger, value: unknown): LedgerEntry | undefined {
  const hash = readHash(value)
  return entries.findLast(({ block }) => block.hash === hash)
}

/** Reads an address as 0x and lower-case digits. */
export function readAddressText(value: unknown): string {
  return evmAddress(readEvmAddress(value))
}

/** Reads a storage slot as 64 hexadecimal characters. */
export function readSlotText(value: unknown): string {
  return readQuantity(value).toString(16).padStart(64, '0')
}
