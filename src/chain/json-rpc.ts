/**
 * JSON-RPC 2.0 as chains speak it: a call takes a method with its parameters, and returns the `result`. A server
 * answers (`bin/chain/json-rpc-http.ts`), or a directory of blocks does (`local/`).
 */
import { isObject, type Json, own, parseJson } from '../codec/json.ts'
import { orUndefined } from '../codec/malformed.ts'

/**
 * Calls a method. Rejects with a {@link JsonRpcError} when the answer is an error, with an {@link AnswerTooLargeError},
 * and with any other error when there was no answer.
 */
export type JsonRpc = (method: string, params: readonly unknown[]) => Promise<unknown>

/** The code of a call that was reverted. */
export const REVERTED = 3

/** The `error` of an answer by JSON-RPC. */
export class JsonRpcError extends Error {
  override readonly name = 'JsonRpcError'
  readonly code: number
  /** The data that a call was reverted with. */
  readonly data: unknown
  constructor(code: number, message: string, data?: unknown, options?: ErrorOptions) {
    super(message, options)
    this.code = code
    this.data = data
  }
}

/** The error for an answer that is larger than what is read of one. */
export class AnswerTooLargeError extends Error {
  override readonly name = 'AnswerTooLargeError'
}

/** Writes a question as it is posted to a server. */
export function writeQuestion(id: number, method: string, params: readonly unknown[]): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

/**
 * Returns the `result` of an answer to question `id`; undefined when `json` is no such answer. Throws a {@link
 * JsonRpcError}.
 */
export function readResult(json: string | Uint8Array, id: number): Json | undefined {
  const answer = orUndefined(() => parseJson(json))
  if (!isObject(answer)) return undefined
  const error = own(answer, 'error')
  if (isObject(error)) {
    const [code, message] = [own(error, 'code'), own(error, 'message')]
    const sentence = typeof message === 'string' ? message : 'it does not say why'
    throw new JsonRpcError(typeof code === 'number' ? code : 0, sentence, own(error, 'data'))
  }
  return own(answer, 'id') === id ? own(answer, 'result') : undefined
}
