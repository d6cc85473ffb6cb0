/** Bundles the worker of components once for a run: a thread reads no types. */
import { buildWorker } from '../../build/component.js'
import { WORKER_DIRECTORY } from './component-directory.ts'

export async function setup() {
  await buildWorker(WORKER_DIRECTORY)
}
