/** Where the worker of components is while tests run. Apart from the bundle, which may be older than its sources. */
import { join } from 'node:path'

export const WORKER_DIRECTORY = join(import.meta.dirname, '..', '..', 'node_modules', '.component-worker')
