/**
 * Reads the binary format of WebAssembly, as far as an outline of a module needs it: types, imports, exports, memories
 * and tables. The compiler validates the rest. WebAssembly Core Specification, "Binary Format".
 */
import { ComponentError } from './runtime.ts'

/** Throws a ComponentError. `why` is a sentence about the module. */
export function refuseModule(why: string, options?: ErrorOptions): never {
  throw new ComponentError(why, options)
}

/** A reader of a part of a module, from front to back. Throws a ComponentError at the end of the part. */
export interface ModuleReader {
  readonly at: () => number
  readonly atEnd: () => boolean
  readonly byte: () => number
  /** Reads a LEB128 of at most five bytes, below 2^32. */
  readonly u32: () => number
  readonly skip: (length: number) => void
  readonly name: () => string
  /** Reads a count, and then as many items. Throws a ComponentError when there are more than `most`. */
  readonly vector: <T>(read: () => T, most?: number) => T[]
}

/**
 * The most items of a list: more than the modules of any compiler have, and few enough to be read quickly, since the
 * engine answers no requests meanwhile.
 */
const MAX_ITEMS = 50_000

/** Makes a reader of the bytes from `start` to `end`. Error messages call that part `what`. */
export function createModuleReader(bytes: Uint8Array, start: number, end: number, what: string): ModuleReader {
  let position = start
  const requireBytes = (length: number): void => {
    if (length > end - position) refuseModule(`The module is broken: ${what} ends too early.`)
  }
  const byte = (): number => {
    requireBytes(1)
    position += 1
    return bytes[position - 1] ?? 0
  }
  const skip = (length: number): void => {
    requireBytes(length)
    position += length
  }
  const u32 = (): number => {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const next = byte()
      if (shift === 28 && next > 0x0f) break
      value += (next & 0x7f) * 2 ** shift
      if (next < 0x80) return value
    }
    return refuseModule(`The module is broken: a number in ${what} is too long.`)
  }
  const name = (): string => {
    const length = u32()
    skip(length)
    return decodeName(bytes.subarray(position - length, position), what)
  }
  const vector = <T>(read: () => T, most = MAX_ITEMS): T[] => {
    const count = u32()
    if (count > most)
      refuseModule(`The module is too large: a list in ${what} has ${count} items, and ${most} are allowed.`)
    // Each item takes at least one byte, so a count that exceeds the remaining bytes is refused at once.
    requireBytes(count)
    return Array.from({ length: count }, read)
  }
  return { at: () => position, atEnd: () => position === end, byte, u32, skip, name, vector }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeName(bytes: Uint8Array, what: string): string {
  try {
    return utf8.decode(bytes)
  } catch (cause) {
    return refuseModule(`The module is broken: a name in ${what} is not UTF-8.`, { cause })
  }
}

/** Returns the LEB128 encoding of a number below 2^32. */
export function writeU32(value: number): number[] {
  const bytes: number[] = []
  let rest = value
  while (rest >= 0x80) {
    bytes.push((rest % 0x80) + 0x80)
    rest = Math.floor(rest / 0x80)
  }
  return [...bytes, rest]
}
