/**
 * Installs what tests compare with, also where vitest is started by itself. Bundles once for a run what runs and what is bundled into
 * components: a thread reads no types, and `dist/` may be old.
 */
import { join } from 'node:path'
import { buildComponentSdk, buildWorker } from '../../build/component.js'
import { install, TESTED_WITH } from '../../build/install.js'
import { WORKER_DIRECTORY } from './component-directory.ts'

export async function setup() {
  install(TESTED_WITH)
  await buildWorker(WORKER_DIRECTORY)
  await buildComponentSdk(join(WORKER_DIRECTORY, 'sdk'))
}
