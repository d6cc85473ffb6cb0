/** JSON-RPC over HTTP, with limits for time and size, and with retries. */
import { setTimeout as sleep } from 'node:timers/promises'
import { AnswerTooLargeError, type JsonRpc, readResult, writeRpcRequest } from '../../chain/json-rpc.ts'
import type { Json } from '../../codec/json.ts'
import { type HttpClientRequest, type HttpClientResponse, type Outbound, OutboundError } from '../../http/outbound.ts'
import { hasTooManyValues, MAX_ANSWER_BYTES, MAX_COMMAS } from './answer-size.ts'

const TIMEOUT_MS = 10_000
/** The pauses before retries. All used methods may be repeated. */
const PAUSES_MS = [100, 400]
const BUSY = [429, 502, 503, 504]

export interface RequestLimits {
  readonly pausesMs?: readonly number[]
  /** The time limit of each attempt. */
  readonly timeoutMs?: number
}

/** Creates a client. Plain http is only allowed for private hosts. Rejects like {@link JsonRpc}. */
export function createHttpJsonRpc(
  url: string,
  outbound: Outbound,
  { pausesMs = PAUSES_MS, timeoutMs = TIMEOUT_MS }: RequestLimits = {},
): JsonRpc {
  let lastId = 0
  const attempt = async (body: string, id: number, [pause, ...more]: readonly number[]): Promise<Json> => {
    try {
      const response = await outbound({ ...requestOf(url, body), timeoutMs })
      if (pause === undefined || !BUSY.includes(response.status)) return resultOf(response, id)
    } catch (error) {
      if (error instanceof OutboundError && error.limit === 'size')
        throw new AnswerTooLargeError(error.message, { cause: error })
      if (pause === undefined || !isTemporary(error)) throw error
    }
    await sleep(pause)
    return attempt(body, id, more)
  }
  return (method, params) => {
    lastId += 1
    return attempt(writeRpcRequest(lastId, method, params), lastId, pausesMs)
  }
}

function requestOf(url: string, body: string): Omit<HttpClientRequest, 'timeoutMs'> {
  return {
    url,
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
    maxBytes: MAX_ANSWER_BYTES,
    // The operator chooses the URL of the chain, so private addresses are allowed.
    allowPrivateAddresses: true,
  }
}

/** Tests whether to retry after `error`: not after a timeout. */
function isTemporary(error: unknown): boolean {
  return error instanceof OutboundError && error.limit === undefined
}

function resultOf({ status, body }: HttpClientResponse, id: number): Json {
  if (hasTooManyValues(body)) throw new AnswerTooLargeError(`the answer has more than ${MAX_COMMAS} values`)
  const result = readResult(body, id)
  if (result === undefined) throw new Error(`its node answers with status ${status} and no JSON-RPC`)
  return result
}
