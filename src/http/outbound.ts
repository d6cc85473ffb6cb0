/**
 * Requests to other servers: callbacks, status lists, the keys of an authorization server. Each is bounded in size and
 * time, and follows no redirect. `bin/outbound.ts` sends them.
 */

import type { TraceHeaders } from '../codec/trace-context.ts'

export interface HttpClientRequest {
  readonly url: string
  /** The method; GET when absent. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** A body of bytes in place of the text in `body`. */
  readonly bytes?: Uint8Array
  /** The time limit for the whole exchange. */
  readonly timeoutMs: number
  /** The most bytes of the response body, both as sent and with its content encoding undone. */
  readonly maxBytes: number
  /** True when the resolved address may be of this machine or its network; plain http is then allowed too. */
  readonly allowPrivateAddresses: boolean
  /** The trace that the request belongs to, for a receiver that is told of it. Without telemetry nobody is. */
  readonly trace?: TraceHeaders | undefined
}

export interface HttpClientResponse {
  readonly status: number
  /** The headers with names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/**
 * Sends a request. Rejects with an {@link OutboundError} when there is no complete response. A redirect is a response
 * like any other.
 */
export type Outbound = (request: HttpClientRequest) => Promise<HttpClientResponse>

/**
 * The failure of a request. `message` is for an operator; `limit` names the limit of the request that was exceeded, if
 * any.
 */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'
  readonly limit: 'time' | 'size' | undefined
  constructor(message: string, limit?: 'time' | 'size', options?: ErrorOptions) {
    super(message, options)
    this.limit = limit
  }
}
