/**
 * Verifies access tokens of an external authorization server, and finds their sessions. Verifies JWTs by RFC 9068
 * section 4, or introspects the token by RFC 7662 section 2.2.
 */
import { type JsonObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import { type Jws, readJws } from '../../codec/jws.ts'
import { readOrElse } from '../../codec/malformed.ts'
import { refuse } from '../../protocol/error.ts'
import { AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT } from '../../protocol/grant-types.ts'
import type { Row } from '../../store/store.ts'
import { acceptedAudiences } from '../issuer-addresses.ts'
import { hasGrant, type IssuanceSession, type OfferGrant } from '../session.ts'
import type { AuthorizationServerClient } from './authorization-server-client.ts'
import type { AccessContext } from './context.ts'
import { findIdOfDerivedCode } from './derived-code.ts'
import { jwtTimeProblem, type TimeRule } from './jwt-checks.ts'
import { findSessionIdOfPreAuthorizedCode } from './pre-authorized-code.ts'

/** The session that a token gives access to, and the thumbprint of the token's DPoP key, if any. */
export interface SessionOfToken {
  readonly sessionId: string
  readonly row: Row<IssuanceSession>
  readonly jkt: string | undefined
  /**
   * The configurations that authorization details restrict the token to; undefined if all of the session are allowed.
   */
  readonly authorizedIds: readonly string[] | undefined
  /** Refuses with `invalid_token` if the token does not give access to the given version of the session. */
  readonly refuseUnlessOpen: (session: IssuanceSession) => void
}

/** An access token, and the network that its request came from. */
export interface PresentedToken {
  readonly token: string
  readonly network: string
}

/**
 * How the times of a token are checked. None is required, because each is optional in an introspection response (RFC
 * 7662).
 */
const TOKEN_TIMES: TimeRule = { requires: [] }
const SIGNED_TOKEN_TIMES: TimeRule = { requires: ['exp', 'iat'] }

type ClockContext = Pick<AccessContext, 'now' | 'config'>

/**
 * Returns the session for an access token. A claim of the token has the session's pre-authorized code or issuer_state,
 * and the token is accepted until the session expires. Refuses with `invalid_token`, with `insufficient_scope` a valid
 * token without a session, and with `temporarily_unavailable` if the server cannot be reached.
 */
export async function requireSessionOfExternalToken(
  context: AccessContext,
  server: AuthorizationServerClient,
  { token, network }: PresentedToken,
): Promise<SessionOfToken> {
  const claims = await (server.config.introspection
    ? readIntrospection(server, await server.introspect(token, network))
    : verifySignedToken(context, server, token))
  refuseUnlessTimely(context, claims)
  const jkt = readBoundKey(claims)
  const { sessionId, grant } = await findNamedSession(context, server, claims)
  const row = sessionId === undefined ? undefined : await context.store.get('issuance_session', sessionId)
  if (sessionId === undefined || row === undefined || !hasGrant(row.value, grant))
    return refuseExternalToken('its session is unknown')
  refuseOtherAudience(context, server, { claims, sessionId })
  const refuseUnlessOpen = (session: IssuanceSession): void => {
    refuseUnlessTimely(context, claims)
    if (context.now().getTime() >= session.expiresAt) refuseExternalToken('its session has expired')
  }
  refuseUnlessOpen(row.value)
  return { sessionId, row, jkt, authorizedIds: undefined, refuseUnlessOpen }
}

/**
 * Returns the session whose pre-authorized code or issuer_state is in the claims. Refuses with `insufficient_scope` a
 * token without both.
 */
async function findNamedSession(
  context: AccessContext,
  { config }: AuthorizationServerClient,
  claims: JsonObject,
): Promise<{ readonly sessionId: string | undefined; readonly grant: OfferGrant }> {
  const [code, state] = [stringMemberOf(claims, config.sessionClaim), stringMemberOf(claims, config.issuerStateClaim)]
  if (!code && !state) return refuse('insufficient_scope', 'the access token is for no issuance session')
  const stateSessionId = state ? findIdOfDerivedCode(context.secrets.issuerState, state) : undefined
  if (!code) return { sessionId: stateSessionId, grant: AUTHORIZATION_CODE_GRANT }
  const sessionId = await findSessionIdOfPreAuthorizedCode(context, code)
  if (state && stateSessionId !== sessionId) return refuseExternalToken('it names two sessions')
  return { sessionId, grant: PRE_AUTHORIZED_GRANT }
}

/**
 * Returns the thumbprint of the DPoP key that the token is bound to; undefined for a token that is not bound. Refuses
 * other bindings (such as mTLS, RFC 8705), which this service cannot verify. RFC 9449 section 6.1.
 */
function readBoundKey(claims: JsonObject): string | undefined {
  const binding = memberOf(claims, 'cnf')
  if (binding === undefined) return undefined
  const jkt = stringMemberOf(binding, 'jkt')
  return jkt ?? refuseExternalToken('it is bound to a key in a way other than DPoP')
}

async function verifySignedToken(
  context: ClockContext,
  server: AuthorizationServerClient,
  token: string,
): Promise<JsonObject> {
  const jws = readToken(token)
  const { header, payload } = jws
  // `typ` is compared without regard to case, and its prefix is optional. RFC 7515 section 4.1.9.
  if (!/^(application\/)?at\+jwt$/i.test(stringMemberOf(header, 'typ') ?? ''))
    refuseExternalToken('its typ is not at+jwt')
  if (memberOf(payload, 'iss') !== server.config.issuer) refuseExternalToken('it is of another issuer')
  // Checks the times before the keys, so that an expired token causes no request for keys.
  refuseUnlessTimely(context, payload, SIGNED_TOKEN_TIMES)
  return (await server.hasSigned(jws)) ? payload : refuseExternalToken('it is not signed by a key of its issuer')
}

/** Returns the claims of an introspection response. Refuses a token that is not active or is of another issuer. */
function readIntrospection(server: AuthorizationServerClient, claims: JsonObject): JsonObject {
  if (memberOf(claims, 'active') !== true) refuseExternalToken('its issuer says that it is not active')
  const issuer = memberOf(claims, 'iss')
  if (issuer !== undefined && issuer !== server.config.issuer) refuseExternalToken('it is of another issuer')
  return claims
}

function readToken(token: string): Jws {
  return readOrElse(
    () => readJws(token),
    (error) => refuseExternalToken('it is not a JWT that can be read', error),
  )
}

/** Refuses a token that has expired or is not valid yet. Allows for a clock skew of `clockSkewSeconds`. */
function refuseUnlessTimely({ now, config }: ClockContext, claims: JsonObject, rule: TimeRule = TOKEN_TIMES): void {
  const problem = jwtTimeProblem(claims, rule, { now: now(), clockSkewSeconds: config.clockSkewSeconds })
  if (problem !== undefined) refuseExternalToken(problem)
}

/**
 * Refuses a token for another audience. An introspection response may lack `aud`, unless the operator configured an
 * audience. RFC 7662 section 2.2.
 */
function refuseOtherAudience(
  context: AccessContext,
  { config }: AuthorizationServerClient,
  { claims, sessionId }: { readonly claims: JsonObject; readonly sessionId: string },
): void {
  const audience = memberOf(claims, 'aud')
  if (audience === undefined && config.introspection !== undefined && config.audience === undefined) return
  const ownAudiences = config.audience === undefined ? acceptedAudiences(context.config, sessionId) : [config.audience]
  const audiences = Array.isArray(audience) ? audience : [audience]
  if (!audiences.some((name) => ownAudiences.some((each) => each === name)))
    refuseExternalToken('it is for another audience')
}

function refuseExternalToken(reason: string, cause?: unknown): never {
  return refuse('invalid_token', `the access token is not good here: ${reason}; request a new one for this issuer`, {
    cause,
  })
}
