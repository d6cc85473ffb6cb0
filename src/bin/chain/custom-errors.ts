/** Names the custom errors of contracts: a node returns their bytes, which the ABI decodes. */
import { type AbiItem, customError } from '../../chain/evm/abi.ts'
import { revertData } from '../../chain/evm/revert.ts'
import { type JsonRpc, JsonRpcError, REVERTED } from '../../chain/json-rpc.ts'
import { removeControlCharacters } from '../terminal.ts'

/** Wraps `rpc` so that the message of a revert has the name of the error in `abi`. */
export function nameCustomErrors(rpc: JsonRpc, abi: readonly AbiItem[]): JsonRpc {
  return async (method, params) => {
    try {
      return await rpc(method, params)
    } catch (error) {
      const revertBytes = error instanceof JsonRpcError ? revertData(error.data) : undefined
      const description = revertBytes && customError(abi, revertBytes)
      if (description === undefined) throw error
      throw new JsonRpcError(REVERTED, removeControlCharacters(description), undefined, { cause: error })
    }
  }
}
