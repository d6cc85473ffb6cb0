/**
 * The chain of a directory, in a thread of its own: to run a transaction takes the processor for milliseconds, and whoever serves
 * requests meanwhile does not wait for it.
 */
import { type JsonRpc, JsonRpcError } from '../../chain/json-rpc.ts'
import { askedThread } from '../../thread/asking.ts'

/**
 * Begins a chain where there is none. Rejects, in words for an operator, when what is there is none. `workerFile` is
 * `local-chain-worker.ts`, bundled.
 */
export async function openLocalChain(directory: string, workerFile: string): Promise<JsonRpc> {
  const thread = askedThread(workerFile, directory)
  const rpc: JsonRpc = (method, params) =>
    thread.ask([method, params]).catch((error: JsonRpcError) => {
      if (error.name !== 'JsonRpcError') throw new Error(`the local chain: ${error.message}`)
      throw new JsonRpcError(error.code, error.message, error.data)
    })
  await rpc('eth_chainId', [])
  return rpc
}
