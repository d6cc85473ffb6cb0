/**
 * Instances of a module. One is kept from call to call where all that a call can change of it is put back: then nobody can tell it from a
 * new one. Its memory cannot become smaller; the next call grows it to what a new one would have, or gets a new one.
 */
import { PAGE } from './module.ts'
import { globalName, type ModuleState, tableName } from './module-state.ts'

export interface Instance {
  readonly exports: WebAssembly.Exports
  readonly memory: WebAssembly.Memory
  /** In pages, as it was when the instance was made. */
  readonly initialPages: number
  /** Makes it what it was when it was made, but for the size of its memory. False where that cannot be. */
  readonly putBack: () => boolean
}

/** More than this takes longer to put back than a new instance takes. */
const MOST_BYTES = 512 * 1024

/** Runs the start function. Throws what that throws. */
export function instantiate(
  module: WebAssembly.Module,
  imports: WebAssembly.Imports,
  { memoryName, state }: { readonly memoryName: string; readonly state: ModuleState | undefined },
): Instance {
  const { exports } = new WebAssembly.Instance(module, imports)
  const memory = exports[memoryName] as WebAssembly.Memory
  const initialPages = memory.buffer.byteLength / PAGE
  const parts = state === undefined || memory.buffer.byteLength > MOST_BYTES ? undefined : partsOf(exports, state)
  if (parts === undefined) return { exports, memory, initialPages, putBack: () => false }
  const image = withoutZeros(new Uint8Array(memory.buffer)).slice()
  const putBack = (): boolean => {
    if (memory.buffer.byteLength > MOST_BYTES) return false
    const bytes = new Uint8Array(memory.buffer)
    bytes.set(image)
    bytes.fill(0, image.length)
    return parts.every((part) => part())
  }
  return { exports, memory, initialPages, putBack }
}

/** Each puts one thing back. Undefined where there is one whose value cannot be had. */
function partsOf(exports: WebAssembly.Exports, state: ModuleState): (() => boolean)[] | undefined {
  const globals = Array.from({ length: state.globals }, (_, index) => globalPart(exports[globalName(index)]))
  const tables = Array.from({ length: state.tables }, (_, index) => tablePart(exports[tableName(index)]))
  const parts = [...globals, ...tables].filter((part) => part !== 'immutable')
  return parts.includes('unknown') ? undefined : (parts as (() => boolean)[])
}

type Part = (() => boolean) | 'immutable' | 'unknown'

/** WebAssembly JavaScript Interface, "Globals": to read a vector throws, and to write what is immutable. */
function globalPart(exported: unknown): Part {
  const global = exported as WebAssembly.Global<unknown>
  let value: unknown
  try {
    value = global.value
  } catch {
    return 'unknown'
  }
  // There are many, which look alike from here; to write one back may make another of it.
  if (Number.isNaN(value)) return 'unknown'
  try {
    global.value = value
  } catch {
    return 'immutable'
  }
  return () => {
    global.value = value
    return true
  }
}

function tablePart(exported: unknown): Part {
  const table = exported as WebAssembly.Table
  const elements = Array.from({ length: table.length }, (_, index) => table.get(index))
  return () => {
    if (table.length !== elements.length) return false
    for (const [index, element] of elements.entries()) if (table.get(index) !== element) table.set(index, element)
    return true
  }
}

function withoutZeros(bytes: Uint8Array): Uint8Array {
  return bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1)
}
