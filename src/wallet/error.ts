/** The one way the wallet gives up: a code for programs, and a sentence that tells a person what is wrong and what to do. */
import { MalformedError } from '../codec/malformed.ts'

export type WalletErrorCode =
  /** The link itself cannot be used. */
  | 'invalid_link'
  | 'invalid_offer'
  /** Metadata of an issuer or of its authorization server. */
  | 'invalid_metadata'
  | 'invalid_credential'
  | 'invalid_request_object'
  /** An answer that is not what its endpoint owes: its media type, its members, its size, a redirect. */
  | 'invalid_response'
  /** Allowed by the specifications, and nothing this wallet can do. */
  | 'unsupported'
  /** Plain http to somewhere that is not this machine or its network. */
  | 'insecure_address'
  | 'unreachable'
  /** The issuer takes longer to decide than the wallet waits. */
  | 'not_yet'
  /** The other side said no; `server` holds what it said. */
  | 'refused'
  /** The wallet has nothing that answers the request. */
  | 'cannot_answer'
  | 'not_found'
  /** The issuer wants a transaction code, and nobody knows it here. */
  | 'needs_tx_code'
  /** The person said no. */
  | 'not_agreed'
  | 'unreadable_credential'

/** An error body. RFC 6749 section 5.2. */
export interface ServerError {
  readonly error: string
  readonly error_description?: string
}

export class WalletError extends Error {
  override readonly name = 'WalletError'
  readonly code: WalletErrorCode
  readonly server: ServerError | undefined

  constructor(code: WalletErrorCode, message: string, more: { readonly server?: ServerError; cause?: unknown } = {}) {
    super(message, 'cause' in more ? { cause: more.cause } : undefined)
    this.code = code
    this.server = more.server
  }
}

/** Throws a {@link WalletError}. */
export function refuse(code: WalletErrorCode, message: string, cause?: unknown): never {
  throw new WalletError(code, message, { cause })
}

/** What `read` gives. Refuses with `code` when it finds that the bytes are not what they should be; `what` says which. */
export function orRefuse<T>(code: WalletErrorCode, what: string, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof MalformedError)) throw error
    return refuse(code, `${what}: ${error.message}`)
  }
}
