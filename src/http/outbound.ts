/**
 * What a service asks of other servers: callbacks, status lists, the keys of an authorization server. Who is asked is
 * bounded in size and time, and never redirects us. `bin/outbound.ts` does it.
 */

export interface OutboundRequest {
  readonly url: string
  /** GET when absent. */
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** In the place of `body`, where it is no text. */
  readonly bytes?: Uint8Array
  /** Of the whole exchange. */
  readonly timeoutMs: number
  /** Of the answer's body, as it comes over the wire and as it is after its content encoding was undone. */
  readonly maxBytes: number
  /** Whether the address may be one of this machine or its network, after resolution; then plain http is taken too. */
  readonly allowPrivateAddresses: boolean
}

export interface OutboundResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** Rejects with an {@link OutboundError} when there is no whole answer. A redirect is an answer like any other. */
export type Outbound = (request: OutboundRequest) => Promise<OutboundResponse>

/** `message` says why, in words for an operator; `limit`, which one of the request was met, where one was. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError'
  readonly limit: 'time' | 'size' | undefined
  constructor(message: string, limit?: 'time' | 'size') {
    super(message)
    this.limit = limit
  }
}
