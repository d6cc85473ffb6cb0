/**
 * The one way to say no to a caller: an error code of a specification, and a sentence that says what to do.
 * `http/error-response.ts` turns it into `{"error", "error_description"}`. A failed verification is no error but a report.
 */
import { MalformedError } from '../codec/malformed.ts'

/** Every code we answer with, and its HTTP status. */
export const statusOf = {
  // RFC 6749 section 5.2, RFC 6750 section 3.1
  invalid_request: 400,
  invalid_grant: 400,
  unsupported_grant_type: 400,
  invalid_token: 401,
  insufficient_scope: 403,
  // RFC 9449 section 5; 401 at a protected resource, section 7.1
  invalid_dpop_proof: 400,
  use_dpop_nonce: 400,
  // RFC 9396 section 14.6
  invalid_authorization_details: 400,
  // OpenID4VCI 1.0, Credential Error Response
  invalid_credential_request: 400,
  unknown_credential_configuration: 400,
  unknown_credential_identifier: 400,
  invalid_proof: 400,
  invalid_nonce: 400,
  invalid_encryption_parameters: 400,
  credential_request_denied: 400,
  // OpenID4VCI 1.0, Deferred Credential Error Response
  invalid_transaction_id: 400,
  // Drafts of OpenID4VCI up to 15, Deferred Credential Error Response
  issuance_pending: 400,
  // OpenID4VCI 1.0, Notification Error Response
  invalid_notification_id: 400,
  invalid_notification_request: 400,
  // Its draft 13, to wallets of that draft
  unsupported_credential_type: 400,
  // Administrative endpoints
  unauthorized: 401,
  not_found: 404,
  invalid_state: 409,
  method_not_allowed: 405,
  idempotency_conflict: 409,
  gone: 410,
  request_too_large: 413,
  unsupported_media_type: 415,
  too_many_requests: 429,
  server_error: 500,
  // Token Status List, Historical Resolution
  not_implemented: 501,
  temporarily_unavailable: 503,
} as const

export type ErrorCode = keyof typeof statusOf

/** `message` is for the caller, like `members`, which its body has beside it; `cause` is for the log and never leaves the process. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
  readonly code: ErrorCode
  readonly members: Readonly<Record<string, string | number>>
  /** `WWW-Authenticate` of a 401, where the code does not say it all. */
  readonly challenge: string | undefined
  /** `Retry-After` of a 503. RFC 9110 section 10.2.3. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: ErrorCode,
    description: string,
    {
      members,
      challenge,
      retryAfterSeconds,
      ...options
    }: {
      readonly cause?: unknown
      readonly members?: ProtocolError['members']
      readonly challenge?: string | undefined
      readonly retryAfterSeconds?: number
    } = {},
  ) {
    super(description, options)
    this.code = code
    this.members = members ?? {}
    this.challenge = challenge
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Refuses the request: throws a {@link ProtocolError} that the caller sees. */
export function refuse(code: ErrorCode, description: string, cause?: unknown): never {
  throw new ProtocolError(code, description, { cause })
}

/** What `read` gives. Refuses with `code` when it finds that the bytes are not what they should be; `what` says which. */
export function orRefuse<T>(code: ErrorCode, what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    return refuseMalformed(code, what, error)
  }
}

/** The same for an error that was caught already; one of another kind is thrown again. */
export function refuseMalformed(code: ErrorCode, what: string, error: unknown): never {
  if (!(error instanceof MalformedError)) throw error
  return refuse(code, `${what}: ${error.message}`, error)
}
