/**
 * Finds the grant of a token request: a pre-authorized code, an authorization code, or a refresh token. OpenID4VCI 1.0,
 * Token Endpoint; RFC 6749.
 */
import { refuse } from '../../protocol/error.ts'
import { AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT, REFRESH_GRANT } from '../../protocol/grant.ts'
import type { IssuerContext } from '../context.ts'
import type { TokenRequest } from '../schemas.ts'
import { findAuthorizationCodeGrant } from './authorization-code.ts'
import type { Grant } from './grant.ts'
import { findPreAuthorizedGrant } from './pre-authorized-grant.ts'
import { makeRefreshGrant } from './refresh-token.ts'

/** Returns the grant of a token request. Refuses with `unsupported_grant_type` or `invalid_request`. */
export async function findGrant(context: IssuerContext, form: TokenRequest): Promise<Grant> {
  const hasPreAuthorized = context.config.profile === undefined
  if (form.grant_type === PRE_AUTHORIZED_GRANT && hasPreAuthorized) return findPreAuthorizedGrant(context, form)
  if (form.grant_type === REFRESH_GRANT) return makeRefreshGrant(context, form)
  if (form.grant_type === AUTHORIZATION_CODE_GRANT && context.config.codeFlow !== undefined) {
    return findAuthorizationCodeGrant(context, form)
  }
  const names = `${hasPreAuthorized ? PRE_AUTHORIZED_GRANT : AUTHORIZATION_CODE_GRANT} or ${REFRESH_GRANT}`
  return refuse(form.grant_type ? 'unsupported_grant_type' : 'invalid_request', `grant_type must be ${names}`)
}
