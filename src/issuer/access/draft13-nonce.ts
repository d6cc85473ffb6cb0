/**
 * The nonce in answers to wallets of draft 13, which fetch none from a nonce endpoint. Draft 13, Successful Token
 * Response and Credential Response.
 */
import { makeNonce, NONCE_SECONDS, type NonceContext } from './c-nonce.ts'

/** Makes the members by which an answer has a nonce: a token response, a credential response or an error. */
export function makeDraft13NonceMembers(context: NonceContext, sessionId: string) {
  return { c_nonce: makeNonce(context, sessionId), c_nonce_expires_in: NONCE_SECONDS }
}
