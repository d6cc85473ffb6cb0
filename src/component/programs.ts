/**
 * The programs that workers run components from: vetted and compiled once, in the engine's process, and kept while they
 * are asked for.
 */

import { createPromiseCache } from '../async/cache.ts'
import type { Program } from './messages.ts'
import { boundModule, PAGE, readModule } from './module.ts'
import { type ComponentCode, ComponentError, type RuntimeLimits } from './runtime.ts'
import { vet } from './vet.ts'

export interface Prepared {
  readonly program: Program
  /** The hooks of a module. Those of a script are known when the script has run. */
  readonly hooks: readonly string[] | undefined
}

/**
 * Makes a function that prepares the program of a component, and keeps the `most` programs that were used last. Rejects
 * with a ComponentError.
 */
export function preparedPrograms(limits: RuntimeLimits, most: number): (component: ComponentCode) => Promise<Prepared> {
  const cache = createPromiseCache<Prepared>(most)
  return (component) => cache.get(component.sha256, () => prepare(component, limits))
}

async function prepare(component: ComponentCode, limits: RuntimeLimits): Promise<Prepared> {
  const vetted = vet(component, limits)
  if (vetted.kind === 'javascript') return { program: vetted, hooks: undefined }
  const { bytes, hooks, memoryName } = vetted
  const module = await WebAssembly.compile(bytes).catch((error: unknown) => {
    throw new ComponentError(`The module is not valid: ${(error as Error).message}`)
  })
  return { program: { kind: 'wasm', module, memoryName }, hooks }
}

/** Compiles QuickJS, which cannot grow beyond what components may have. */
export function compileQuickJs(bytes: Uint8Array, limits: RuntimeLimits): Promise<WebAssembly.Module> {
  const outline = readModule(bytes)
  const pages = Math.max(Math.floor(limits.memoryBytes / PAGE), 2 * outline.memory.initial)
  return WebAssembly.compile(boundModule(bytes, outline, pages, 0))
}
