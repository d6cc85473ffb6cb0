/**
 * Identifies the person by a presentation of another credential, which the operator's verifier requests. The wallet
 * must be on the same device: the verifier returns the result only for the response code, which only a browser on that
 * device gets. So nobody receives a credential for another person's presentation. OpenID4VP 1.0, Session Fixation.
 */
import { singleFlightByKey } from '../../async/single-flight.ts'
import { isObject, type JsonObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import { SIGN_IN_PATH } from '../../config/authentication.ts'
import type { PresentationConfig } from '../../config/presentation.ts'
import { createUnavailableRefusal, fetchJsonObject, type RefuseUnavailable } from '../../http/fetch-json.ts'
import { refuse } from '../../protocol/error.ts'
import { addParameters } from '../../protocol/redirect-uri.ts'
import { INTERACTION_SECONDS, isSameBrowser, makeRequestUpdate } from '../authorization-request.ts'
import type { IssuerContext } from '../context.ts'
import type { BrowserStep } from './browser.ts'
import { requireOpenInteraction } from './interaction.ts'
import { admitAnswer, decideByClaims, denyPerson, requireRequestOfVisit, type SignInVisit } from './person-decision.ts'

/** The path to which the wallet sends the browser after the presentation. */
export const PRESENTED_PATH = `${SIGN_IN_PATH}/presented`

const SESSIONS = '/presentation/oid4vp'
const LIMITS = { timeoutMs: 5000, maxBytes: 1024 * 1024 }
const refuseUnavailableVerifier: RefuseUnavailable = createUnavailableRefusal('the verifier')

/**
 * Makes the function that returns the link that opens the wallet. All calls for one interaction return the same link,
 * and those at the same time share one request to the verifier. The function refuses like
 * {@link requireRequestOfVisit}, and with `temporarily_unavailable` if the verifier cannot be reached.
 */
export function createPresentationStart(context: IssuerContext) {
  const getLink = singleFlightByKey<{ readonly settings: PresentationConfig; readonly id: string }, string>(
    ({ id }) => id,
    ({ settings, id }) => findOrMakeLink(context, settings, id),
  )
  return async (settings: PresentationConfig, visit: SignInVisit): Promise<string> => {
    await requireRequestOfVisit(context, visit)
    return getLink({ settings, id: visit.id })
  }
}

/** Returns the link of the interaction's verifier session. The first call starts that session. */
async function findOrMakeLink(context: IssuerContext, settings: PresentationConfig, id: string): Promise<string> {
  const { value: storedRequest } = await requireOpenInteraction(context, id)
  if (storedRequest.presentation !== undefined) return storedRequest.presentation.link
  const newSession = await askVerifier(context, settings, {
    path: `${SESSIONS}/new-session`,
    body: {
      verification_query_id: settings.verificationQueryId,
      redirect_uri: addParameters(context.config.baseUrl + PRESENTED_PATH, { interaction: id }),
      expires_in: INTERACTION_SECONDS,
    },
  })
  const [sessionId, link] = [stringMemberOf(newSession, 'session_id'), stringMemberOf(newSession, 'request_uri')]
  if (sessionId === undefined || link === undefined)
    return refuseUnavailableVerifier('the answer of the verifier has no session')
  return context.retryOnConflict<string>(async () => {
    const { value, version } = await requireOpenInteraction(context, id)
    // Another process may have been asked at the same time.
    if (value.presentation !== undefined) return { committed: value.presentation.link }
    const presentingRequest = { ...value, presentation: { sessionId, link } }
    const update = makeRequestUpdate({ id, version }, presentingRequest, context.now())
    const conflict = await context.store.commit([update])
    return conflict === undefined ? { committed: link } : { conflict }
  })
}

/**
 * Decides the interaction by the presentation. Refuses with `invalid_request` another browser than that of the request,
 * which ends the request, and a response code of another presentation. Refuses with `gone` after too many response
 * codes, and with `temporarily_unavailable` if the verifier cannot be reached, trusts everybody, or asked for no proof
 * of the holder.
 */
export async function finishPresentation(
  context: IssuerContext,
  settings: PresentationConfig,
  { visit, responseCode }: { readonly visit: SignInVisit; readonly responseCode: string },
): Promise<BrowserStep> {
  const { value } = await requireOpenInteraction(context, visit.id)
  // Without a response code there was no presentation, so the request of another browser is not ended.
  if (responseCode === '' && !isSameBrowser(value, visit.cookie)) refuseCode()
  const identifiedRequest = await admitAnswer(context, visit, { secret: responseCode, isRepeatable: true })
  const { presentation } = value
  if (presentation === undefined) return refuseCode()
  const path = `${SESSIONS}/status/${encodeURIComponent(presentation.sessionId)}`
  const status = await askVerifier(context, settings, { path: addParameters(path, { response_code: responseCode }) })
  if (stringMemberOf(status, 'status') === 'DECLINED')
    return denyPerson(context, identifiedRequest, 'the person declined')
  const result = memberOf(status, 'result')
  if (stringMemberOf(status, 'status') !== 'VERIFICATION_SUCCEEDED' || memberOf(result, 'verified') !== true) {
    return refuseCode()
  }
  if (memberOf(result, 'trust') !== 'anchors') {
    refuseUnavailableVerifier('the verifier trusts everybody; set issuerTrustAnchors there')
  }
  return decideByClaims(context, identifiedRequest, requireHeldClaims(memberOf(result, 'credentials')))
}

/**
 * Returns the claims of the first credential for each credential id of the query. Refuses with
 * `temporarily_unavailable` if the query asks for one without the proof of its holder: every verifier that got such a
 * credential can present it.
 */
function requireHeldClaims(credentials: ReturnType<typeof memberOf>): JsonObject {
  const entries = Object.entries(isObject(credentials) ? credentials : {}).map(([id, reports]) => {
    const [first] = Array.isArray(reports) ? reports : []
    if (memberOf(first, 'holder_key_thumbprint') === undefined) {
      const remedy = 'make a query without require_cryptographic_holder_binding: false'
      refuseUnavailableVerifier(`the query of the verifier asks for no proof of the holder of ${id}; ${remedy}`)
    }
    return [id, memberOf(first, 'claims') ?? {}] as const
  })
  return Object.fromEntries(entries)
}

function askVerifier(
  { outbound }: IssuerContext,
  { verifier, apiKey }: PresentationConfig,
  { path, body }: { readonly path: string; readonly body?: object },
): Promise<JsonObject> {
  const headers = { authorization: `Bearer ${apiKey}` }
  const postRequest = {
    method: 'POST',
    body: JSON.stringify(body),
    headers: { ...headers, 'content-type': 'application/json' },
  }
  const request = {
    url: verifier + path,
    allowPrivateAddresses: true,
    ...LIMITS,
    ...(body === undefined ? { headers } : postRequest),
  }
  return fetchJsonObject(outbound, request, 'the verifier', refuseUnavailableVerifier)
}

function refuseCode(): never {
  return refuse('invalid_request', 'no presentation came with this address; show your credential from the page before')
}
