/**
 * Runs the chain of a directory in its own thread: a transaction takes milliseconds of the processor, for which
 * requests do not wait.
 */
import { type JsonRpc, JsonRpcError } from '../../chain/json-rpc.ts'
import { createWorkerClient } from '../../thread/worker-client.ts'

/**
 * Opens the chain, or starts one. Rejects with a message for the operator when the directory has something else.
 * `workerFile` is `local-chain-worker.ts`, bundled.
 */
export async function openLocalChain(directory: string, workerFile: string): Promise<JsonRpc> {
  const thread = createWorkerClient(workerFile, directory)
  const rpc: JsonRpc = (method, params) =>
    thread.call([method, params]).catch((error: unknown) => {
      const { name, message, code, data } = error as Error & Pick<JsonRpcError, 'code' | 'data'>
      if (name === 'JsonRpcError') throw new JsonRpcError(code, message, data, { cause: error })
      throw new Error(`the local chain: ${message}`, { cause: error })
    })
  await rpc('eth_chainId', [])
  return rpc
}
