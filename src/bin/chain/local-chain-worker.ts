/** The thread in which a local chain runs; bundled into a file of its own (`build/bundle.js`). */
import { workerData } from 'node:worker_threads'
import { cacheValue } from '../../async/cache.ts'
import { localJsonRpc } from '../../chain/local/local.ts'
import { serveRequests } from '../../thread/worker-server.ts'
import { openBlockFiles } from './block-files.ts'

const chain = cacheValue(() => localJsonRpc(openBlockFiles(workerData as string), () => new Date()))

serveRequests(async ([method, params]: [method: string, params: readonly unknown[]]) => {
  const rpc = await chain.get()
  return rpc(method, params)
})
