// What the component asks of its contract, SecretSharing.sol, and tells it: selectors, words of 32 bytes, and lists behind offsets.
import { fail, readContract, transact } from './host'

const SHARE: u32 = 0x7d93b1fe
const REGISTER_ALL_SHARED: u32 = 0x004af68f
const AWAITED: u32 = 0xc11623cc
const TO_DELETE: u32 = 0x9dd06ceb
const REGISTER_ALL_DELETED: u32 = 0xa9b637b0

const WORD: i32 = 32
/** Bytes of a ticket: by it the contract knows which registration of an id is meant. Several stand one after another. */
export const TICKET: i32 = 32
/** Bytes of an id, with which a ticket ends. */
export const ID: i32 = 16

/** Sixteen bytes, big-endian. */
export type Id = Uint8Array

/** As far as one engine is concerned. */
export class Sharing {
  constructor(
    public owner: Uint8Array,
    private answer: Uint8Array,
  ) {}

  get commitment(): Uint8Array {
    return word(this.answer, 1)
  }

  get uploaded(): bool {
    return number(this.answer, 2) != 0
  }

  /** In milliseconds. */
  get downloadDeadline(): u64 {
    return number(this.answer, 3) * 1000
  }

  get deleting(): bool {
    return number(this.answer, 4) != 0
  }

  get ticket(): Uint8Array {
    return word(this.answer, 5)
  }
}

/** Null when there is no such sharing at this block. */
export function sharingOf(id: Id, engine: Uint8Array): Sharing | null {
  const data = new Uint8Array(4 + 2 * WORD)
  store<u32>(data.dataStart, bswap(SHARE))
  data.set(id, 4 + WORD - ID)
  putAddress(data, 4 + WORD, engine)
  const answer = readContract(data)
  const owner = address(answer, 0)
  for (let i = 0; i < owner.length; i++) if (owner[i] != 0) return new Sharing(owner, answer)
  return null
}

/** That the engine holds these shares, in one transaction, in which none keeps the others waiting; of no shares nothing. */
export function registerShared(tickets: Uint8Array, contract: Uint8Array): void {
  if (tickets.length > 0) transact(contract, listCallData(REGISTER_ALL_SHARED, null, tickets))
}

/** For which of them the contract waits to hear from the engine. */
export function awaited(engine: Uint8Array, tickets: Uint8Array): Uint8Array {
  return words(readContract(listCallData(AWAITED, engine, tickets)))
}

/** Shares that the engine is still to delete, and the place behind them in the list of the contract. */
export class Deletions {
  constructor(private answer: Uint8Array) {}

  get tickets(): Uint8Array {
    return words(this.answer)
  }

  get next(): u64 {
    return number(this.answer, 1)
  }
}

/** So many at most, from a place on. */
export function toDelete(engine: Uint8Array, from: u64, most: i32): Deletions {
  const data = new Uint8Array(4 + 3 * WORD)
  store<u32>(data.dataStart, bswap(TO_DELETE))
  putAddress(data, 4, engine)
  store<u64>(data.dataStart + <usize>(4 + 2 * WORD - 8), bswap(from))
  putNumber(data, 4 + 2 * WORD, most)
  return new Deletions(readContract(data))
}

/** That the engine has deleted these shares: as registerShared. */
export function registerDeleted(tickets: Uint8Array, contract: Uint8Array): void {
  if (tickets.length > 0) transact(contract, listCallData(REGISTER_ALL_DELETED, null, tickets))
}

/** An engine, unless it is null, and tickets. */
function listCallData(selector: u32, engine: Uint8Array | null, tickets: Uint8Array): Uint8Array {
  const heads = engine ? 2 : 1
  const data = new Uint8Array(4 + (heads + 1) * WORD + tickets.length)
  store<u32>(data.dataStart, bswap(selector))
  if (engine) putAddress(data, 4, <Uint8Array>engine)
  const at = 4 + heads * WORD
  putNumber(data, at - WORD, heads * WORD)
  putNumber(data, at, tickets.length / TICKET)
  data.set(tickets, at + WORD)
  return data
}

function putNumber(data: Uint8Array, at: i32, value: i32): void {
  store<u32>(data.dataStart + <usize>(at + WORD - 4), bswap(<u32>value))
}

/** Of the 21 bytes of an address, the first is no part of it on such a chain. */
function putAddress(data: Uint8Array, at: i32, address: Uint8Array): void {
  data.set(address.subarray(1), at + WORD - 20)
}

function word(answer: Uint8Array, at: i32): Uint8Array {
  if (at < 0 || (at + 1) * WORD > answer.length) fail('the contract answered less than it should')
  return answer.subarray(at * WORD, (at + 1) * WORD)
}

/** Of a word whose first 24 bytes are zero. */
function number(answer: Uint8Array, at: i32): u64 {
  const bytes = word(answer, at)
  for (let i = 0; i < 24; i++) if (bytes[i] != 0) fail('the contract answered a number that is too large')
  return bswap(load<u64>(bytes.dataStart + 24))
}

function address(answer: Uint8Array, at: i32): Uint8Array {
  const address = new Uint8Array(21)
  address.set(word(answer, at).subarray(12), 1)
  return address
}

/** The items of a list of words, which is all that was answered. */
function words(answer: Uint8Array): Uint8Array {
  const offset = number(answer, 0)
  if (offset > <u64>answer.length) fail('the contract answered less than it should')
  const list = answer.subarray(<i32>offset)
  const length = number(list, 0)
  if (length > <u64>(list.length / WORD - 1)) fail('the contract answered less than it should')
  return list.subarray(WORD, (<i32>length + 1) * WORD)
}

export function equal(one: Uint8Array, other: Uint8Array): bool {
  if (one.length != other.length) return false
  for (let i = 0; i < one.length; i++) if (one[i] != other[i]) return false
  return true
}
