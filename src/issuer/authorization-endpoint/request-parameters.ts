/**
 * Parses an authorization request, pushed or not, and validates each parameter before anything is stored. OpenID4VCI
 * 1.0, Authorization Request; RFC 6749 section 4.1.1, RFC 7636, RFC 9449 section 10.
 */
import type { CodeFlowConfig } from '../../config/authentication.ts'
import { refuse } from '../../protocol/error.ts'
import { AUTHORIZATION_CODE_GRANT } from '../../protocol/grant-types.ts'
import { redirectUriProblem } from '../../protocol/redirect-uri.ts'
import { readAuthorizationDetails } from '../access/authorization-details.ts'
import { findIdOfDerivedCode } from '../access/derived-code.ts'
import type { CodeFlowRequest } from '../authorization-request.ts'
import { groupByScope } from '../configurations.ts'
import type { IssuerContext } from '../context.ts'
import { acceptedIdentifiers } from '../issuer-addresses.ts'
import { hasGrant, type IssuanceSession, refuseUnlessUnused } from '../session.ts'
import type { AuthorizationForm } from './schemas.ts'

/** A SHA-256 in base64url: a `code_challenge` (RFC 7636 section 4.2) or a JWK thumbprint (RFC 7638). */
const SHA256 = /^[A-Za-z0-9_-]{43}$/
const VISIBLE = /^[!-~]+$/
const CLIENT_ID = { maxLength: 512, form: VISIBLE, hint: 'it may have only visible ASCII characters' }
/** RFC 6749 appendix A.5 */
const STATE = { maxLength: 1024, form: /^[ -~]+$/, hint: 'it may have only visible ASCII characters and spaces' }
const MAX_SCOPE = 2048
const MAX_CONFIGURATIONS = 50

/** The parameters of a request, and the session in the path of the endpoint, if any. */
export interface AuthorizationParameters {
  readonly form: AuthorizationForm
  readonly sessionId: string | undefined
}

/** The configurations that a request may ask for, by scope and by id, and the session of the offer. */
interface AvailableConfigurations {
  readonly idsByScope: ReadonlyMap<string, readonly string[]>
  readonly ids: readonly string[]
  readonly offerSessionId: string | undefined
}

/** Returns the settings of the authorization code flow. Refuses with `not_found` if it is not configured. */
export function requireCodeFlow({ config }: Pick<IssuerContext, 'config'>): CodeFlowConfig {
  const description =
    'this service has no authorization endpoint; its operator turns it on by the setting authentication'
  return config.codeFlow ?? refuse('not_found', description)
}

/**
 * Tests whether a browser may be redirected to the wallet before a person sees where that is: the wallet has
 * authenticated itself, or the operator named its redirect URI. RFC 9700 section 4.11.2.
 */
export function trustsRedirectUri(
  context: Pick<IssuerContext, 'config'>,
  { instance, redirectUri }: CodeFlowRequest,
): boolean {
  return instance !== undefined || requireCodeFlow(context).redirectUris.includes(redirectUri)
}

/**
 * Validates the parameters and returns the request as it is stored. Refuses with `invalid_request`,
 * `unsupported_response_type`, `invalid_scope` or `invalid_authorization_details`.
 */
export async function readAuthorizationRequest(
  context: IssuerContext,
  { form, sessionId }: AuthorizationParameters,
): Promise<CodeFlowRequest> {
  const clientId = readText('client_id', form.client_id, CLIENT_ID)
  const redirectUri = form.redirect_uri || refuse('invalid_request', 'redirect_uri is missing')
  const problem = redirectUriProblem(redirectUri, requireCodeFlow(context).redirectUris)
  if (problem !== undefined) refuse('invalid_request', `redirect_uri: ${problem}`)
  refuseOtherFlows(form)
  const codeChallenge = readCodeChallenge(form)
  const state = form.state ? readText('state', form.state, STATE) : undefined
  const jkt = form.dpop_jkt || undefined
  if (jkt !== undefined && !SHA256.test(jkt)) refuse('invalid_request', 'dpop_jkt: it is not the thumbprint of a key')
  const available = await loadAvailableConfigurations(context, form, sessionId)
  return {
    clientId,
    redirectUri,
    codeChallenge,
    ...(state && { state }),
    ...(jkt && { jkt }),
    ...readRequestedConfigurations(context, form, available),
    ...(available.offerSessionId && { offerSessionId: available.offerSessionId }),
    ...(sessionId && { isAtSession: true }),
  }
}

