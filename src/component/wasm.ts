/**
 * Core WebAssembly: a fresh instance for each call, input in pages that the engine adds to its memory, and a result that it
 * points at. A length or a pointer of the component is never used before it was compared with its memory.
 */
import { avlImports, type Memory } from './avl.ts'
import type { Hosted } from './hosted.ts'
import { PAGE } from './module.ts'
import { HEADERS_BYTES } from './result.ts'
import type { RuntimeLimits } from './runtime.ts'
import { overLimit, trap } from './trap.ts'

export interface WasmCall {
  readonly module: WebAssembly.Module
  readonly memoryName: string
  readonly hook: string
  readonly input: Uint8Array
}

type Hook = (pointer: number, length: number) => bigint

/** The sections of the hook's result, in a copy. Throws a Trap, or what WebAssembly throws. */
export function runModule(
  { module, memoryName, hook, input }: WasmCall,
  hosted: Hosted,
  limits: RuntimeLimits,
): Uint8Array {
  const started: { memory?: WebAssembly.Memory } = {}
  const memory = memoryOf(() => started.memory ?? trap('the module asks its engine before it has started'))
  const { exports } = new WebAssembly.Instance(module, importsOf(memory, hosted))
  started.memory = exports[memoryName] as WebAssembly.Memory
  const pointer = writeInput(started.memory, input, limits)
  const result = (exports[hook] as Hook)(pointer, input.length)
  const start = Number(BigInt.asUintN(32, result))
  const length = new DataView(memory.read(start, 4).buffer).getUint32(0)
  if (length > limits.responseBytes + HEADERS_BYTES) {
    overLimit('responseBytes', limits.responseBytes, `the result of the hook has ${length} bytes`)
  }
  return memory.read(start + 4, length)
}

function writeInput(memory: WebAssembly.Memory, input: Uint8Array, limits: RuntimeLimits): number {
  const pages = Math.max(1, Math.ceil(input.length / PAGE))
  let before: number
  try {
    before = memory.grow(pages)
  } catch {
    return overLimit(
      'memoryBytes',
      limits.memoryBytes,
      `the component's memory has no room for its input of ${input.length} bytes`,
    )
  }
  new Uint8Array(memory.buffer).set(input, before * PAGE)
  return before * PAGE
}

function memoryOf(current: () => WebAssembly.Memory): Memory {
  const inside = (pointer: number, length: number): Uint8Array => {
    const { buffer } = current()
    const [start, size] = [pointer >>> 0, length >>> 0]
    if (start + size > buffer.byteLength) trap(`it points outside its memory: ${size} bytes at ${start}`)
    return new Uint8Array(buffer, start, size)
  }
  return {
    read: (pointer, length) => inside(pointer, length).slice(),
    write: (pointer, bytes) => {
      inside(pointer, bytes.length).set(bytes)
    },
  }
}

/** Results wait here until the component has copied them. */
interface Results {
  readonly add: (bytes: Uint8Array) => bigint
  readonly take: (id: number) => Uint8Array
}

const NOTHING = -1n
/** Ids begin at 1 and stay below 2^31, so that no answer is negative. */
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
      const found = results.get(id) ?? trap(`there is no result ${id}, or it was taken before`)
      results.delete(id)
      return found
    },
  }
}

function importsOf(memory: Memory, hosted: Hosted): WebAssembly.Imports {
  const results = heldResults()
  const text = (pointer: number, length: number): string =>
    // A sentence for the log; what is longer than that is no sentence.
    Buffer.from(memory.read(pointer, Math.min(length >>> 0, 4096))).toString('utf8')
  const exit = (pointer = 0, length = 0): never => trap(text(pointer, length))
  return {
    offchain: guarded(hosted, {
      call: (operation = 0, pointer = 0, length = 0) => {
        const result = hosted.call(operation, memory.read(pointer, length))
        return result === undefined ? NOTHING : results.add(result)
      },
      result: (id = 0, to = 0) => {
        memory.write(to, results.take(id))
      },
      exit,
    }),
    pbc: guarded(hosted, {
      ...avlImports(memory, hosted.effects),
      memmove: (to = 0, from = 0, length = 0) => {
        memory.write(to, memory.read(from, length))
        return to
      },
      exit,
    }),
  }
}

type Functions = WebAssembly.Imports[string]

/** Whatever one of them throws ends the call, also where the component would catch it. */
function guarded(hosted: Hosted, functions: Record<string, (...args: number[]) => unknown>): Functions {
  const guard = (run: (...args: number[]) => unknown) => {
    return (...args: number[]): unknown => {
      try {
        return run(...args)
      } catch (error) {
        return hosted.fail(error)
      }
    }
  }
  return Object.fromEntries(Object.entries(functions).map(([name, run]) => [name, guard(run)]))
}
