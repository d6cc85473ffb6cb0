/** The thread in which a local chain runs; bundled into a file of its own (`build/bundle.js`). */
import { workerData } from 'node:worker_threads'
import { localJsonRpc } from '../../chain/local/local.ts'
import { answerQuestions, onceOpened } from '../../thread/answering.ts'
import { blockFiles } from './block-files.ts'

const opened = onceOpened(() => localJsonRpc(blockFiles(workerData as string), () => new Date()))

answerQuestions(async ([method, params]: [method: string, params: readonly unknown[]]) => {
  const rpc = await opened()
  return rpc(method, params)
})
