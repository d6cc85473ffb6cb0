// What the component asks of its contract, SecretSharing.sol, and tells it: selectors, words of 32 bytes, and lists behind offsets.
import { fail, readContract, transact } from './host'

const ENGINES: u32 = 0xcc6497a3
const SHARING: u32 = 0x8bbdedea
const DELETION_QUEUE: u32 = 0x689ad49f
const REGISTER_SHARED: u32 = 0x5d83e926
const REGISTER_ALL_SHARED: u32 = 0x7484eb02
const AWAITED: u32 = 0xaa9f1194
const REGISTER_DELETED: u32 = 0x64d3e959

const WORD: i32 = 32
const ID: i32 = 16

/** Sixteen bytes, big-endian. */
export type Id = Uint8Array

export class Sharing {
  constructor(
    public owner: Uint8Array,
    private answer: Uint8Array,
  ) {}

  /** Null where there are fewer engines. */
  commitment(index: i32): Uint8Array | null {
    const list = listAt(this.answer, 2)
    return index < list.length / WORD ? word(list, index) : null
  }

  uploaded(index: i32): bool {
    const list = listAt(this.answer, 3)
    return index < list.length / WORD && number(list, index) != 0
  }

  /** In milliseconds. */
  get downloadDeadline(): u64 {
    return number(this.answer, 4) * 1000
  }

  get deleting(): bool {
    return number(this.answer, 5) != 0
  }
}

/** Null when there is no such sharing at this block. */
export function sharingOf(id: Id): Sharing | null {
  const answer = readContract(callData(SHARING, id))
  const owner = address(answer, 0)
  for (let i = 0; i < owner.length; i++) if (owner[i] != 0) return new Sharing(owner, answer)
  return null
}

export function ownIndex(engine: Uint8Array): i32 {
  const answer = readContract(callData(ENGINES, null))
  const items = behindLength(answer, 0)
  const length = lengthAt(answer, 0)
  for (let i = 0; i < length; i++) if (equal(address(pointed(items, i), 0), engine)) return i
  fail('this engine is none of those that the contract names')
  return -1
}

export function deletionQueue(): Id[] {
  const list = listAt(readContract(callData(DELETION_QUEUE, null)), 0)
  const ids = new Array<Id>()
  for (let i = 0; i < list.length / WORD; i++) ids.push(word(list, i).subarray(16))
  return ids
}

/** Ids one after another, at least one; in one transaction, in which none keeps the others waiting. */
export function registerShared(ids: Uint8Array, contract: Uint8Array): void {
  const single = ids.length == ID
  transact(contract, single ? callData(REGISTER_SHARED, ids) : listCallData(REGISTER_ALL_SHARED, -1, ids))
}

/** For which of them the contract waits to hear from the engine in that place, one after another. */
export function awaited(index: i32, ids: Uint8Array): Uint8Array {
  const list = listAt(readContract(listCallData(AWAITED, index, ids)), 0)
  const found = new Uint8Array((list.length / WORD) * ID)
  for (let i = 0; i < list.length / WORD; i++) found.set(word(list, i).subarray(WORD - ID), i * ID)
  return found
}

export function registerDeleted(id: Id, contract: Uint8Array): void {
  transact(contract, callData(REGISTER_DELETED, id))
}

function callData(selector: u32, id: Id | null): Uint8Array {
  const data = new Uint8Array(id ? 4 + WORD : 4)
  store<u32>(data.dataStart, bswap(selector))
  if (id) data.set(<Uint8Array>id, 4 + WORD - id.length)
  return data
}

/** A number, unless it is negative, and a list of ids. */
function listCallData(selector: u32, first: i32, ids: Uint8Array): Uint8Array {
  const count = ids.length / ID
  const heads = first < 0 ? 1 : 2
  const data = new Uint8Array(4 + (heads + 1 + count) * WORD)
  store<u32>(data.dataStart, bswap(selector))
  let at = 4
  if (first >= 0) at = putNumber(data, at, first)
  at = putNumber(data, at, heads * WORD)
  at = putNumber(data, at, count)
  for (let i = 0; i < count; i++) data.set(ids.subarray(i * ID, (i + 1) * ID), at + (i + 1) * WORD - ID)
  return data
}

function putNumber(data: Uint8Array, at: i32, value: i32): i32 {
  store<u32>(data.dataStart + <usize>(at + WORD - 4), bswap(<u32>value))
  return at + WORD
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

function pointed(answer: Uint8Array, at: i32): Uint8Array {
  const offset = number(answer, at)
  if (offset > <u64>answer.length) fail('the contract answered less than it should')
  return answer.subarray(<i32>offset)
}

function lengthAt(answer: Uint8Array, at: i32): i32 {
  const there = pointed(answer, at)
  const length = number(there, 0)
  if (length > <u64>(there.length / WORD - 1)) fail('the contract answered less than it should')
  return <i32>length
}

/** The items of a list of words. */
function listAt(answer: Uint8Array, at: i32): Uint8Array {
  return behindLength(answer, at).subarray(0, lengthAt(answer, at) * WORD)
}

function behindLength(answer: Uint8Array, at: i32): Uint8Array {
  return pointed(answer, at).subarray(WORD)
}

function compare(one: Uint8Array, other: Uint8Array): bool {
  for (let i = 0; i < one.length; i++) if (one[i] != other[i]) return false
  return true
}

export function equal(one: Uint8Array, other: Uint8Array): bool {
  return one.length == other.length && compare(one, other)
}
