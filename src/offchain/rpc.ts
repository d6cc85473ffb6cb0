/**
 * The RPC format of off-chain components: big-endian numbers, sequences with a length of 32 bits before them, and an
 * option with a byte before it. Contexts, requests, responses and the operands of host calls are written in it. It
 * runs on both sides of the sandbox, and so knows nothing of Node.
 */
import { malformed } from '../codec/malformed.ts'
import { utf8Text } from '../codec/utf8.ts'

/** A writer that appends to a growing buffer. */
export interface Writer {
  readonly u8: (value: number) => Writer
  readonly u32: (value: number) => Writer
  readonly i32: (value: number) => Writer
  readonly u64: (value: bigint) => Writer
  readonly i64: (value: bigint) => Writer
  /** Writes the bytes as they are, without a length. */
  readonly raw: (bytes: Uint8Array) => Writer
  /** Writes the bytes with their length before them. */
  readonly bytes: (bytes: Uint8Array) => Writer
  readonly text: (text: string) => Writer
  readonly list: <T>(items: readonly T[], write: (item: T, to: Writer) => void) => Writer
  readonly option: <T>(value: T | undefined, write: (value: T, to: Writer) => void) => Writer
  readonly done: () => Uint8Array
}

/** A reader from the front of a buffer. Each function throws a MalformedError when too few bytes are left. */
export interface Reader {
  readonly u8: () => number
  readonly u32: () => number
  readonly i32: () => number
  readonly u64: () => bigint
  readonly i64: () => bigint
  readonly raw: (length: number) => Uint8Array
  readonly bytes: () => Uint8Array
  readonly text: () => string
  readonly list: <T>(read: (from: Reader) => T) => T[]
  readonly option: <T>(read: (from: Reader) => T) => T | undefined
  /** Returns the bytes that are left. */
  readonly rest: () => Uint8Array
  /** Throws a MalformedError when anything is left. */
  readonly end: () => void
}

export function writer(): Writer {
  const { place, append, done } = growing()
  const written = (write: () => void): Writer => {
    write()
    return self
  }
  const self: Writer = {
    u8: (value) => written(() => place(1, (view, at) => view.setUint8(at, value))),
    u32: (value) => written(() => place(4, (view, at) => view.setUint32(at, value))),
    i32: (value) => written(() => place(4, (view, at) => view.setInt32(at, value))),
    u64: (value) => written(() => place(8, (view, at) => view.setBigUint64(at, value))),
    i64: (value) => written(() => place(8, (view, at) => view.setBigInt64(at, value))),
    raw: (bytes) => written(() => append(bytes)),
    bytes: (bytes) => self.u32(bytes.length).raw(bytes),
    text: (text) => self.bytes(encoder.encode(text)),
    list: (items, write) => {
      self.u32(items.length)
      for (const item of items) write(item, self)
      return self
    },
    option: (value, write) => {
      self.u8(value === undefined ? 0 : 1)
      if (value !== undefined) write(value, self)
      return self
    },
    done,
  }
  return self
}

function growing() {
  let buffer = new Uint8Array(256)
  let view = new DataView(buffer.buffer)
  let length = 0
  /** Where so many more bytes go. */
  const reserve = (more: number): number => {
    const at = length
    length += more
    if (length > buffer.length) {
      const grown = new Uint8Array(Math.max(buffer.length * 2, length))
      grown.set(buffer.subarray(0, at))
      buffer = grown
      view = new DataView(buffer.buffer)
    }
    return at
  }
  const place = (bytes: number, write: (view: DataView, at: number) => void): void => {
    const at = reserve(bytes)
    write(view, at)
  }
  const append = (bytes: Uint8Array): void => {
    const at = reserve(bytes.length)
    buffer.set(bytes, at)
  }
  return { place, append, done: () => buffer.slice(0, length) }
}

export function reader(input: Uint8Array): Reader {
  let at = 0
  const take = (length: number): number => {
    if (length > input.length - at) malformed(`it ends ${length - (input.length - at)} bytes too early`)
    at += length
    return at - length
  }
  const view = new DataView(input.buffer, input.byteOffset, input.length)
  const self: Reader = {
    u8: () => view.getUint8(take(1)),
    u32: () => view.getUint32(take(4)),
    i32: () => view.getInt32(take(4)),
    u64: () => view.getBigUint64(take(8)),
    i64: () => view.getBigInt64(take(8)),
    raw: (length) => {
      const start = take(length)
      return input.subarray(start, start + length)
    },
    bytes: () => self.raw(self.u32()),
    text: () => utf8Text(self.bytes()),
    list: (read) => {
      const count = self.u32()
      // Each item takes at least a byte: what announces more than there is does not make us try.
      if (count > input.length - at) malformed('a sequence is longer than what is left')
      return Array.from({ length: count }, () => read(self))
    },
    option: (read) => {
      const there = self.u8()
      if (there > 1) malformed('an option begins with neither 0 nor 1')
      return there === 1 ? read(self) : undefined
    },
    rest: () => self.raw(input.length - at),
    end: () => {
      if (at !== input.length) malformed(`${input.length - at} bytes are left over`)
    },
  }
  return self
}

const encoder = new TextEncoder()
