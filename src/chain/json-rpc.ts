/**
 * The client side of JSON-RPC 2.0, which chains use: a call has a method and parameters, and returns the `result`. A
 * server answers it (`bin/chain/json-rpc-http.ts`), or a local chain does (`local/`).
 */
import { isObject, type Json, memberOf, parseJson } from '../codec/json.ts'
import { readOrUndefined } from '../codec/malformed.ts'

/**
 * Calls a method. Rejects with a {@link JsonRpcError} when the answer is an error, with an {@link AnswerTooLargeError}
 * when it is too large, and with any other error when there is no answer.
 */
export type JsonRpc = (method: string, params: readonly unknown[]) => Promise<unknown>

/** The error code of a call that the contract reverted. */
export const REVERTED = 3

/** The error of a JSON-RPC answer with the member `error`. */
export class JsonRpcError extends Error {
  override readonly name = 'JsonRpcError'
  readonly code: number
  /** The data of the error; for a revert, the bytes that the contract returned. */
  readonly data: unknown
  constructor(code: number, message: string, data?: unknown, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.data = data
  }
}

/** The error for an answer that is larger than the limit. */
export class AnswerTooLargeError extends Error {
  override readonly name = 'AnswerTooLargeError'
}

/** Returns the JSON text of a request. */
export function writeRpcRequest(id: number, method: string, params: readonly unknown[]): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

/**
 * Returns the `result` of the answer to the request `id`; undefined when `json` is not such an answer. Throws a {@link
 * JsonRpcError} when the answer is an error.
 */
export function readResult(json: string | Uint8Array, id: number): Json | undefined {
  const answer = readOrUndefined(() => parseJson(json))
  if (!isObject(answer)) return undefined
  const error = memberOf(answer, 'error')
  if (isObject(error)) {
    const [code, message] = [memberOf(error, 'code'), memberOf(error, 'message')]
    const sentence = typeof message === 'string' ? message : 'it does not say why'
    throw new JsonRpcError(typeof code === 'number' ? code : 0, sentence, memberOf(error, 'data'))
  }
  return memberOf(answer, 'id') === id ? memberOf(answer, 'result') : undefined
}
