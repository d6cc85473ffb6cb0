// The engine, as a module sees it: three imports, and the format of what goes through them. Numbers are big-endian.

// @ts-ignore: decorator
@external("offchain", "call")
declare function hostCall(operation: i32, ptr: usize, len: i32): i64
// @ts-ignore: decorator
@external("offchain", "result")
declare function hostResult(id: i32, to: usize): void
// @ts-ignore: decorator
@external("offchain", "exit")
declare function hostExit(ptr: usize, len: i32): void

const SEND_TRANSACTION: i32 = 0x10
const STORAGE_STORE: i32 = 0x20
const STORAGE_LOAD: i32 = 0x21
const CURRENT_TIME: i32 = 0x51
const TIMER_SCHEDULE: i32 = 0x64
const AUTHENTICATE: i32 = 0x80
const READ_CONTRACT: i32 = 0x81
const BLOCK: i32 = 0x83

const ADDRESS: i32 = 21

/** Ends the call as a trap, with a reason for the operator. */
export function fail(reason: string): void {
  const text = Uint8Array.wrap(String.UTF8.encode(reason))
  hostExit(text.dataStart, text.length)
  unreachable()
}

/** What the compiler calls where AssemblyScript throws. */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  fail((message ? message : 'abort') + (file ? ' in ' + file + ':' + line.toString() : ''))
}

/**
 * What the engine wrote behind the module's memory. Everything that is allocated from here on lies behind it too: the allocator
 * does not know that these pages are in use.
 */
export function input(ptr: usize, len: i32): Reader {
  const top = heap.alloc(1)
  if (top < ptr) heap.alloc(ptr + <usize>len - top)
  const bytes = new Uint8Array(len)
  memory.copy(bytes.dataStart, ptr, len)
  return new Reader(bytes)
}

/** A result of one section; none for an id of 0. */
export function output(id: u8, section: Uint8Array | null): i64 {
  const to = new Writer()
  if (section) {
    to.u32(5 + section.length)
    to.u8(id)
    to.bytes(section)
  } else {
    to.u32(0)
  }
  return <i64>to.done().dataStart
}

function ask(operation: i32, operands: Writer): Uint8Array | null {
  const bytes = operands.done()
  const packed = hostCall(operation, bytes.dataStart, bytes.length)
  if (packed == -1) return null
  const result = new Uint8Array(<i32>(packed & 0xffffffff))
  hostResult(<i32>(packed >> 32), result.dataStart)
  return result
}

function must(result: Uint8Array | null): Uint8Array {
  if (!result) fail('the engine answered nothing')
  return result as Uint8Array
}

export function transact(contract: Uint8Array, payload: Uint8Array): void {
  const to = new Writer()
  to.raw(contract)
  to.bytes(payload)
  to.u64(0)
  ask(SEND_TRANSACTION, to)
}

export function loadValue(bucket: string, key: Uint8Array): Uint8Array | null {
  const to = new Writer()
  to.text(bucket)
  to.bytes(key)
  return ask(STORAGE_LOAD, to)
}

/** Nothing deletes. */
export function storeValue(bucket: string, key: Uint8Array, value: Uint8Array | null): void {
  const to = new Writer()
  to.text(bucket)
  to.bytes(key)
  to.u8(value ? 1 : 0)
  if (value) to.bytes(value)
  ask(STORAGE_STORE, to)
}

export function now(): u64 {
  return new Reader(must(ask(CURRENT_TIME, new Writer()))).u64()
}

export function blockTime(): u64 {
  const block = new Reader(must(ask(BLOCK, new Writer())))
  block.bytes()
  block.u64()
  return block.u64()
}

export function schedule(timer: i32, delayMs: u64): void {
  const to = new Writer()
  to.u32(timer)
  to.u64(delayMs)
  to.u32(0)
  ask(TIMER_SCHEDULE, to)
}

export function isSignedBy(address: Uint8Array): bool {
  const to = new Writer()
  to.u32(1)
  to.raw(address)
  return ask(AUTHENTICATE, to) != null
}

export function readContract(call: Uint8Array): Uint8Array {
  const to = new Writer()
  to.bytes(call)
  return must(ask(READ_CONTRACT, to))
}

export class Reader {
  private at: i32 = 0

  constructor(private input: Uint8Array) {}

  u32(): u32 {
    return bswap(load<u32>(this.input.dataStart + <usize>this.take(4)))
  }

  u64(): u64 {
    return (<u64>this.u32() << 32) | <u64>this.u32()
  }

  address(): Uint8Array {
    return this.raw(ADDRESS)
  }

  raw(length: i32): Uint8Array {
    const from = this.take(length)
    return this.input.subarray(from, from + length)
  }

  bytes(): Uint8Array {
    return this.raw(<i32>this.u32())
  }

  text(): string {
    const bytes = this.bytes()
    return String.UTF8.decodeUnsafe(bytes.dataStart, bytes.length)
  }

  private take(length: i32): i32 {
    if (length < 0 || length > this.input.length - this.at) fail('the engine wrote less than it should')
    this.at += length
    return this.at - length
  }
}

export class Writer {
  private buffer: Uint8Array = new Uint8Array(256)
  private length: i32 = 0

  u8(value: u8): void {
    const at = this.reserve(1)
    this.buffer[at] = value
  }

  u32(value: u32): void {
    const at = this.reserve(4)
    store<u32>(this.buffer.dataStart + <usize>at, bswap(value))
  }

  u64(value: u64): void {
    this.u32(<u32>(value >> 32))
    this.u32(<u32>value)
  }

  raw(bytes: Uint8Array): void {
    const at = this.reserve(bytes.length)
    this.buffer.set(bytes, at)
  }

  bytes(bytes: Uint8Array): void {
    this.u32(bytes.length)
    this.raw(bytes)
  }

  text(text: string): void {
    this.bytes(Uint8Array.wrap(String.UTF8.encode(text)))
  }

  done(): Uint8Array {
    return this.buffer.subarray(0, this.length)
  }

  private reserve(more: i32): i32 {
    const at = this.length
    this.length += more
    if (this.length > this.buffer.length) {
      const grown = new Uint8Array(max(this.buffer.length * 2, this.length))
      grown.set(this.buffer)
      this.buffer = grown
    }
    return at
  }
}
