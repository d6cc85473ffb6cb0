/**
 * QuickJS in WebAssembly, by the functions that `quickjs.wasm` of quickjs-wasi exports. Values are pointers to boxes in
 * its memory. Memory that is allocated for an operation is freed after it. Other memory is not freed, since
 * `javascript.ts` restores the whole memory after each call.
 */
import { isUtf8 } from 'node:buffer'
import { ComponentError } from './runtime.ts'

/** The exported functions of QuickJS that this code calls. All take and return numbers. */
type QuickJsExports = Readonly<Record<FunctionName, (...args: number[]) => number>> & {
  readonly memory: WebAssembly.Memory
  readonly __stack_pointer: WebAssembly.Global
}

type FunctionName =
  | '_initialize'
  | 'wasm_malloc'
  | 'wasm_free'
  | `qjs_${
      | 'init'
      | 'eval'
      | 'call'
      | 'new_string'
      | 'new_number'
      | 'new_uint8_array'
      | 'new_host_function'
      | 'get_global'
      | 'get_prop_string'
      | 'set_prop_string'
      | 'get_undefined'
      | 'get_bool'
      | 'get_float64'
      | 'get_string_len'
      | 'is_exception'
      | 'is_string'
      | 'get_exception'
      | 'free_value'
      | 'free_cstring'
      | 'get_typed_array_buffer'
      | 'get_array_buffer'
      | 'set_memory_limit'
      | 'set_max_stack_size'}`

/** The functions that QuickJS calls. An exception of one ends the call, without running any handler of the script. */
export interface QuickJsHost {
  /**
   * Runs the host function of that name (`hosted`, `encode` or `decode`). Returns a box, or undefined for the value
   * `undefined`.
   */
  readonly call: (name: string, machine: QuickJs, args: readonly number[]) => number | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
}

export interface QuickJs {
  readonly exports: QuickJsExports
  readonly bytes: () => Uint8Array
  /** Copies the bytes of a Uint8Array. Throws when the value is not one. */
  readonly bytesOf: (box: number) => Uint8Array
  readonly textOf: (box: number) => string
  readonly allocateBytes: (bytes: Uint8Array) => number
  readonly allocateText: (utf8: Uint8Array) => number
  /** Writes the bytes and a zero byte to new memory, and returns the pointer. The caller does not free it. */
  readonly write: (bytes: Uint8Array) => number
}

/** Makes a QuickJS instance. The caller must call its `_initialize`. */
export function instantiate(module: WebAssembly.Module, host: QuickJsHost): QuickJs {
  const holder: { machine?: QuickJs } = {}
  const getMachine = (): QuickJs => holder.machine ?? refuseScript('the script called its host before it was loaded')
  const viewMemory = (): DataView => new DataView(getMachine().exports.memory.buffer)
  const instance = new WebAssembly.Instance(module, {
    env: {
      host_call: (...[name = 0, length = 0, , count = 0, list = 0]: number[]) => {
        const { exports, bytes } = getMachine()
        const args = Array.from({ length: count }, (_, at) => viewMemory().getUint32(list + 4 * at, true))
        const functionName = Buffer.from(bytes().subarray(name, name + length)).toString('latin1')
        return host.call(functionName, getMachine(), args) ?? exports.qjs_get_undefined()
      },
      host_interrupt: () => 0,
      host_promise_rejection: () => undefined,
      host_module_normalize: () => 0,
      host_module_load: () => 0,
      host_get_timezone_offset: () => 0,
    },
    wasi_snapshot_preview1: {
      clock_time_get: (_clock: number, _precision: bigint, to: number) => {
        viewMemory().setBigUint64(to, BigInt(host.now()) * 1_000_000n, true)
        return 0
      },
      fd_close: () => BAD_FILE,
      fd_fdstat_get: () => BAD_FILE,
      fd_seek: () => BAD_FILE,
      fd_write: () => BAD_FILE,
      random_get: () => 0,
    },
  })
  holder.machine = wrapExports(instance.exports as unknown as QuickJsExports)
  return holder.machine
}

/** The WASI error code of a bad file descriptor: components have no files. */
const BAD_FILE = 8

