/**
 * The interface for requests to other servers, such as callbacks, status lists and keys. Each request is limited in
 * size and time, and redirects are not followed. `bin/network/outbound.ts` implements it.
 */

import type { TraceHeaders } from '../codec/trace-context.ts'

export interface HttpClientRequest {
  readonly url: string
  /** The method; GET when absent. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The body as bytes, instead of `body`. */
  readonly bytes?: Uint8Array
  /** The time limit for request and response. */
  readonly timeoutMs: number
  /** The maximum size of the response body, before and after decoding. */
  readonly maxBytes: number
  /** Whether the host may be this machine or in a private network; this also allows http. */
  readonly allowPrivateAddresses: boolean
  /** Whether a stranger chose the host, so that looking its name up must delay no other name. */
  readonly isHostUntrusted?: boolean
  /** The trace headers to send; only with telemetry. */
  readonly trace?: TraceHeaders | undefined
}

export interface HttpClientResponse {
  readonly status: number
  /** The headers, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/**
 * Sends a request. Rejects with an {@link OutboundError} if there is no complete response. A redirect is returned like
 * any response.
 */
export type Outbound = (request: HttpClientRequest) => Promise<HttpClientResponse>

/** The failure of a request. `message` is for operators; `limit` is the exceeded limit, if any. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'
  readonly limit: 'time' | 'size' | undefined
  constructor(message: string, limit?: 'time' | 'size', options?: ErrorOptions) {
    super(message, options)
    this.limit = limit
  }
}
