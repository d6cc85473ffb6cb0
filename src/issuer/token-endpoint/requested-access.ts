/**
 * The credential configurations that a token request asks for, within those of its grant: by scope in a refresh, and by
 * authorization details. RFC 6749 sections 3.3 and 6, RFC 9396 section 6.
 */
import { refuse } from '../../protocol/error.ts'
import { REFRESH_GRANT } from '../../protocol/grant-types.ts'
import { readAuthorizationDetails } from '../access/authorization-details.ts'
import { groupByScope } from '../configurations.ts'
import type { IssuerContext } from '../context.ts'
import { acceptedIdentifiers } from '../issuer-addresses.ts'
import type { TokenRequest } from './schemas.ts'

/** The access that a token gives. */
export interface Access {
  /** The configurations that the token is restricted to; all of the session when absent. */
  readonly authorizedIds?: readonly string[] | undefined
  /** The scope that the token response names; absent where its `authorization_details` alone say what it is for. */
  readonly scope?: string | undefined
}

/** A token request, and the session of its grant. */
interface RequestForSession {
  readonly form: TokenRequest
  readonly sessionId: string
  /** The configurations of the session. */
  readonly configurationIds: readonly string[]
}

/**
 * Returns what the token is for: the part of the grant that the request asks for, or all of the grant. Refuses with
 * `invalid_scope` or `invalid_authorization_details` what the grant does not have.
 */
export async function readRequestedAccess(
  context: IssuerContext,
  { form, sessionId, configurationIds }: RequestForSession,
  granted: Access,
): Promise<Access> {
  const { grant_type: grantType, authorization_details: details, scope = '' } = form
  // With a code, the scope is that of the authorization request.
  const scopes = grantType === REFRESH_GRANT ? scope.split(' ').filter(Boolean) : []
  if (!details && scopes.length === 0) return granted
  const availableIds = granted.authorizedIds ?? configurationIds
  const identifiers = acceptedIdentifiers(context.config, sessionId)
  const detailedIds = details ? readAuthorizationDetails(details, availableIds, identifiers) : []
  const ids = [...new Set([...(await requireIdsOfScopes(context, scopes, availableIds)), ...detailedIds])]
  const isPart = ids.length < availableIds.length
  return {
    authorizedIds: details !== undefined || isPart ? ids : granted.authorizedIds,
    scope: scopes.length > 0 ? scopes.join(' ') : isPart ? undefined : granted.scope,
  }
}

async function requireIdsOfScopes(
  context: IssuerContext,
  scopes: readonly string[],
  availableIds: readonly string[],
): Promise<readonly string[]> {
  if (scopes.length === 0) return []
  const idsByScope = await groupByScope(context, availableIds)
  return scopes.flatMap((name) => idsByScope.get(name) ?? refuseScope())
}

function refuseScope(): never {
  return refuse('invalid_scope', 'scope: it names what was not granted; leave it out, or ask for a part of the grant')
}
