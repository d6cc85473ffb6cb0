/** The chain of an application: over the JSON-RPC of a node, by `fetch`, in Node and in browsers. */
import { ChainError } from '../../src/chain/chain.ts'
import { createEvmChain, type EvmChain, fetchChainId } from '../../src/chain/evm/evm.ts'
import { AnswerTooLargeError, type JsonRpc, readResult, writeRpcRequest } from '../../src/chain/json-rpc.ts'
import type { Json } from '../../src/codec/json.ts'
import { readBounded } from './bounded.ts'
import { systemCode } from './errors.ts'

export interface NodeChainOptions {
  readonly fetch: typeof fetch
  /** How many blocks must stand on one before it counts; 0, the latest, unless given. */
  readonly confirmations?: number
  /** The time for each question; ten seconds unless given. */
  readonly deadlineMs?: number
}

const DEADLINE_MS = 10_000
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** Returns the EVM chain whose node answers at `url`. Rejects with a ChainError when it does not answer. */
export async function nodeChain(url: string, options: NodeChainOptions): Promise<EvmChain> {
  const rpc = fetchJsonRpc(url, options)
  return createEvmChain(rpc, { id: await fetchChainId(rpc), confirmations: options.confirmations ?? 0 })
}

function fetchJsonRpc(url: string, { fetch, deadlineMs = DEADLINE_MS }: NodeChainOptions): JsonRpc {
  let last = 0
  return async (method, params) => {
    last += 1
    const id = last
    const signal = AbortSignal.timeout(deadlineMs)
    const headers = { 'content-type': 'application/json' }
    const body = writeRpcRequest(id, method, params)
    const exchange = async (): Promise<Uint8Array | undefined> => {
      const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' })
      return readBounded(response, MAX_ANSWER_BYTES, signal)
    }
    const answer = await exchange().catch((error: unknown) => {
      const why = signal.aborted
        ? `did not answer within ${deadlineMs / 1000} s`
        : `could not be reached${systemCode(error)}`
      throw new ChainError(`${nameOf(url)} ${why}`)
    })
    return resultOf(answer, id)
  }
}

/** Returns the name of a node for messages, without its path, which may be a secret. */
function nameOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : 'its node'
}

function resultOf(bytes: Uint8Array | undefined, id: number): Json {
  if (bytes === undefined) throw new AnswerTooLargeError('the answer of its node is too large')
  const result = readResult(bytes, id)
  if (result === undefined) throw new ChainError('its node answers with no JSON-RPC')
  return result
}
