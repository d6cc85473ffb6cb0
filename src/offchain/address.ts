/**
 * Addresses of contracts and engines: 21 bytes, a type byte and 20 bytes of a hash; the type of an EVM address is `00`.
 * The text of an address has 42 hexadecimal digits in lower case, or `0x` and 40 of them where the chain is an EVM.
 */
import { malformed } from '../codec/malformed.ts'

/** An address of 42 hexadecimal characters in lower case: the form in which addresses are compared and stored. */
export type Address = string & { readonly __address?: never }

/**
 * Returns the address of a text in either case, of 21 bytes, or of 20 with or without `0x`. Throws a MalformedError
 * otherwise.
 */
export function parseAddress(text: string): Address {
  const [, short, long] = /^(?:(?:0x)?([0-9a-f]{40})|([0-9a-f]{42}))$/i.exec(text) ?? []
  return (long ?? (short === undefined ? malformed(`${text.slice(0, 60)} is no address`) : `00${short}`)).toLowerCase()
}

export function addressBytes(address: Address): Uint8Array {
  const bytes = new Uint8Array(address.length / 2)
  for (let at = 0; at < bytes.length; at += 1)
    bytes[at] = (digitAt(address, 2 * at) << 4) | digitAt(address, 2 * at + 1)
  return bytes
}

/** Returns the value of a hexadecimal digit in lower case, as all digits of an address are. */
function digitAt(text: string, at: number): number {
  const code = text.charCodeAt(at)
  return code > 57 ? code - 87 : code - 48
}

export function addressOf(bytes: Uint8Array): Address {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Returns the address as JSON-RPC of an EVM chain writes it. */
export function evmAddress(address: Address): `0x${string}` {
  return `0x${address.slice(2)}`
}
