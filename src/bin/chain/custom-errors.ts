/** Custom errors of contracts by their names: a node returns bytes, which the ABI of the contract explains. */
import { type AbiItem, customError } from '../../chain/evm/abi.ts'
import { revertData } from '../../chain/evm/revert.ts'
import { type JsonRpc, JsonRpcError, REVERTED } from '../../chain/json-rpc.ts'
import { removeControlCharacters } from '../terminal.ts'

/** Wraps `rpc`, so that the message of a revert has the error's name in `abi`. */
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
