/**
 * Prepares the programs from which workers run components: each is vetted and compiled once, in the engine's thread,
 * and cached.
 */

import { createPromiseCache } from '../async/cache.ts'
import { checkFunctions } from './function-check.ts'
import type { Program } from './messages.ts'
import { boundModule, PAGE_BYTES, readModule } from './module.ts'
import { type ComponentCode, ComponentError, type RuntimeLimits } from './runtime.ts'
import { vetComponent } from './vet.ts'

export interface PreparedProgram {
  readonly program: Program
  /** The hooks of a module. Those of a script are known when the script has run. */
  readonly hooks: readonly string[] | undefined
}

/**
 * Makes a function that prepares the program of a component, and keeps the `most` programs that were used last. Rejects
 * with a ComponentError.
 */
export function createProgramCache(
  limits: RuntimeLimits,
  most: number,
): (component: ComponentCode) => Promise<PreparedProgram> {
  const cache = createPromiseCache<PreparedProgram>(most)
  return (component) => cache.get(component.sha256, () => prepareProgram(component, limits))
}

async function prepareProgram(component: ComponentCode, limits: RuntimeLimits): Promise<PreparedProgram> {
  const vettedComponent = vetComponent(component, limits)
  if (vettedComponent.kind === 'javascript') return { program: vettedComponent, hooks: undefined }
  const { bytes, outline, hooks, memoryName } = vettedComponent
  await checkFunctions(component.bytes, outline)
  const module = await WebAssembly.compile(bytes).catch((error: unknown) => {
    throw new ComponentError(`The module is not valid: ${(error as Error).message}`, { cause: error })
  })
  return { program: { kind: 'wasm', module, memoryName }, hooks }
}

/** Compiles QuickJS, which cannot grow beyond what components may have. */
export function compileQuickJs(bytes: Uint8Array, limits: RuntimeLimits): Promise<WebAssembly.Module> {
  const outline = readModule(bytes)
  const pages = Math.max(Math.floor(limits.memoryBytes / PAGE_BYTES), 2 * outline.memory.initial)
  return WebAssembly.compile(boundModule(bytes, outline, pages, 0))
}
