/** What workers run components from: vetted and compiled once, in the engine's process, and kept while they are asked for. */

import type { Program } from './messages.ts'
import { PAGE, readModule, withBounds } from './module.ts'
import { type Component, ComponentError, type RuntimeLimits } from './runtime.ts'
import { vet } from './vet.ts'

export interface Prepared {
  readonly program: Program
  /** Of a module. Those of a script are known when it has run. */
  readonly hooks: readonly string[] | undefined
}

/** Rejects with a ComponentError. At most `most` are kept: those that were asked for last. */
export function preparedPrograms(limits: RuntimeLimits, most: number): (component: Component) => Promise<Prepared> {
  const kept = recentlyUsed<Promise<Prepared>>(most)
  return (component) => {
    const known = kept.get(component.sha256)
    if (known !== undefined) return known
    const prepared = prepare(component, limits)
    kept.add(component.sha256, prepared)
    prepared.catch(() => kept.remove(component.sha256))
    return prepared
  }
}

async function prepare(component: Component, limits: RuntimeLimits): Promise<Prepared> {
  const vetted = vet(component, limits)
  if (vetted.kind === 'javascript') return { program: vetted, hooks: undefined }
  const { bytes, hooks, memoryName } = vetted
  const module = await WebAssembly.compile(bytes).catch((error: unknown) => {
    throw new ComponentError(`The module is not valid: ${(error as Error).message}`)
  })
  return { program: { kind: 'wasm', module, memoryName }, hooks }
}

/** QuickJS, which cannot grow beyond what components may have. */
export function compileQuickJs(bytes: Uint8Array, limits: RuntimeLimits): Promise<WebAssembly.Module> {
  const outline = readModule(bytes)
  const pages = Math.max(Math.floor(limits.memoryBytes / PAGE), 2 * outline.memory.initial)
  return WebAssembly.compile(withBounds(bytes, outline, pages, 0))
}

export interface RecentlyUsed<T> {
  readonly get: (name: string) => T | undefined
  /** The name of what had to go for it. */
  readonly add: (name: string, value: T) => string | undefined
  readonly remove: (name: string) => void
}

export function recentlyUsed<T>(most: number): RecentlyUsed<T> {
  const kept = new Map<string, T>()
  return {
    get: (name) => {
      const value = kept.get(name)
      if (value !== undefined) {
        kept.delete(name)
        kept.set(name, value)
      }
      return value
    },
    add: (name, value) => {
      kept.set(name, value)
      const [oldest] = kept.keys()
      if (kept.size <= most || oldest === undefined) return undefined
      kept.delete(oldest)
      return oldest
    },
    remove: (name) => {
      kept.delete(name)
    },
  }
}
