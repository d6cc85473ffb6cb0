/** The entry point of the thread of a local chain, which `build/bundle.js` bundles into its own file. */
import { workerData } from 'node:worker_threads'
import { cacheValue } from '../../async/cache.ts'
import { openLocalRpc } from '../../chain/local/methods.ts'
import { serveRequests } from '../../thread/worker-server.ts'
import { openBlockFiles } from './block-files.ts'

const chain = cacheValue(() => openLocalRpc(openBlockFiles(workerData as string), () => new Date()))

serveRequests(async ([method, params]: [method: string, params: readonly unknown[]]) => {
  const rpc = await chain.get()
  return rpc(method, params)
})
