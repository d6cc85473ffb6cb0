/**
 * The ABI of Solidity contracts, as far as components need it to ask their contract and to write to it. Small on
 * purpose: it runs in the sandbox, and knows no types. Selectors are written out where they are used; the tests hold
 * them against the compiler.
 */
import { concat, fromHex, toHex } from './bytes.ts'

const WORD = 32

/** An argument: a word that stands where it is, or something longer, to which a word points. */
export type Value = Uint8Array | { readonly tail: Uint8Array }

/** Encodes a call of a contract: `selector` in hexadecimal, and the arguments. */
export function callData(selector: string, ...values: readonly Value[]): Uint8Array {
  return concat([fromHex(selector), tuple(values)])
}

export function uint(value: bigint | number): Uint8Array {
  return fromHex(
    BigInt(value)
      .toString(16)
      .padStart(2 * WORD, '0'),
  )
}

/**
 * Encodes an address. Components have addresses as 42 hexadecimal characters, of which the first two are no part of an
 * EVM's.
 */
export function account(address: string): Uint8Array {
  return fromHex(address.slice(-40).padStart(2 * WORD, '0'))
}

export function byteString(bytes: Uint8Array): Value {
  const padded = new Uint8Array(Math.ceil(bytes.length / WORD) * WORD)
  padded.set(bytes)
  return { tail: concat([uint(bytes.length), padded]) }
}

export function list(items: readonly Value[]): Value {
  return { tail: concat([uint(items.length), tuple(items)]) }
}

function tuple(values: readonly Value[]): Uint8Array {
  const heads: Uint8Array[] = []
  const tails: Uint8Array[] = []
  let at = values.length * WORD
  for (const value of values) {
    if (value instanceof Uint8Array) {
      heads.push(value)
      continue
    }
    heads.push(uint(at))
    tails.push(value.tail)
    at += value.tail.length
  }
  return concat([...heads, ...tails])
}

/**
 * An answer of a contract, or a part of one: values by their place. Each function throws where the answer is too short.
 */
export interface Answer {
  readonly uint: (at: number) => bigint
  readonly number: (at: number) => number
  readonly flag: (at: number) => boolean
  /** Reads an address, 42 hexadecimal characters in lower case. */
  readonly address: (at: number) => string
  readonly word: (at: number) => Uint8Array
  readonly bytes: (at: number) => Uint8Array
  readonly text: (at: number) => string
  /** Reads a tuple that has a member without a fixed length. */
  readonly tuple: (at: number) => Answer
  readonly list: <T>(at: number, read: (items: Answer, at: number) => T) => T[]
}

export function answer(bytes: Uint8Array): Answer {
  const word = (at: number): Uint8Array => part(bytes, at * WORD, WORD)
  const number = (at: number): number => {
    const value = toBigInt(word(at))
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new Error('the contract answered a number that is too large')
    return Number(value)
  }
  const pointed = (at: number): Uint8Array => part(bytes, number(at))
  const self: Answer = {
    uint: (at) => toBigInt(word(at)),
    number,
    flag: (at) => number(at) !== 0,
    address: (at) => `00${toHex(word(at).subarray(12))}`,
    word,
    bytes: (at) => {
      const there = pointed(at)
      return part(there, WORD, answer(there).number(0))
    },
    text: (at) => new TextDecoder().decode(self.bytes(at)),
    tuple: (at) => answer(pointed(at)),
    list: (at, read) => {
      const there = pointed(at)
      const length = answer(there).number(0)
      const items = part(there, WORD)
      if (length > items.length / WORD) throw new Error('the contract answered a list that is longer than its answer')
      return Array.from({ length }, (_, index) => read(answer(items), index))
    },
  }
  return self
}

function part(bytes: Uint8Array, from: number, length = bytes.length - from): Uint8Array {
  if (from + length > bytes.length || length < 0) throw new Error('the contract answered less than it should')
  return bytes.subarray(from, from + length)
}

function toBigInt(bytes: Uint8Array): bigint {
  return BigInt(`0x${toHex(bytes)}`)
}
