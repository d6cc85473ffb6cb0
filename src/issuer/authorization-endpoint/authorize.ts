/**
 * The authorization endpoint. A browser brings an authorization request, pushed or in the query, and is redirected to
 * the application, which asks the person. Clients are not registered, so the browser is not redirected to a wallet
 * before that; otherwise the endpoint would be an open redirector. Where an offer alone is sufficient, a page shows the
 * redirect URI, unless it is trusted. RFC 6749 section 3.1, RFC 9700 section 4.11.
 */
import { toBase64url } from '../../codec/base64url.ts'
import { refuse } from '../../protocol/error.ts'
import { addParameters, responseAddress } from '../../protocol/redirect-uri.ts'
import { makeDerivedCode } from '../access/derived-code.ts'
import {
  type CodeFlowRequest,
  giveCode,
  isSameBrowser,
  isUndecidedRequest,
  purgeTimeOfRequest,
  recordRequestDecision,
  type StoredAuthorizationRequest,
  startInteraction,
} from '../authorization-request.ts'
import type { IssuerContext } from '../context.ts'
import { credentialIssuerIdentifier } from '../issuer-addresses.ts'
import type { BrowserStep } from './browser.ts'
import { returnUrl } from './interaction.ts'
import { type IdentifiedRequest, makeRequestId, readPushedRequest } from './pushed-request.ts'
import {
  type AuthorizationParameters,
  readAuthorizationRequest,
  requireCodeFlow,
  requireOfferedSession,
  trustsRedirectUri,
} from './request-parameters.ts'
import { walletPage } from './sign-in-page.ts'

/** The next step of the browser; a page is one that the person sees before the redirect. */
export type BrowserAnswer = BrowserStep & {
  /** Whether the browser returns to this service later, and so needs a cookie. */
  readonly comesBack: boolean
}

/** A request of a browser to the authorization endpoint. */
export interface Visit {
  /** The value of the browser's cookie. */
  readonly browser: string
  /** Refuses with `temporarily_unavailable` when too many authorizations have started. */
  readonly admitRow: () => void
}

/**
 * Stores the authorization request and returns the answer for the browser. Another browser can then not use the same
 * request_uri. Refuses with `invalid_request_uri`, and like {@link readAuthorizationRequest} and `admitRow`.
 */
export async function authorize(
  context: IssuerContext,
  parameters: AuthorizationParameters,
  { browser, admitRow }: Visit,
): Promise<BrowserAnswer> {
  const { interactionUrl, trustsOffers } = requireCodeFlow(context)
  const { id, request } = await readIdentifiedRequest(context, parameters)
  const now = context.now()
  const { offerSessionId } = request
  // The offer may have been used since the request was pushed.
  const offer = offerSessionId === undefined ? undefined : await requireOfferedSession(context, offerSessionId)
  const interactionRequest = startInteraction(request, browser, now)
  // An offer that wants a transaction code with its other grant is not sufficient alone.
  const wantsMore = offer?.person !== undefined || offer?.txCode !== undefined
  const asksPerson = offerSessionId === undefined || !trustsOffers || wantsMore
  const { value, answer } = asksPerson
    ? {
        value: interactionRequest,
        answer: { address: addParameters(interactionUrl, { interaction: id }), comesBack: true },
      }
    : acceptOffer(context, id, interactionRequest, offerSessionId)
  const dueAt = purgeTimeOfRequest(value, now)
  admitRow()
  const conflict = await context.store.commit([{ insert: 'authorization_request', id, value, dueAt }])
  if (conflict !== undefined && !(asksPerson && (await isSameVisit(context, id, browser)))) {
    refuse('invalid_request_uri', 'request_uri: it has been used; begin anew in the wallet, which pushes another')
  }
  return answer
}

/** Approves a request whose offer alone is sufficient, and returns the row and the answer for the browser. */
function acceptOffer(
  context: IssuerContext,
  id: string,
  storedRequest: StoredAuthorizationRequest,
  sessionId: string,
): { readonly value: StoredAuthorizationRequest; readonly answer: BrowserAnswer } {
  const now = context.now()
  const { request } = storedRequest
  if (trustsRedirectUri(context, request)) {
    const address = addressWithCode(context, id, request)
    return { value: giveCode(storedRequest, sessionId, now), answer: { address, comesBack: false } }
  }
  const secret = toBase64url(context.random(32))
  const page = walletPage(request, returnUrl(context, id, secret))
  const value = recordRequestDecision(storedRequest, { sessionId }, { secret, now })
  return { value, answer: { page, comesBack: true } }
}

/**
 * Tests whether the same browser brings the same request again and no decision was made meanwhile, as after a reload of
 * the page. FAPI 2.0 Security Profile, Requirements for authorization servers.
 */
async function isSameVisit(context: IssuerContext, id: string, browser: string): Promise<boolean> {
  const row = await context.store.get('authorization_request', id)
  return row !== undefined && isUndecidedRequest(row.value, context.now()) && isSameBrowser(row.value, browser)
}

/** Returns the redirect URI of the wallet with the authorization code. */
export function addressWithCode(context: IssuerContext, id: string, request: CodeFlowRequest): string {
  const code = makeDerivedCode(context.secrets.authorizationCode, id)
  return responseAddress(request.redirectUri, issuerOf(context, request), { code, state: request.state })
}

/**
 * Returns the `iss` of the authorization response. The wallet compares it with the metadata of the endpoint that it
 * used. RFC 9207.
 */
export function issuerOf({ config }: IssuerContext, { isAtSession, offerSessionId }: CodeFlowRequest): string {
  return credentialIssuerIdentifier(config, isAtSession ? offerSessionId : undefined)
}

/** Returns the request that the browser brings: from its request_uri, or from the query. */
async function readIdentifiedRequest(
  context: IssuerContext,
  parameters: AuthorizationParameters,
): Promise<IdentifiedRequest> {
  const { form, sessionId } = parameters
  const { request_uri: requestUri, client_id: clientId = '' } = form
  if (!requestUri) {
    if (requireCodeFlow(context).pushedRequired)
      refuse('invalid_request', 'request_uri is missing; push the request first')
    return { id: makeRequestId(context), request: await readAuthorizationRequest(context, parameters) }
  }
  if (clientId === '') refuse('invalid_request', 'client_id is missing')
  // Ignores all other parameters: only the pushed ones count. RFC 9101 section 6.3.
  const identifiedRequest = readPushedRequest(context, requestUri, clientId)
  const { isAtSession, offerSessionId } = identifiedRequest.request
  if ((isAtSession ? offerSessionId : undefined) !== sessionId) {
    refuse('invalid_request_uri', 'request_uri: it was pushed to another issuer; use the endpoints of one metadata')
  }
  return identifiedRequest
}
