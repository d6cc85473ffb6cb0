/**
 * The globals of a script beside ECMAScript: `hosted`, TextEncoder, TextDecoder, `console`, `crypto.getRandomValues`,
 * and a `Math.random` that is seeded anew in each call. The prelude runs inside QuickJS before the script. The two
 * functions that it defines for the engine are removed from the global scope before the script runs.
 */
import { operation } from '../offchain/hosted.ts'

export const PRELUDE = `(() => {
  'use strict'
  const { hosted, encode, decode } = globalThis
  let running = false
  const bytesOf = (input) => {
    if (input === undefined) return new Uint8Array(0)
    if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength)
    return new Uint8Array(input)
  }
  class TextEncoder {
    get encoding() { return 'utf-8' }
    encode(text = '') { return encode(String(text)) }
    encodeInto(text, into) {
      let read = 0
      let written = 0
      for (const character of String(text)) {
        const bytes = encode(character)
        if (written + bytes.length > into.length) break
        into.set(bytes, written)
        written += bytes.length
        read += character.length
      }
      return { read, written }
    }
  }
  class TextDecoder {
    constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
      if (!/^\\s*(utf-?8|unicode-1-1-utf-8)\\s*$/i.test(label)) throw new RangeError('There is no decoder but that of UTF-8')
      this.fatal = Boolean(fatal)
      this.ignoreBOM = Boolean(ignoreBOM)
    }
    get encoding() { return 'utf-8' }
    decode(input) {
      const text = decode(bytesOf(input), this.fatal)
      if (text === undefined) throw new TypeError('The bytes are not UTF-8')
      return !this.ignoreBOM && text.charCodeAt(0) === 0xfeff ? text.slice(1) : text
    }
  }
  const randomBytes = (length) => hosted(${operation.random}, Uint8Array.of(length >>> 24, length >>> 16, length >>> 8, length))
  let seed
  const random = () => {
    seed ??= new Uint32Array(randomBytes(16).buffer)
    let t = seed[3]
    const s = seed[0]
    seed[3] = seed[2]
    seed[2] = seed[1]
    seed[1] = s
    t ^= t << 11
    t ^= t >>> 8
    seed[0] = t ^ s ^ (s >>> 19)
    return seed[0] / 4294967296
  }
  const log = (...values) => {
    if (!running) return
    const text = encode(values.map((value) => (typeof value === 'object' ? JSON.stringify(value) : String(value))).join(' '))
    const operand = new Uint8Array(4 + text.length)
    new DataView(operand.buffer).setUint32(0, text.length)
    operand.set(text, 4)
    hosted(${operation.log}, operand)
  }
  const define = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true })
  define('TextEncoder', TextEncoder)
  define('TextDecoder', TextDecoder)
  define('console', { log, info: log, warn: log, error: log, debug: log })
  define('crypto', { getRandomValues: (array) => (bytesOf(array).set(randomBytes(array.byteLength)), array) })
  Object.defineProperty(Math, 'random', { value: random, writable: true, configurable: true })
  define('hosted', hosted)
  delete globalThis.encode
  delete globalThis.decode
  const described = (value) => {
    try {
      return String(typeof value === 'object' ? JSON.stringify(value) : String(value)).slice(0, 200)
    } catch {
      return 'a value that has no text'
    }
  }
  const shown = (hook, error) => error instanceof Error
    ? error.name + ': ' + error.message + '\\n' + error.stack
    : 'the hook ' + hook + ' threw ' + described(error) + ', which is not an Error; throw new Error(...) says where it was thrown'
  define('engineHooks', () => Object.keys(globalThis.offChain ?? {}).filter((name) => typeof offChain[name] === 'function').join(' '))
  define('engineRun', (hook, input, stateLength) => {
    if (typeof globalThis.offChain?.[hook] !== 'function') return 'the component has no ' + hook
    running = true
    try {
      const result = globalThis.offChain[hook](input, stateLength)
      return result instanceof Uint8Array ? result : 'the hook ' + hook + ' gave back no Uint8Array; hooks are not asynchronous'
    } catch (error) {
      return shown(hook, error)
    }
  })
})()`
