/** The thread in which a local chain runs; bundled into a file of its own (`build/bundle.js`). */
import { workerData } from 'node:worker_threads'
import { localJsonRpc } from '../../chain/local/local.ts'
import { answerQuestions } from '../../thread/answering.ts'
import { blockFiles } from './block-files.ts'

// A chain that cannot be opened is the answer to each question.
const opened = Promise.resolve().then(() => localJsonRpc(blockFiles(workerData as string), () => new Date()))
opened.catch(() => undefined)

answerQuestions(async ([method, params]: [method: string, params: readonly unknown[]]) => {
  const rpc = await opened
  return rpc(method, params)
})
