/**
 * Refusals: an error code of a specification, and a description for the caller. `http/error-response.ts` sends it as
 * `{"error", "error_description"}`. A failed verification is a report, not a refusal.
 */
import { MalformedError } from '../codec/malformed.ts'

/** The HTTP status of each error code. */
export const HTTP_STATUS = {
  // RFC 6749 section 5.2, RFC 6750 section 3.1
  invalid_request: 400,
  invalid_grant: 400,
  unsupported_grant_type: 400,
  // RFC 6749 section 5.2; Attestation-Based Client Authentication, Errors
  invalid_client: 400,
  invalid_client_attestation: 400,
  use_attestation_challenge: 400,
  invalid_token: 401,
  insufficient_scope: 403,
  // RFC 6749 section 4.1.2.1
  invalid_scope: 400,
  unsupported_response_type: 400,
  // RFC 9101 section 7
  invalid_request_uri: 400,
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
  // OpenID4VCI draft 13, for wallets of that draft
  unsupported_credential_type: 400,
  // Codes of this project, for wallets and applications
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

export type ErrorCode = keyof typeof HTTP_STATUS

/** The errors of an access token and of its DPoP proof. RFC 6750 section 3.1, RFC 9449 section 7.1. */
export const PROTECTED_RESOURCE_ERRORS: readonly ErrorCode[] = [
  'invalid_token',
  'invalid_dpop_proof',
  'use_dpop_nonce',
  'insufficient_scope',
]

/** Details of a refusal besides its code and description. */
export interface RefusalOptions {
  /** The cause, which is only logged. */
  readonly cause?: unknown
  readonly members?: Readonly<Record<string, string | number>>
  /** The `WWW-Authenticate` header of a 401 or 403, if the code alone does not determine it. */
  readonly challenge?: string | undefined
  /** The `Retry-After` header of a 429 or 503. RFC 9110 section 10.2.3. */
  readonly retryAfterSeconds?: number | undefined
}

/** The error that refuses a request. `message` and `members` are sent to the caller; `cause` is only logged. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
  readonly code: ErrorCode
  readonly members: NonNullable<RefusalOptions['members']>
  readonly challenge: string | undefined
  readonly retryAfterSeconds: number | undefined

  constructor(
    code: ErrorCode,
    description: string,
    { members, challenge, retryAfterSeconds, ...options }: RefusalOptions = {},
  ) {
    super(description, options)
    this.code = code
    this.members = members ?? {}
    this.challenge = challenge
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** Refuses the request: throws a {@link ProtocolError}, which becomes the response. */
export function refuse(code: ErrorCode, description: string, options: RefusalOptions = {}): never {
  throw new ProtocolError(code, description, options)
}

/** Returns the result of `read`. Refuses with `code` if `read` throws a MalformedError; `what` names the input. */
export function readOrRefuse<T>(code: ErrorCode, what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    return refuseMalformed(code, what, error)
  }
}

/** Refuses with `code` if `error` is a MalformedError, and otherwise rethrows it. */
export function refuseMalformed(code: ErrorCode, what: string, error: unknown): never {
  if (!(error instanceof MalformedError)) throw error
  return refuse(code, `${what}: ${error.message}`, { cause: error })
}

/** Replaces characters that RFC 6749 section 5.2 does not allow in descriptions. */
export function plainAscii(text: string): string {
  return text.replace(/["\\]/g, "'").replace(/[^ -~]/g, '?')
}
