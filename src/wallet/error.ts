/** The error of the wallet: a code for programs, and a sentence that tells a person what is wrong and what to do. */

import { removeControlCharacters } from '../codec/control-characters.ts'
import { MalformedError } from '../codec/malformed.ts'

export type WalletErrorCode =
  /** The link itself cannot be used. */
  | 'invalid_link'
  | 'invalid_offer'
  /** Metadata of an issuer or of its authorization server. */
  | 'invalid_metadata'
  | 'invalid_credential'
  | 'invalid_request_object'
  /** A response that does not conform to its endpoint: in its media type, members or size, or a redirect. */
  | 'invalid_response'
  /** Allowed by the specifications, but not supported by this wallet. */
  | 'unsupported'
  /** Plain http to a public host. */
  | 'insecure_address'
  | 'unreachable'
  /** The issuer, or the person in the browser, takes longer than the wallet waits. */
  | 'not_yet'
  /** The server refused; `server` has its error response. */
  | 'refused'
  /** No stored credential satisfies the request. */
  | 'cannot_answer'
  | 'not_found'
  /** The issuer requires a transaction code, which was not provided. */
  | 'needs_tx_code'
  /** The person declined. */
  | 'not_agreed'
  | 'unreadable_credential'

/** An error body. RFC 6749 section 5.2. */
export interface ServerError {
  readonly error: string
  readonly error_description?: string
}

/** An error of the wallet. Its message is one line, since it may have text of a server. */
export class WalletError extends Error {
  override readonly name = 'WalletError'
  readonly code: WalletErrorCode
  readonly server: ServerError | undefined

  constructor(
    code: WalletErrorCode,
    message: string,
    details: { readonly server?: ServerError; cause?: unknown } = {},
  ) {
    super(removeControlCharacters(message), 'cause' in details ? { cause: details.cause } : undefined)
    this.code = code
    this.server = details.server
  }
}

/** Throws a {@link WalletError}. */
export function refuseWith(code: WalletErrorCode, message: string, cause?: unknown): never {
  throw new WalletError(code, message, { cause })
}

/**
 * Returns the result of `read`. Throws a {@link WalletError} with `code` when `read` throws a MalformedError; `what`
 * names the input.
 */
export function readOrRefuseWith<T>(code: WalletErrorCode, what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    return refuseMalformedWith(code, what, error)
  }
}

/** Throws a {@link WalletError} with `code` if `error` is a MalformedError, and otherwise rethrows it. */
export function refuseMalformedWith(code: WalletErrorCode, what: string, error: unknown): never {
  if (!(error instanceof MalformedError)) throw error
  return refuseWith(code, `${what}: ${error.message}`, error)
}
