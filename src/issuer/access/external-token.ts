/**
 * Access tokens of an external authorization server: whether one is good, and which session it opens. RFC 9068 section
 * 4; RFC 7662 section 2.2 where the server is asked instead.
 */
import { isObject, type JsonObject, own, ownString } from '../../codec/json.ts'
import { type Jws, readJws } from '../../codec/jws.ts'
import { orElse } from '../../codec/malformed.ts'
import { refuse } from '../../protocol/error.ts'
import { AUTHORIZATION_CODE_GRANT, PRE_AUTHORIZED_GRANT } from '../../protocol/grant.ts'
import type { Row } from '../../store/store.ts'
import { acceptedAudiences } from '../issuer-identifier.ts'
import { hasGrant, type IssuanceSession, type OfferGrant } from '../session.ts'
import type { AccessContext } from './context.ts'
import { findIdOfDerivedCode } from './derived-code.ts'
import type { ExternalAuthorizationServer } from './external-authorization-server.ts'
import { jwtTimeProblem, type TimeRule } from './jwt-times.ts'
import { findSessionOfAnyCode } from './pre-authorized-code.ts'

/** The session that a token opens, and the thumbprint of the key that the token is bound to, where it is bound. */
export interface SessionOfToken {
  readonly sessionId: string
  readonly row: Row<IssuanceSession>
  readonly jkt: string | undefined
  /** The configurations that authorization details narrow the token to; undefined for all of the session. */
  readonly authorizedIds: readonly string[] | undefined
  /** Refuses with `invalid_token` when the token does not open the session as it is by now. */
  readonly refuseUnlessOpen: (session: IssuanceSession) => void
}

/** An access token, and the network that its request came from. */
export interface PresentedToken {
  readonly token: string
  readonly network: string
}

/** The rules for the times of a token; RFC 7662 has an introspection response leave out any of them. */
const TOKEN_TIMES: TimeRule = { times: ['exp', 'nbf', 'iat'], requires: [] }
const SIGNED_TOKEN_TIMES: TimeRule = { ...TOKEN_TIMES, requires: ['exp', 'iat'] }

type ClockContext = Pick<AccessContext, 'now' | 'config'>

/**
 * Returns the session that the token opens: that whose pre-authorized code or issuer_state is in its claim, until the
 * session expires. Refuses with `invalid_token`, with `insufficient_scope` a good token that is for no session, and
 * with `temporarily_unavailable` when the server cannot be asked.
 */
export async function findSessionOfExternalToken(
  context: AccessContext,
  server: ExternalAuthorizationServer,
  { token, network }: PresentedToken,
): Promise<SessionOfToken> {
  const claims = await (server.config.introspection
    ? checkIntrospection(server, await server.introspect(token, network))
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
 * Returns the session of the pre-authorized code or of the issuer_state in the claims. Refuses with
 * `insufficient_scope` a token without both.
 */
async function findNamedSession(
  context: AccessContext,
  { config }: ExternalAuthorizationServer,
  claims: JsonObject,
): Promise<{ readonly sessionId: string | undefined; readonly grant: OfferGrant }> {
  const [code, state] = [ownString(claims, config.sessionClaim), ownString(claims, config.issuerStateClaim)]
  if (!code && !state) return refuse('insufficient_scope', 'the access token is for no issuance session')
  const stateSessionId = state ? findIdOfDerivedCode(context.secrets.issuerState, state) : undefined
  if (!code) return { sessionId: stateSessionId, grant: AUTHORIZATION_CODE_GRANT }
  const sessionId = await findSessionOfAnyCode(context, code)
  if (state && stateSessionId !== sessionId) return refuseExternalToken('it names two sessions')
  return { sessionId, grant: PRE_AUTHORIZED_GRANT }
}

/**
 * Returns the thumbprint of the DPoP key that the token is bound to; undefined for a token that is bound to no key.
 * Refuses other bindings (RFC 8705), which a wallet cannot prove to this service. RFC 9449 section 6.1.
 */
function readBoundKey(claims: JsonObject): string | undefined {
  const binding = own(claims, 'cnf')
  if (binding === undefined) return undefined
  const jkt = isObject(binding) ? ownString(binding, 'jkt') : undefined
  return jkt ?? refuseExternalToken('it is bound to a key in a way other than DPoP')
}

async function verifySignedToken(
  context: ClockContext,
  server: ExternalAuthorizationServer,
  token: string,
): Promise<JsonObject> {
  const jws = readToken(token)
  const { header, payload } = jws
  // Media types are compared without regard to case, and the prefix may be left out. RFC 7515 section 4.1.9.
  if (!/^(application\/)?at\+jwt$/i.test(ownString(header, 'typ') ?? '')) refuseExternalToken('its typ is not at+jwt')
  if (own(payload, 'iss') !== server.config.issuer) refuseExternalToken('it is of another issuer')
  // Before its keys are fetched: what is refused anyway costs no request.
  refuseUnlessTimely(context, payload, SIGNED_TOKEN_TIMES)
  return (await server.hasSigned(jws)) ? payload : refuseExternalToken('it is not signed by a key of its issuer')
}

function checkIntrospection(server: ExternalAuthorizationServer, claims: JsonObject): JsonObject {
  if (own(claims, 'active') !== true) refuseExternalToken('its issuer says that it is not active')
  const issuer = own(claims, 'iss')
  if (issuer !== undefined && issuer !== server.config.issuer) refuseExternalToken('it is of another issuer')
  return claims
}

function readToken(token: string): Jws {
  return orElse(
    () => readJws(token),
    (error) => refuseExternalToken('it is not a JWT that can be read', error),
  )
}

/** Refuses a token that has expired or is not valid yet. Clocks may differ by `clockSkewSeconds`, either way. */
function refuseUnlessTimely({ now, config }: ClockContext, claims: JsonObject, rule: TimeRule = TOKEN_TIMES): void {
  const problem = jwtTimeProblem(claims, rule, { now: now(), clockSkewSeconds: config.clockSkewSeconds })
  if (problem !== undefined) refuseExternalToken(problem)
}

/**
 * Refuses a token for another audience. An introspection response may leave the audience out, unless the operator
 * configured one. RFC 7662 section 2.2.
 */
function refuseOtherAudience(
  context: AccessContext,
  { config }: ExternalAuthorizationServer,
  { claims, sessionId }: { readonly claims: JsonObject; readonly sessionId: string },
): void {
  const audience = own(claims, 'aud')
  if (audience === undefined && config.introspection !== undefined && config.audience === undefined) return
  const ownAudiences = config.audience === undefined ? acceptedAudiences(context.config, sessionId) : [config.audience]
  const audiences = Array.isArray(audience) ? audience : [audience]
  if (!audiences.some((name) => ownAudiences.some((each) => each === name)))
    refuseExternalToken('it is for another audience')
}

function refuseExternalToken(reason: string, cause?: unknown): never {
  return refuse('invalid_token', `the access token is not good here: ${reason}`, { cause })
}
