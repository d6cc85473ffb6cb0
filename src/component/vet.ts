/**
 * Vets components before they are compiled: the size, and for a module its imports, the types of its hooks, and the
 * limits of its memory and tables. `function-check.ts` checks the functions.
 */
import { hook as hookNames } from '../offchain/hosted.ts'
import { isHook, MAX_EXPORTED_HOOKS } from './hooks.ts'
import { importTable } from './import-table.ts'
import { boundModule, type FunctionType, type ModuleOutline, PAGE_BYTES, quoteImport, readModule } from './module.ts'
import { refuseModule } from './module-reader.ts'
import { type ComponentCode, ComponentError, type RuntimeLimits } from './runtime.ts'

/** A component that passed the checks, with its memory and tables limited; a module is not compiled yet. */
export type VettedComponent =
  | {
      readonly kind: 'wasm'
      readonly bytes: Uint8Array
      readonly outline: ModuleOutline
      readonly hooks: readonly string[]
      readonly memoryName: string
    }
  | { readonly kind: 'javascript'; readonly source: string }

/** The most elements of a table; the tables of large modules have fewer. */
const MAX_ELEMENTS = 100_000

/**
 * Checks a component, and returns its program. Throws a ComponentError, whose message is for the author, when it cannot
 * be run under these limits.
 */
export function vetComponent(component: ComponentCode, limits: RuntimeLimits): VettedComponent {
  const { bytes } = component
  if (bytes.length > limits.moduleBytes) {
    refuseModule(`The component has ${bytes.length} bytes; limits.moduleBytes is ${limits.moduleBytes}.`)
  }
  return bytes[0] === 0 ? vetModule(bytes, limits) : { kind: 'javascript', source: decodeScript(bytes) }
}

function vetModule(bytes: Uint8Array, limits: RuntimeLimits): VettedComponent {
  const outline = readModule(bytes)
  for (const { module, name, type } of outline.imports) vetImport(module, name, type)
  const pages = Math.floor(limits.memoryBytes / PAGE_BYTES)
  if (outline.memory.initial > pages) {
    refuseModule(
      `The module begins with ${outline.memory.initial} pages of memory; limits.memoryBytes allows ${pages} (${limits.memoryBytes} bytes).`,
    )
  }
  if (outline.tables.some(({ initial }) => initial > MAX_ELEMENTS)) {
    refuseModule(`The module has a table of more than ${MAX_ELEMENTS} elements.`)
  }
  const memoryName = outline.memoryName ?? refuseModule('The module does not export its memory; export it as "memory".')
  const hooks = readHooks(outline)
  const boundBytes = boundModule(bytes, outline, pages, MAX_ELEMENTS)
  return { kind: 'wasm', bytes: boundBytes, outline, hooks, memoryName }
}

function vetImport(module: string, name: string, actual: FunctionType): void {
  const functions = Object.hasOwn(importTable, module) ? importTable[module] : undefined
  const expected = functions && Object.hasOwn(functions, name) ? functions[name] : undefined
  if (expected === undefined) {
    const imported = quoteImport(module, name)
    refuseModule(`The module imports ${imported}, which this engine does not have. It has ${describeImportTable()}.`)
  } else if (!isSameType(expected, actual)) {
    refuseModule(
      `The module imports ${quoteImport(module, name)} as ${formatFunctionType(actual)}; it is ${formatFunctionType(expected)}.`,
    )
  }
}

function describeImportTable(): string {
  const lists = Object.entries(importTable).map(([from, names]) => `${Object.keys(names).join(', ')} of "${from}"`)
  return lists.join('; ')
}

const HOOK: FunctionType = { parameters: 'ii', results: 'I' }

function readHooks({ exportedFunctions }: ModuleOutline): string[] {
  const hooks = [...exportedFunctions].filter(([name]) => isHook(name))
  for (const [name, actual] of hooks) {
    if (!isSameType(actual, HOOK))
      refuseModule(
        `The module exports ${name} as ${formatFunctionType(actual)}; a hook is ${formatFunctionType(HOOK)}.`,
      )
  }
  if (hooks.length === 0) {
    refuseModule(`The module exports no hook, such as ${hookNames.httpRequest} or ${hookNames.stateChange}.`)
  }
  if (hooks.length > MAX_EXPORTED_HOOKS) refuseModule(`The module exports more than ${MAX_EXPORTED_HOOKS} hooks.`)
  return hooks.map(([name]) => name).sort()
}

function isSameType(one: FunctionType, other: FunctionType): boolean {
  return one.parameters === other.parameters && one.results === other.results
}

const NAMES: Readonly<Record<string, string>> = { i: 'i32', I: 'i64', f: 'f32', F: 'f64', x: 'another type' }

function formatFunctionType({ parameters, results }: FunctionType): string {
  const list = (letters: string): string => Array.from(letters.slice(0, 20), (letter) => NAMES[letter]).join(', ')
  return `(${list(parameters)}) -> (${list(results)})`
}

function decodeScript(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new ComponentError('This is neither a WebAssembly module nor JavaScript in UTF-8.', { cause })
  }
}
