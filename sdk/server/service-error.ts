/** The error of a request to an issuer or a verifier. */

/** The ends of a request without an answer of the service. */
export type ConnectionErrorCode =
  /** There was no connection, or it broke. */
  | 'unreachable'
  /** The deadline of the call passed. */
  | 'deadline'
  /** The answer is not JSON of the service: something else listens there, such as a proxy. */
  | 'foreign_answer'

/**
 * A request that the service refused, or that did not reach it. `message` says what is wrong and what to do; it has
 * nothing of the request in it that is secret.
 */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  /** The code of the service's error, such as `invalid_request`, or of the connection. */
  readonly code: string
  /** The HTTP status; undefined without an answer. */
  readonly status: number | undefined
  /** The id of the request in the log of the service (`X-Request-Id`); undefined without an answer. */
  readonly requestId: string | undefined
  /** The seconds after which the service wants to be asked again (`Retry-After`). */
  readonly retryAfterSeconds: number | undefined

  constructor(code: string, message: string, details: ServiceErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.status = details.status
    this.requestId = details.requestId
    this.retryAfterSeconds = details.retryAfterSeconds
  }
}

export interface ServiceErrorDetails {
  readonly status?: number | undefined
  readonly requestId?: string | undefined
  readonly retryAfterSeconds?: number | undefined
  readonly cause?: unknown
}
