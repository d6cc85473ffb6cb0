/**
 * The chain of a directory, in a thread of its own: to run a transaction takes the processor for milliseconds, and whoever serves
 * requests meanwhile does not wait for it.
 */
import { type JsonRpc, JsonRpcError } from '../../chain/json-rpc.ts'
import { createWorkerClient } from '../../thread/worker-client.ts'

/**
 * Begins a chain where there is none. Rejects, in words for an operator, when what is there is none. `workerFile` is
 * `local-chain-worker.ts`, bundled.
 */
export async function openLocalChain(directory: string, workerFile: string): Promise<JsonRpc> {
  const thread = createWorkerClient(workerFile, directory)
  const rpc: JsonRpc = (method, params) =>
    thread.call([method, params]).catch((error: unknown) => {
      const { name, message, code, data } = error as Error & Pick<JsonRpcError, 'code' | 'data'>
      throw name === 'JsonRpcError' ? new JsonRpcError(code, message, data) : new Error(`the local chain: ${message}`)
    })
  await rpc('eth_chainId', [])
  return rpc
}