function wrapExports(exports: QuickJsExports): QuickJs {
  const bytes = (): Uint8Array => new Uint8Array(exports.memory.buffer)
  const allocate = (length: number): number => exports.wasm_malloc(length) || refuseScript('no memory is left')
  const write = (content: Uint8Array): number => {
    const at = allocate(content.length + 1)
    bytes().set(content, at)
    bytes()[at + content.length] = 0
    return at
  }
  /** Writes the bytes to memory, calls `make` with their position, and frees the memory. */
  const makeBox = (content: Uint8Array, make: (at: number, length: number) => number): number => {
    const at = write(content)
    const box = make(at, content.length)
    exports.wasm_free(at)
    return box
  }
  return {
    exports,
    bytes,
    write,
    allocateBytes: (content) => makeBox(content, exports.qjs_new_uint8_array),
    allocateText: (utf8) => makeBox(utf8, exports.qjs_new_string),
    ...createReaders(exports, bytes, allocate),
  }
}

function createReaders(
  exports: QuickJsExports,
  bytes: () => Uint8Array,
  allocate: (length: number) => number,
): Pick<QuickJs, 'bytesOf' | 'textOf'> {
  const readU32 = (at: number): number => new DataView(exports.memory.buffer).getUint32(at, true)
  return {
    bytesOf: (box) => {
      const at = allocate(12)
      const buffer = exports.qjs_get_typed_array_buffer(box, at, at + 4, at + 8)
      if (exports.qjs_is_exception(buffer) !== 0 || readU32(at + 8) !== 1) refuseScript('this is not a Uint8Array')
      const start = exports.qjs_get_array_buffer(buffer, at + 8) + readU32(at)
      const copy = bytes().slice(start, start + readU32(at + 4))
      exports.qjs_free_value(buffer)
      exports.wasm_free(at)
      return copy
    },
    textOf: (box) => {
      const length = allocate(4)
      const start = exports.qjs_get_string_len(box, length)
      const text = start === 0 ? '' : decodeText(bytes().slice(start, start + readU32(length)))
      if (start !== 0) exports.qjs_free_cstring(start)
      exports.wasm_free(length)
      return text
    },
  }
}

/**
 * Decodes a text of QuickJS. QuickJS encodes a lone surrogate as three bytes that are not UTF-8; each becomes one
 * replacement character.
 */
function decodeText(bytes: Uint8Array): string {
  if (!isUtf8(bytes)) {
    for (let at = bytes.indexOf(0xed); at >= 0; at = bytes.indexOf(0xed, at + 1)) {
      if ((bytes[at + 1] ?? 0) >= 0xa0) bytes.set(REPLACEMENT, at)
    }
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8')
}

const REPLACEMENT = [0xef, 0xbf, 0xbd]

/** Runs the host function `encode` or `decode`. Returns undefined when `fatal` is set and the bytes are not UTF-8. */
export function runTextFunction(
  name: string,
  machine: QuickJs,
  [value = 0, fatal = 0]: readonly number[],
): number | undefined {
  if (name === 'encode') return machine.allocateBytes(Buffer.from(machine.textOf(value)))
  const bytes = machine.bytesOf(value)
  if (isUtf8(bytes)) return machine.allocateText(bytes)
  return machine.exports.qjs_get_bool(fatal) === 0
    ? machine.allocateText(Buffer.from(Buffer.from(bytes).toString('utf8')))
    : undefined
}

/** Evaluates a script in the global scope. Throws a ComponentError with the exception of the script. */
export function evaluate(machine: QuickJs, source: string, name: string): number {
  const { exports, write } = machine
  const text = Buffer.from(source)
  return refuseException(machine, exports.qjs_eval(write(text), text.length, write(Buffer.from(name)), 0))
}

/** Returns `box`. Throws a ComponentError with the message and the stack when the box is an exception. */
export function refuseException(machine: QuickJs, box: number): number {
  const { exports, textOf, write } = machine
  if (exports.qjs_is_exception(box) === 0) return box
  const exception = exports.qjs_get_exception()
  const stack = exports.qjs_get_prop_string(exception, write(Buffer.from('stack')))
  return refuseScript(`${textOf(exception)}${exports.qjs_is_string(stack) === 0 ? '' : `\n${textOf(stack)}`}`)
}

function refuseScript(message: string): never {
  throw new ComponentError(message)
}
