/** Reads, writes and compares values of the JSON-RPC of EVM chains: quantities and data, in hexadecimal after `0x`. */
import { bytesToHex, hexToBytes } from '@noble/hashes/utils.js'
import { MalformedError, malformed } from '../../codec/malformed.ts'
import { type Address, parseAddress } from '../../offchain/address.ts'

/** The most bytes of data in one value. The contracts that an engine serves answer with less. */
const MAX_DATA_BYTES = 4 * 1024 * 1024

/** The error for data that is longer. */
export class DataTooLargeError extends MalformedError {}

/** Writes a number as a quantity. */
export function writeQuantity(value: number | bigint): `0x${string}` {
  return `0x${value.toString(16)}`
}

/** Writes bytes as data. */
export function writeData(bytes: Uint8Array): `0x${string}` {
  return `0x${bytesToHex(bytes)}`
}

/**
 * Reads a quantity. Leading zeros are accepted, because some nodes write them. This and all readers in this file throw
 * a MalformedError.
 */
export function readQuantity(value: unknown): bigint {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{1,64}$/i.test(value)) return malformed('it is not a quantity')
  return BigInt(value)
}

/** Reads a quantity that is a safe integer. */
export function readNumber(value: unknown): number {
  const number = Number(readQuantity(value))
  return Number.isSafeInteger(number) ? number : malformed('a number is out of range')
}

/** Reads data of at most {@link MAX_DATA_BYTES}. */
export function readData(value: unknown): Uint8Array {
  if (typeof value !== 'string' || !value.startsWith('0x') || value.length % 2 !== 0) return malformed('it is not data')
  if (value.length - 2 > 2 * MAX_DATA_BYTES) throw new DataTooLargeError(`it is larger than ${MAX_DATA_BYTES} bytes`)
  if (!/^[0-9a-f]*$/i.test(value.slice(2))) return malformed('it is not data')
  return hexToBytes(value.slice(2))
}

/** Reads 32 bytes, in lower case. */
export function readHash(value: unknown): string {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{64}$/i.test(value)) return malformed('it is not a hash')
  return value.toLowerCase()
}

/** Reads an address of 20 bytes. */
export function readEvmAddress(value: unknown): Address {
  if (typeof value !== 'string' || !/^0x[0-9a-f]{40}$/i.test(value)) return malformed('it is not an address')
  return parseAddress(value)
}

/** Returns the lesser of two quantities. */
export function minimum(one: bigint, other: bigint): bigint {
  return one < other ? one : other
}
