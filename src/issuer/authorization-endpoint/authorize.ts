/**
 * The authorization endpoint: a browser brings a request, pushed or in its address, and is sent to the application,
 * which asks its person. No wallet is registered, so that a browser is sent nowhere else before somebody was asked: a
 * link alone would send people anywhere. RFC 6749 section 3.1, RFC 9700 section 4.11.
 */
import { refuse } from '../../protocol/error.ts'
import { addParameters, responseAddress } from '../../protocol/redirect-uri.ts'
import { makeDerivedCode } from '../access/derived-code.ts'
import {
  type CodeFlowRequest,
  endOfRequest,
  giveCode,
  isSameBrowser,
  isUndecidedRequest,
  startInteraction,
} from '../authorization-request.ts'
import type { IssuerContext } from '../context.ts'
import { credentialIssuerIdentifier } from '../issuer-identifier.ts'
import { type IdentifiedRequest, makeRequestId, openPushedRequest } from './pushed-request.ts'
import {
  type AuthorizationParameters,
  findOfferedSession,
  readAuthorizationRequest,
  requireCodeFlow,
} from './request.ts'

/** The address that the browser is sent to. */
export interface BrowserRedirect {
  readonly address: string
  /** Whether the browser comes back to this service, which has to recognise it then. */
  readonly comesBack: boolean
}

/** The visit of a browser that brings a request. */
export interface Visit {
  /** The cookie of the browser. */
  readonly browser: string
  /** Refuses with `temporarily_unavailable` when too many browsers have come. */
  readonly admitRow: () => void
}

/**
 * Stores the request, which uses up its request_uri for every other browser, and returns where the browser goes.
 * Refuses with `invalid_request_uri`, as {@link readAuthorizationRequest} does, and as `admitRow` does.
 */
export async function authorize(
  context: IssuerContext,
  parameters: AuthorizationParameters,
  { browser, admitRow }: Visit,
): Promise<BrowserRedirect> {
  const { interactionUrl, trustsOffers } = requireCodeFlow(context)
  const { id, request } = await readIdentifiedRequest(context, parameters)
  const now = context.now()
  const { offerSessionId } = request
  // The offer may have been used since the request was pushed.
  const offer = offerSessionId === undefined ? undefined : await findOfferedSession(context, offerSessionId)
  const interactionRequest = startInteraction(request, browser, now)
  const asksPerson = offerSessionId === undefined || !trustsOffers || offer?.person !== undefined
  const value = asksPerson ? interactionRequest : giveCode(interactionRequest, offerSessionId, now)
  const dueAt = endOfRequest(value, now)
  admitRow()
  const conflict = await context.store.commit([{ insert: 'authorization_request', id, value, dueAt }])
  if (conflict !== undefined && !(asksPerson && (await isSameVisit(context, id, browser)))) {
    refuse('invalid_request_uri', 'request_uri: it has been used; begin anew in the wallet, which pushes another')
  }
  if (asksPerson) return { address: addParameters(interactionUrl, { interaction: id }), comesBack: true }
  return { address: addressWithCode(context, id, request), comesBack: false }
}

/**
 * Tests whether the browser that brought the request brings it again, and nothing was decided meanwhile, as where a
 * person has loaded a page anew. FAPI 2.0 Security Profile, Requirements for authorization servers.
 */
async function isSameVisit(context: IssuerContext, id: string, browser: string): Promise<boolean> {
  const row = await context.store.get('authorization_request', id)
  return row !== undefined && isUndecidedRequest(row.value, context.now()) && isSameBrowser(row.value, browser)
}

/** Returns the address of the wallet with the code of the request. */
export function addressWithCode(context: IssuerContext, id: string, request: CodeFlowRequest): string {
  const code = makeDerivedCode(context.secrets.authorizationCode, id)
  return responseAddress(request.redirectUri, issuerOf(context, request), { code, state: request.state })
}

/**
 * Returns the issuer of the endpoints that the request came by, which the wallet compares with the metadata. RFC 9207.
 */
export function issuerOf({ config }: IssuerContext, { isAtSession, offerSessionId }: CodeFlowRequest): string {
  return credentialIssuerIdentifier(config, isAtSession ? offerSessionId : undefined)
}

/** Returns the request that the browser brings: encrypted in a request_uri, or else in its own parameters. */
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
  // Every other parameter is ignored: a changed address adds nothing to what was pushed. RFC 9101 section 6.3.
  const identifiedRequest = openPushedRequest(context, requestUri, clientId)
  const { isAtSession, offerSessionId } = identifiedRequest.request
  if ((isAtSession ? offerSessionId : undefined) !== sessionId) {
    refuse('invalid_request_uri', 'request_uri: it was pushed to another issuer; use the endpoints of one metadata')
  }
  return identifiedRequest
}