/** Returns the session of an offer. Refuses with `invalid_request` if the offer was used or has expired. */
export async function requireOfferedSession(context: IssuerContext, sessionId: string): Promise<IssuanceSession> {
  const row = await context.store.get('issuance_session', sessionId)
  if (row === undefined || !hasGrant(row.value, AUTHORIZATION_CODE_GRANT)) return refuseIssuerState()
  refuseUnlessUnused(row.value, context.now(), 'invalid_request')
  return row.value
}

function refuseOtherFlows(form: AuthorizationForm): void {
  const { response_type: type, response_mode: mode, request, request_uri: uri } = form
  if (request) refuse('invalid_request', 'request: request objects are not supported; push the parameters themselves')
  if (uri)
    refuse(
      'invalid_request',
      'request_uri: leave it out here; send it with client_id alone to the authorization endpoint',
    )
  if (!type) refuse('invalid_request', 'response_type is missing; it must be code')
  if (type !== 'code') refuse('unsupported_response_type', 'response_type must be code')
  if (mode && mode !== 'query') refuse('invalid_request', 'response_mode must be query, or left out')
}

/**
 * Returns the code challenge. Refuses with `invalid_request` any method other than S256: a plain challenge is the
 * code_verifier itself. RFC 9700 section 2.1.1.
 */
function readCodeChallenge({ code_challenge: challenge, code_challenge_method: method }: AuthorizationForm): string {
  if (!challenge) return refuse('invalid_request', 'code_challenge is missing; every request needs PKCE')
  if (method !== 'S256') refuse('invalid_request', 'code_challenge_method must be S256')
  return SHA256.test(challenge)
    ? challenge
    : refuse('invalid_request', 'code_challenge: it is not a SHA-256 in base64url')
}

function readText(name: string, value: string | undefined, { maxLength, form, hint }: typeof CLIENT_ID): string {
  if (!value) return refuse('invalid_request', `${name} is missing`)
  if (value.length > maxLength) refuse('invalid_request', `${name}: it is longer than ${maxLength} characters`)
  return form.test(value) ? value : refuse('invalid_request', `${name}: ${hint}`)
}

/**
 * Returns the configurations that the request may ask for: those of its offer, or without an offer all that have a
 * scope.
 */
async function loadAvailableConfigurations(
  context: IssuerContext,
  { issuer_state: issuerState }: AuthorizationForm,
  sessionId: string | undefined,
): Promise<AvailableConfigurations> {
  if (!issuerState) {
    if (sessionId !== undefined) refuse('invalid_request', 'issuer_state is missing; send that of the credential offer')
    const { idsByScope } = await context.offeredConfigurationsText.get()
    return { idsByScope, ids: [...idsByScope.values()].flat(), offerSessionId: undefined }
  }
  const offerSessionId = findIdOfDerivedCode(context.secrets.issuerState, issuerState) ?? refuseIssuerState()
  if (sessionId !== undefined && sessionId !== offerSessionId) refuseIssuerState()
  const { configurationIds } = await requireOfferedSession(context, offerSessionId)
  return { idsByScope: await groupByScope(context, configurationIds), ids: configurationIds, offerSessionId }
}

/**
 * Returns the ids of the configurations in the scope and in the authorization details together. OpenID4VCI 1.0, Using
 * scope Parameter to Request Issuance of a Credential.
 */
function readRequestedConfigurations(
  { config }: IssuerContext,
  { scope, authorization_details: details }: AuthorizationForm,
  { idsByScope, ids, offerSessionId }: AvailableConfigurations,
): Pick<CodeFlowRequest, 'configurationIds' | 'hasDetails' | 'scope'> {
  if ((scope?.length ?? 0) > MAX_SCOPE) refuse('invalid_scope', `scope: it is longer than ${MAX_SCOPE} characters`)
  // Ignores scope values of other servers.
  const scopes = [...new Set(scope?.split(' '))].filter((value) => idsByScope.has(value))
  const detailedIds = details ? readAuthorizationDetails(details, ids, acceptedIdentifiers(config, offerSessionId)) : []
  const configurationIds = [...new Set([...scopes.flatMap((value) => idsByScope.get(value) ?? []), ...detailedIds])]
  if (configurationIds.length === 0) {
    const source = offerSessionId === undefined ? 'the metadata' : 'the offer'
    refuse('invalid_scope', `name a credential configuration of ${source} by scope, or by authorization_details`)
  }
  if (configurationIds.length > MAX_CONFIGURATIONS) {
    refuse('invalid_scope', `it asks for more than ${MAX_CONFIGURATIONS} credential configurations at once`)
  }
  return {
    configurationIds,
    ...(details && { hasDetails: true }),
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
  }
}

function refuseIssuerState(): never {
  return refuse('invalid_request', 'issuer_state: it is not that of an offer here; scan the credential offer again')
}
