/** Runs the local chain of a directory in its own thread, so that its transactions do not block requests. */
import { type JsonRpc, JsonRpcError } from '../../chain/json-rpc.ts'
import { createWorkerClient } from '../../thread/worker-client.ts'

/**
 * Opens the chain, or creates one. Rejects with a message for the operator if the directory contains something else.
 * `workerFile` is the bundled `local-chain-worker.ts`.
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
