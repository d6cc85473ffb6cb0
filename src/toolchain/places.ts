/** Where the files are that are built beside the command: in the directory of its bundle, or in `dist/` of a clone. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createRuntime } from '../component/component-runtime.ts'
import type { Runtime, RuntimeLimits } from '../component/runtime.ts'

const WORKER = 'component-worker.cjs'
/** The files that an engine needs only when it is at work. */
const NEEDED_LATER = ['quickjs.wasm', 'sqlite-check-thread.cjs', 'sqlite-writer-thread.cjs', 'local-chain-worker.cjs']

/**
 * Returns the directory of the programs of threads, QuickJS, the SDK, and the components that come with Vouchsafe.
 * Throws when nothing was built.
 */
export function findBuiltDirectory(): string {
  const here = import.meta.dirname
  const candidates = [here, join(here, '..'), join(here, '..', '..', 'dist')]
  const directory = candidates.find((directory) => existsSync(join(directory, WORKER)))
  if (directory === undefined) throw new Error(`There is no ${WORKER} in ${here}; run npm run build.`)
  return directory
}

/** Throws, in words, when a file is missing that an engine needs. */
export function checkBuiltFiles(): void {
  const directory = findBuiltDirectory()
  const missing = NEEDED_LATER.filter((name) => !existsSync(join(directory, name)))
  if (missing.length > 0) {
    throw new Error(`There is no ${missing.join(', ')} in ${directory}; run npm run build, or install Vouchsafe again.`)
  }
}

/**
 * Returns the runtime of components, with the files of this installation. These are read once: workers that start later
 * have the same program, also when another version of the package has been installed since.
 */
export function startRuntime(
  workers: number,
  limits: RuntimeLimits,
  directory = findBuiltDirectory(),
): Promise<Runtime> {
  const quickjs = readFileSync(join(directory, 'quickjs.wasm'))
  const workerProgram = readFileSync(join(directory, WORKER), 'utf8')
  return createRuntime({ workers, limits, workerProgram, quickjs })
}
