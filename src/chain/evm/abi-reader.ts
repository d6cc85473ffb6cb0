/**
 * Reads the answers of contracts, which are encoded by the Contract ABI Specification. Anybody can write a contract,
 * and several offsets may point to the same bytes; the caller therefore limits the size of every text and array.
 */
import { bytesToHex } from '@noble/hashes/utils.js'
import { malformed } from '../../codec/malformed.ts'
import { utf8Text } from '../../codec/utf8.ts'
import { type Address, addressOf } from '../../offchain/address.ts'

const WORD = 32
const ADDRESS_OFFSET = 12

export interface AbiReader {
  /**
   * Reads the word at `index`, counted in words. This and the other functions throw a MalformedError when the bytes end
   * before, or do not hold such a value.
   */
  readonly word: (index: number) => Uint8Array
  readonly number: (index: number) => number
  readonly address: (index: number) => Address
  /** Reads the text at the offset that the word at `index` holds. Throws when it has more than `maxBytes`. */
  readonly text: (index: number, maxBytes: number) => string
  /** Makes a reader at the offset that the word at `index` holds. */
  readonly at: (index: number) => AbiReader
  /**
   * Reads the dynamic array at the offset that the word at `index` holds: its length, and a reader of its elements.
   * Throws when it has more than `most` elements.
   */
  readonly array: (index: number, most: number) => { readonly length: number; readonly elements: AbiReader }
}

/** Makes a reader of bytes in the ABI encoding. */
export function createAbiReader(bytes: Uint8Array): AbiReader {
  const word = (index: number): Uint8Array => {
    const start = index * WORD
    if (start + WORD > bytes.length) return malformed('it ends too early')
    return bytes.subarray(start, start + WORD)
  }
  const number = (index: number): number => {
    const value = BigInt(`0x${bytesToHex(word(index))}`)
    return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : malformed('a number is out of range')
  }
  const sliceAt = (index: number): Uint8Array => {
    const start = number(index)
    return start <= bytes.length ? bytes.subarray(start) : malformed('an offset points past the end')
  }
  return {
    word,
    number,
    address: (index) => {
      const paddedAddress = word(index)
      if (paddedAddress.subarray(0, ADDRESS_OFFSET).some((byte) => byte !== 0))
        return malformed('an address is too long')
      return addressOf(paddedAddress.subarray(ADDRESS_OFFSET - 1))
    },
    text: (index, maxBytes) => {
      const rest = sliceAt(index)
      const length = createAbiReader(rest).number(0)
      if (length > maxBytes) return malformed(`a text is longer than ${maxBytes} bytes`)
      if (WORD + length > rest.length) return malformed('it ends too early')
      return utf8Text(rest.subarray(WORD, WORD + length))
    },
    at: (index) => createAbiReader(sliceAt(index)),
    array: (index, most) => {
      const rest = sliceAt(index)
      const length = createAbiReader(rest).number(0)
      if (length > most) return malformed(`a list has more than ${most} elements`)
      return { length, elements: createAbiReader(rest.subarray(WORD)) }
    },
  }
}
