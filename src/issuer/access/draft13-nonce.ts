/**
 * The nonce in responses to wallets of draft 13, which has no nonce endpoint. Draft 13, Successful Token Response and
 * Credential Response.
 */
import { makeNonce, NONCE_SECONDS, type NonceContext } from './c-nonce.ts'

/** Makes `c_nonce` and `c_nonce_expires_in` for a token response, a credential response or an error response. */
export function makeDraft13NonceMembers(context: NonceContext, sessionId: string) {
  return { c_nonce: makeNonce(context, sessionId), c_nonce_expires_in: NONCE_SECONDS }
}
