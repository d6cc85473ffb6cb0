/**
 * Bundles once for a run the programs of threads and the modules that are bundled into components: a thread reads no
 * types, and `dist/` may be old.
 */
import { join } from 'node:path'
import { buildComponentSdk, buildWorker } from '../../build/component.js'
import { WORKER_DIRECTORY } from './component-directory.ts'

export async function setup() {
  await buildWorker(WORKER_DIRECTORY)
  await buildComponentSdk(join(WORKER_DIRECTORY, 'sdk'))
}
