/**
 * Prepares the programs of components for workers: each is vetted and compiled once, in the engine's thread, and
 * cached.
 */

import { createLru } from '../async/cache.ts'
import { singleFlightByKey } from '../async/single-flight.ts'
import { checkFunctions } from './function-check.ts'
import type { Program } from './messages.ts'
import { boundModule, PAGE_BYTES, readModule } from './module.ts'
import { type ComponentCode, ComponentError, type RuntimeLimits } from './runtime.ts'
import { vetComponent } from './vet.ts'

export interface PreparedProgram {
  readonly program: Program
  /** The bytes of the component. */
  readonly bytes: number
  /** The hooks of a module; undefined for a script, whose hooks are known only after it has run. */
  readonly hooks: readonly string[] | undefined
}

export interface ProgramCache {
  /** Returns the program of a component from the cache, or prepares it. Rejects with a ComponentError. */
  readonly prepare: (component: ComponentCode) => Promise<PreparedProgram>
  /** Caches a program that a worker is about to get, which may have been evicted while its job waited. */
  readonly keep: (sha256: string, prepared: PreparedProgram) => void
}

/** The least size of the cache, in bytes of components: four components at the default limit. */
const LEAST_CACHED_BYTES = 32 * 1024 * 1024
/** The bytes that each program counts beside its component, so that by default at most 67 small ones are cached. */
const PROGRAM_BYTES = 512 * 1024

/**
 * Creates a cache of the most recently used programs. Its size is measured in bytes of the components, since V8 holds
 * up to 20 bytes for each byte of a module. `onEvict` is called with the hash of each component whose program is
 * dropped.
 */
export function createProgramCache(limits: RuntimeLimits, onEvict: (sha256: string) => void): ProgramCache {
  const size = Math.max(4 * (limits.moduleBytes + PROGRAM_BYTES), LEAST_CACHED_BYTES)
  const programs = createLru<string, PreparedProgram>(size, ({ bytes }) => bytes + PROGRAM_BYTES)
  const keep = (sha256: string, prepared: PreparedProgram): void => {
    for (const evicted of programs.set(sha256, prepared)) onEvict(evicted)
  }
  const prepareOnce = singleFlightByKey(
    ({ sha256 }) => sha256,
    async (component: ComponentCode) => {
      const prepared = await prepareProgram(component, limits)
      keep(component.sha256, prepared)
      return prepared
    },
  )
  return { prepare: async (component) => programs.get(component.sha256) ?? prepareOnce(component), keep }
}

async function prepareProgram(component: ComponentCode, limits: RuntimeLimits): Promise<PreparedProgram> {
  const vettedComponent = vetComponent(component, limits)
  const size = component.bytes.length
  if (vettedComponent.kind === 'javascript') return { program: vettedComponent, bytes: size, hooks: undefined }
  const { bytes, outline, hooks, memoryName } = vettedComponent
  await checkFunctions(component.bytes, outline)
  const module = await WebAssembly.compile(bytes).catch((error: unknown) => {
    throw new ComponentError(`The module is not valid: ${(error as Error).message}`, { cause: error })
  })
  return { program: { kind: 'wasm', module, memoryName }, bytes: size, hooks }
}

/**
 * Compiles QuickJS, with its memory limited to `limits.memoryBytes`, or to twice its initial memory if that is more.
 */
export function compileQuickJs(bytes: Uint8Array, limits: RuntimeLimits): Promise<WebAssembly.Module> {
  const outline = readModule(bytes)
  const pages = Math.max(Math.floor(limits.memoryBytes / PAGE_BYTES), 2 * outline.memory.initial)
  return WebAssembly.compile(boundModule(bytes, outline, pages, 0))
}
