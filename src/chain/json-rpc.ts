/**
 * JSON-RPC 2.0 as chains speak it: a method and its parameters in, the `result` out. Who answers is not said here: a server
 * (`bin/chain/json-rpc-http.ts`), or a directory of blocks (`local/`).
 */

/** Rejects with a {@link JsonRpcError} when it was answered with an error, and with any other when there was no answer. */
export type JsonRpc = (method: string, params: readonly unknown[]) => Promise<unknown>

/** The `error` of an answer. */
export class JsonRpcError extends Error {
  override readonly name = 'JsonRpcError'
  readonly code: number
  /** Of a call that was reverted: what it was reverted with. */
  readonly data: unknown
  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}
