/** The thread in which a local chain runs; bundled into a file of its own (`build/bundle.js`). */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { JsonRpcError } from '../../chain/json-rpc.ts'
import { localJsonRpc } from '../../chain/local/local.ts'
import { blockFiles } from './block-files.ts'
import type { Answer, Question } from './local-chain.ts'

const port = parentPort as MessagePort
// A chain that cannot be opened is the answer to each question.
const opened = Promise.resolve().then(() => localJsonRpc(blockFiles(workerData as string), () => new Date()))
opened.catch(() => undefined)

port.on('message', (question: Question) => {
  void answerTo(question).then((answer) => port.postMessage(answer))
})

async function answerTo({ id, method, params }: Question): Promise<Answer> {
  try {
    const rpc = await opened
    return { id, result: await rpc(method, params) }
  } catch (error) {
    const { message } = error as Error
    if (!(error instanceof JsonRpcError)) return { id, error: { message } }
    return { id, error: { message, code: error.code, data: error.data } }
  }
}
