/**
 * Runs components in core WebAssembly. Each call has a new instance. The engine adds pages to the memory, writes the
 * input there, and copies the result from the pointer that the hook returns. Every pointer and length of the component
 * is checked against its memory.
 */
import { createAvlMaps, type Memory } from './avl.ts'
import type { HostOperations } from './host-operations.ts'
import { MAX_HEADER_CHARACTERS } from './host-request.ts'
import { importTable } from './import-table.ts'
import type { LoadedComponent } from './loaded-component.ts'
import type { Program } from './messages.ts'
import { PAGE_BYTES } from './module.ts'
import type { RuntimeLimits } from './runtime.ts'
import { MAX_HELD_OBJECTS, MAX_TRAP_MESSAGE, trap, trapOverLimit } from './trap.ts'

type Hook = (pointer: number, length: number) => bigint

/** A call with its instance. */
interface RunningCall {
  readonly hosted: HostOperations
  readonly results: Results
  /** The memory of the instance; undefined while the start function runs. */
  memory?: WebAssembly.Memory
  /** The functions `pbc.avl_*`, which are made when the first of them is called. */
  maps?: Functions
}

/** Makes the imports of a compiled module, and the function that runs its hooks. */
export function loadWasmModule(program: Extract<Program, { kind: 'wasm' }>, limits: RuntimeLimits): LoadedComponent {
  let runningCall: RunningCall | undefined
  const imports = createImports(() => runningCall ?? trap('no call runs'))
  return {
    heldBytes: 0,
    listFunctions: () => [],
    restore: () => undefined,
    run: ({ hook, input }, hosted) => {
      runningCall = { hosted, results: createResultList(limits.memoryBytes) }
      try {
        const { exports } = new WebAssembly.Instance(program.module, imports)
        const callTrap = hosted.getTrap()
        // The start function may have caught the exception of a trap.
        if (callTrap !== undefined) throw callTrap
        const memory = exports[program.memoryName] as WebAssembly.Memory
        runningCall.memory = memory
        const pointer = writeInput(memory, input, limits)
        const result = (exports[hook] as Hook)(pointer, input.length)
        return copySections(memory, Number(BigInt.asUintN(32, result)), limits)
      } finally {
        runningCall = undefined
      }
    },
  }
}

function copySections(memory: WebAssembly.Memory, start: number, limits: RuntimeLimits): Uint8Array {
  const { byteOffset } = sliceMemory(memory, start, 4)
  const length = new DataView(memory.buffer, byteOffset).getUint32(0)
  if (length > limits.responseBytes + MAX_HEADER_CHARACTERS) {
    trapOverLimit('responseBytes', limits.responseBytes, `the result of the hook has ${length} bytes`)
  }
  return sliceMemory(memory, start + 4, length).slice()
}

/**
 * Writes the input to new pages at the end of the memory, and returns its address. Traps when the memory cannot grow.
 */
function writeInput(memory: WebAssembly.Memory, input: Uint8Array, limits: RuntimeLimits): number {
  const pointer = memory.buffer.byteLength
  try {
    memory.grow(Math.max(1, Math.ceil(input.length / PAGE_BYTES)))
  } catch {
    return trapOverLimit(
      'memoryBytes',
      limits.memoryBytes,
      `the component's memory has no room for its input of ${input.length} bytes`,
    )
  }
  new Uint8Array(memory.buffer).set(input, pointer)
  return pointer
}

function sliceMemory({ buffer }: WebAssembly.Memory, pointer: number, length: number): Uint8Array {
  const [start, size] = [pointer >>> 0, length >>> 0]
  if (start + size > buffer.byteLength) trap(`it points outside its memory: ${size} bytes at ${start}`)
  return new Uint8Array(buffer, start, size)
}

/** The results of operations, until the component copies them. */
interface Results {
  readonly add: (bytes: Uint8Array) => bigint
  readonly take: (id: number) => Uint8Array
}

const NOTHING = -1n
/** The approximate memory of a result beside its bytes. */
const RESULT_OVERHEAD_BYTES = 512

/**
 * Makes a list of results that takes at most `maxBytes`. `add` returns the id and the length of a result in one i64.
 * Ids are below 2^31, so that only NOTHING is negative.
 */
function createResultList(maxBytes: number): Results {
  const results = new Map<number, Uint8Array>()
  let [last, heldBytes] = [0, 0]
  return {
    add: (bytes) => {
      heldBytes += bytes.length + RESULT_OVERHEAD_BYTES
      if (results.size >= MAX_HELD_OBJECTS) trap(`more than ${MAX_HELD_OBJECTS} results are not taken`)
      if (heldBytes > maxBytes) trapOverLimit('memoryBytes', maxBytes, 'the results that are not taken are too much')
      last += 1
      results.set(last, bytes)
      return (BigInt(last) << 32n) | BigInt(bytes.length)
    },
    take: (id) => {
      const result = results.get(id) ?? trap(`there is no result ${id}, or it was taken before`)
      results.delete(id)
      heldBytes -= result.length + RESULT_OVERHEAD_BYTES
      return result
    },
  }
}

function createImports(getCall: () => RunningCall): WebAssembly.Imports {
  const getMemory = (): WebAssembly.Memory =>
    getCall().memory ?? trap('the module asks its engine before it has started')
  const memory: Memory = {
    read: (pointer, length) => sliceMemory(getMemory(), pointer, length).slice(),
    write: (pointer, bytes) => {
      sliceMemory(getMemory(), pointer, bytes.length).set(bytes)
    },
  }
  const readText = (pointer: number, length: number): string =>
    Buffer.from(memory.read(pointer, Math.min(length >>> 0, MAX_TRAP_MESSAGE))).toString('utf8')
  const exit = (pointer = 0, length = 0): never => trap(readText(pointer, length))
  return {
    offchain: guardFunctions(getCall, {
      call: (operation = 0, pointer = 0, length = 0) => {
        const { hosted, results } = getCall()
        const result = hosted.call(operation, sliceMemory(getMemory(), pointer, length))
        return result === undefined ? NOTHING : results.add(result)
      },
      result: (id = 0, to = 0) => {
        memory.write(to, getCall().results.take(id))
      },
      exit,
    }),
    pbc: guardFunctions(getCall, {
      ...createAvlImports(getCall, memory),
      memmove: (to = 0, from = 0, length = 0) => {
        memory.write(to, memory.read(from, length))
        return to
      },
      exit,
    }),
  }
}

type Functions = Record<string, (...args: number[]) => unknown>

/** Returns the functions `pbc.avl_*`. The first call of one makes the maps of the running call. */
function createAvlImports(getCall: () => RunningCall, memory: Memory): Functions {
  const bindToCall = (name: string) => {
    return (...args: number[]): unknown => {
      const call = getCall()
      call.maps ??= createAvlMaps(memory, call.hosted.effects)
      return call.maps[name]?.(...args)
    }
  }
  return Object.fromEntries(Object.keys(importTable.pbc ?? {}).map((name) => [name, bindToCall(name)]))
}

/** Wraps functions so that an exception of one traps the call, also where the component catches the exception. */
function guardFunctions(getCall: () => RunningCall, functions: Functions): WebAssembly.Imports[string] {
  const guardFunction = (run: (...args: number[]) => unknown) => {
    return (...args: number[]): unknown => {
      try {
        return run(...args)
      } catch (error) {
        return getCall().hosted.fail(error)
      }
    }
  }
  return Object.fromEntries(Object.entries(functions).map(([name, run]) => [name, guardFunction(run)]))
}
