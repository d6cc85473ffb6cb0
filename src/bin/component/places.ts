/** Where the files are that components need: beside the bundle of the command, or in `dist/` of a clone. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createPool } from '../../component/pool.ts'
import type { Runtime, RuntimeLimits } from '../../component/runtime.ts'

const WORKER = 'component-worker.cjs'

/** The directory of the worker, QuickJS and the SDK. Throws when nothing was built. */
export function componentDirectory(): string {
  const here = import.meta.dirname
  const candidates = [here, join(here, '..'), join(here, '..', '..', '..', 'dist')]
  const found = candidates.find((directory) => existsSync(join(directory, WORKER)))
  if (found === undefined) throw new Error(`There is no ${WORKER} in ${here}; run npm run build.`)
  return found
}

/** The runtime of components, with the files of this installation. */
export function startRuntime(
  workers: number,
  limits: RuntimeLimits,
  directory = componentDirectory(),
): Promise<Runtime> {
  const quickjs = readFileSync(join(directory, 'quickjs.wasm'))
  return createPool({ workers, limits, workerFile: join(directory, WORKER), quickjs })
}

/** What an engine allows unless it is configured otherwise. */
export const DEFAULT_LIMITS: RuntimeLimits = {
  memoryBytes: 64 * 1024 * 1024,
  moduleBytes: 8 * 1024 * 1024,
  logBytes: 64 * 1024,
  responseBytes: 1024 * 1024,
  storageKeyBytes: 1024,
  storageValueBytes: 1024 * 1024,
  storageChanges: 1000,
  transactions: 16,
  transactionBytes: 128 * 1024,
  timers: 32,
  timerBytes: 64 * 1024,
  randomBytes: 64 * 1024,
  outboundRequests: 5,
}
