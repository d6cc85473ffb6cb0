/**
 * Core WebAssembly: an instance that is new for each call, input in pages that the engine adds to its memory, and a
 * result that it points at. A length or a pointer of the component is never used before it was compared with its
 * memory.
 */
import { avlImports, type Memory } from './avl.ts'
import type { Hosted } from './hosted.ts'
import { importTable } from './import-table.ts'
import type { Program } from './messages.ts'
import { PAGE } from './module.ts'
import { HEADERS_BYTES } from './result.ts'
import type { RuntimeLimits } from './runtime.ts'
import { overLimit, trap } from './trap.ts'

/** A module whose hooks can be called. */
export interface LoadedModule {
  /** Runs a hook and copies the sections of its result. Throws a Trap, or what WebAssembly throws. */
  readonly run: (call: { readonly hook: string; readonly input: Uint8Array }, hosted: Hosted) => Uint8Array
}

type Hook = (pointer: number, length: number) => bigint

/** A call with its instance. */
interface Running {
  readonly hosted: Hosted
  readonly results: Results
  /** Undefined while the start function runs. */
  memory?: WebAssembly.Memory
  /** The functions `pbc.avl_*`, once one of them is called. */
  maps?: Functions
}

export function loadWasmModule(program: Extract<Program, { kind: 'wasm' }>, limits: RuntimeLimits): LoadedModule {
  let running: Running | undefined
  const imports = importsOf(() => running ?? trap('no call runs'))
  return {
    run: ({ hook, input }, hosted) => {
      running = { hosted, results: heldResults() }
      try {
        const { exports } = new WebAssembly.Instance(program.module, imports)
        const ended = hosted.ended()
        // The start function has asked its engine, and caught what came of it.
        if (ended !== undefined) throw ended
        const memory = exports[program.memoryName] as WebAssembly.Memory
        running.memory = memory
        const pointer = writeInput(memory, input, limits)
        const result = (exports[hook] as Hook)(pointer, input.length)
        return sectionsAt(memory, Number(BigInt.asUintN(32, result)), limits)
      } finally {
        running = undefined
      }
    },
  }
}

function sectionsAt(memory: WebAssembly.Memory, start: number, limits: RuntimeLimits): Uint8Array {
  const { byteOffset } = inside(memory, start, 4)
  const length = new DataView(memory.buffer, byteOffset).getUint32(0)
  if (length > limits.responseBytes + HEADERS_BYTES) {
    overLimit('responseBytes', limits.responseBytes, `the result of the hook has ${length} bytes`)
  }
  return inside(memory, start + 4, length).slice()
}

/** Writes the input behind the memory that the instance began with, and gives its address. */
function writeInput(memory: WebAssembly.Memory, input: Uint8Array, limits: RuntimeLimits): number {
  const pointer = memory.buffer.byteLength
  try {
    memory.grow(Math.max(1, Math.ceil(input.length / PAGE)))
  } catch {
    return overLimit(
      'memoryBytes',
      limits.memoryBytes,
      `the component's memory has no room for its input of ${input.length} bytes`,
    )
  }
  new Uint8Array(memory.buffer).set(input, pointer)
  return pointer
}

function inside({ buffer }: WebAssembly.Memory, pointer: number, length: number): Uint8Array {
  const [start, size] = [pointer >>> 0, length >>> 0]
  if (start + size > buffer.byteLength) trap(`it points outside its memory: ${size} bytes at ${start}`)
  return new Uint8Array(buffer, start, size)
}

/** A list where results wait until the component has copied them. */
interface Results {
  readonly add: (bytes: Uint8Array) => bigint
  readonly take: (id: number) => Uint8Array
}

const NOTHING = -1n
/** Makes a list of results, each under an id from 1 and below 2^31, so that no answer is negative. */
function heldResults(): Results {
  const results = new Map<number, Uint8Array>()
  let last = 0
  return {
    add: (bytes) => {
      last += 1
      results.set(last, bytes)
      return (BigInt(last) << 32n) | BigInt(bytes.length)
    },
    take: (id) => {
      const result = results.get(id) ?? trap(`there is no result ${id}, or it was taken before`)
      results.delete(id)
      return result
    },
  }
}

function importsOf(running: () => Running): WebAssembly.Imports {
  const current = (): WebAssembly.Memory => running().memory ?? trap('the module asks its engine before it has started')
  const memory: Memory = {
    read: (pointer, length) => inside(current(), pointer, length).slice(),
    write: (pointer, bytes) => {
      inside(current(), pointer, bytes.length).set(bytes)
    },
  }
  const text = (pointer: number, length: number): string =>
    // A sentence for the log; what is longer than that is not a sentence.
    Buffer.from(memory.read(pointer, Math.min(length >>> 0, 4096))).toString('utf8')
  const exit = (pointer = 0, length = 0): never => trap(text(pointer, length))
  return {
    offchain: guardFunctions(running, {
      call: (operation = 0, pointer = 0, length = 0) => {
        const { hosted, results } = running()
        const result = hosted.call(operation, inside(current(), pointer, length))
        return result === undefined ? NOTHING : results.add(result)
      },
      result: (id = 0, to = 0) => {
        memory.write(to, running().results.take(id))
      },
      exit,
    }),
    pbc: guardFunctions(running, {
      ...avlOf(running, memory),
      memmove: (to = 0, from = 0, length = 0) => {
        memory.write(to, memory.read(from, length))
        return to
      },
      exit,
    }),
  }
}

type Functions = Record<string, (...args: number[]) => unknown>

/** Returns the functions of maps, which are made for a call that uses one. */
function avlOf(running: () => Running, memory: Memory): Functions {
  const ofCall = (name: string) => {
    return (...args: number[]): unknown => {
      const call = running()
      call.maps ??= avlImports(memory, call.hosted.effects)
      return call.maps[name]?.(...args)
    }
  }
  return Object.fromEntries(Object.keys(importTable.pbc ?? {}).map((name) => [name, ofCall(name)]))
}

/** Wraps functions so that an exception of one ends the call, also where the component would catch it. */
function guardFunctions(running: () => Running, functions: Functions): WebAssembly.Imports[string] {
  const guard = (run: (...args: number[]) => unknown) => {
    return (...args: number[]): unknown => {
      try {
        return run(...args)
      } catch (error) {
        return running().hosted.fail(error)
      }
    }
  }
  return Object.fromEntries(Object.entries(functions).map(([name, run]) => [name, guard(run)]))
}
