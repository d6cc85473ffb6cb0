/**
 * The nonce in responses to wallets that do not fetch one. Wallets of draft 13, which has no nonce endpoint, look for
 * it in each response (Draft 13, Successful Token Response and Credential Response). Some wallets of the final
 * specification fetch one nonce for the first credential of an offer, and look for the next one in the response.
 */
import type { CredentialResponse } from '../../protocol/oid4vci.ts'
import { makeNonce, NONCE_SECONDS, type NonceContext } from './c-nonce.ts'
import type { OpenSession } from './open-session.ts'

/** Makes `c_nonce` and `c_nonce_expires_in` for a token response, a credential response or an error response. */
export function makeNonceMembers(context: NonceContext, sessionId: string) {
  return { c_nonce: makeNonce(context, sessionId), c_nonce_expires_in: NONCE_SECONDS }
}

/** Adds a nonce for the next credential to a response, if the access token is for several credentials. */
export function addNextNonce(
  context: NonceContext,
  { sessionId, row, authorizedIds = row.value.configurationIds }: OpenSession,
  response: CredentialResponse,
): CredentialResponse {
  const hasNonce = response.c_nonce !== undefined
  return authorizedIds.length > 1 && !hasNonce ? { ...response, ...makeNonceMembers(context, sessionId) } : response
}
