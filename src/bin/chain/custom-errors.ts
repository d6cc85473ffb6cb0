/** Errors of contracts by their names: a node has no more of them than their bytes, and who calls a contract has its ABI. */
import { type AbiItem, customError } from '../../chain/evm/abi.ts'
import { revertData } from '../../chain/evm/revert.ts'
import { type JsonRpc, JsonRpcError, REVERTED } from '../../chain/json-rpc.ts'
import { plain } from '../terminal.ts'

/** The same, whose errors say what `abi` calls what they were reverted with. */
export function namingErrors(rpc: JsonRpc, abi: readonly AbiItem[]): JsonRpc {
  return async (method, params) => {
    try {
      return await rpc(method, params)
    } catch (error) {
      const thrown = error instanceof JsonRpcError ? revertData(error.data) : undefined
      const said = thrown && customError(abi, thrown)
      throw said === undefined ? error : new JsonRpcError(REVERTED, plain(said))
    }
  }
}
