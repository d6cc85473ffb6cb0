/**
 * What wallets of draft 13 of OpenID4VCI need: nonces without a nonce endpoint, and error codes of their time. Only where
 * the configuration says so.
 */
import { type ErrorCode, ProtocolError } from '../../protocol/error.ts'
import type { CredentialResponse } from '../../protocol/oid4vci.ts'
import type { IssuerContext } from '../context.ts'
import { makeNonce, NONCE_SECONDS } from './nonce.ts'

/** Members of a token response, a credential response or an error. */
export function draft13Nonce({ secrets, random, now }: IssuerContext, sessionId: string) {
  const nonce = makeNonce(secrets.nonce, sessionId, random(16), now())
  return { c_nonce: nonce, c_nonce_expires_in: NONCE_SECONDS }
}

const codes: Partial<Record<ErrorCode, ErrorCode>> = {
  invalid_nonce: 'invalid_proof',
  unknown_credential_configuration: 'unsupported_credential_type',
}

/** The refusal of a credential request in the words of draft 13; with a nonce where one was missing or no good. */
export function inDraft13(context: IssuerContext, sessionId: string, error: unknown): unknown {
  if (!(error instanceof ProtocolError)) return error
  const code = codes[error.code] ?? error.code
  const members = code === 'invalid_proof' ? draft13Nonce(context, sessionId) : {}
  return new ProtocolError(code, error.message, { cause: error.cause, members, challenge: error.challenge })
}

/** As up to draft 14: one credential, beside the list. */
export function withSingle(response: CredentialResponse): CredentialResponse {
  const [first] = response.credentials ?? []
  return first === undefined ? response : { ...response, credential: first.credential }
}
