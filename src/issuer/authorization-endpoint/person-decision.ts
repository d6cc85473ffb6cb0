/**
 * Decides an interaction by claims of the person, where no application asks the person. The claims come from the OpenID
 * Connect provider (`sign-in.ts`) or from the operator's verifier (`presentation.ts`). At each step the cookie must be
 * that of the browser that brought the request. RFC 9700 section 4.7.
 */
import type { JsonObject } from '../../codec/json.ts'
import type { DatasetMapping } from '../../config/claim-datasets.ts'
import { ProtocolError, plainAscii, refuse } from '../../protocol/error.ts'
import {
  type BroughtAnswer,
  type CodeFlowRequest,
  endRequest,
  isSameBrowser,
  makeRequestUpdate,
  recordAnswer,
} from '../authorization-request.ts'
import { datasetsOfClaims, isPerson, mappingsOf } from '../claims-dataset.ts'
import type { IssuerContext } from '../context.ts'
import { type BrowserStep, refuseOtherBrowser } from './browser.ts'
import { completeInteraction, decideInteraction, requireOpenInteraction } from './interaction.ts'
import type { IdentifiedRequest } from './pushed-request.ts'
import { trustsRedirectUri } from './request-parameters.ts'
import { noCredentialPage, stoppedPage } from './sign-in-page.ts'

/** A browser at one of the sign-in pages, and its cookie. */
export interface SignInVisit {
  readonly id: string
  readonly cookie: string | undefined
}

/** The caller in the audit log, in place of the label of an API key. */
const CALLER = 'sign-in'

/** Returns the mappings from claims to datasets. Refuses with `not_found` where sign-in is not configured. */
export function requireDatasets({ config }: Pick<IssuerContext, 'config'>): ReadonlyMap<string, DatasetMapping> {
  const { openidConnect, presentation } = config.codeFlow ?? {}
  return (openidConnect ?? presentation)?.datasets ?? refuseSignIn()
}

/**
 * Returns the authorization request of the browser. Refuses with `not_found`, with `gone` if it was decided, and with
 * `invalid_request` another browser than the one that brought it.
 */
export async function requireRequestOfVisit(
  context: IssuerContext,
  { id, cookie }: SignInVisit,
): Promise<IdentifiedRequest> {
  const { value } = await requireOpenInteraction(context, id)
  if (!isSameBrowser(value, cookie)) refuseOtherBrowser()
  return { id, request: value.request }
}

/**
 * Records an answer in the request, and returns the request. Refuses like {@link recordAnswer}. Ends the request and
 * refuses if the answer arrives in another browser than that of the request.
 */
export async function admitAnswer(
  context: IssuerContext,
  { id, cookie }: SignInVisit,
  answer: BroughtAnswer,
): Promise<IdentifiedRequest> {
  const admission = await context.retryOnConflict(async () => {
    const { value: storedRequest, version } = await requireOpenInteraction(context, id)
    const isOwnBrowser = isSameBrowser(storedRequest, cookie)
    const value = isOwnBrowser ? recordAnswer(storedRequest, answer) : endRequest(storedRequest)
    const conflict = await context.store.commit([makeRequestUpdate({ id, version }, value, context.now())])
    return conflict === undefined ? { committed: { isOwnBrowser, request: storedRequest.request } } : { conflict }
  })
  if (!admission.isOwnBrowser) refuseOtherBrowser()
  return { id, request: admission.request }
}

/**
 * Approves the interaction with a dataset of the claims for each configuration. Denies it if the claims do not make a
 * valid one, if the offer is for another person, or if it takes no dataset.
 */
export async function decideByClaims(
  context: IssuerContext,
  identifiedRequest: IdentifiedRequest,
  claims: JsonObject,
): Promise<BrowserStep> {
  const { id, request } = identifiedRequest
  const offer = await findOffer(context, request)
  if (offer?.person !== undefined) return decideForPerson(context, identifiedRequest, isPerson(claims, offer.person))
  // An offer gets the datasets of all its credentials, also where the wallet asks for some of them.
  const mappings = mappingsOf(requireDatasets(context), await loadConfigurationsOf(context, offer ?? request))
  if ('unmappedName' in mappings)
    return denyCredential(context, identifiedRequest, `no claims are named for ${mappings.unmappedName}`)
  const { datasets, missing } = datasetsOfClaims(claims, mappings)
  try {
    const body = { credential_dataset: datasets }
    const result = await decideInteraction(context, { id, body, caller: CALLER })
    if ('problem' in result) return await denyCredential(context, identifiedRequest, result.reason)
    return { address: result.redirect_uri }
  } catch (error) {
    if (!(error instanceof ProtocolError) || error.code !== 'invalid_request') throw error
    const way = context.config.codeFlow?.presentation === undefined ? 'openidConnect' : 'presentation'
    context.log.warn(
      { event: 'sign_in_unfit', why: error.message, missing },
      `no credential for the person; compare the claims with authentication.${way}.datasets`,
    )
    const mismatch = missing.length === 0 ? 'the claims do not fit' : `these claims are missing: ${missing.join(', ')}`
    return denyCredential(context, identifiedRequest, mismatch)
  }
}

/** Returns the session of the offer; undefined where the wallet asks without an offer. */
async function findOffer({ store }: IssuerContext, { offerSessionId }: CodeFlowRequest) {
  return offerSessionId === undefined ? undefined : (await store.get('issuance_session', offerSessionId))?.value
}

/** Decides on an offer that has its dataset and is for one person. */
async function decideForPerson(
  context: IssuerContext,
  identifiedRequest: IdentifiedRequest,
  isOfferedPerson: boolean,
): Promise<BrowserStep> {
  if (!isOfferedPerson) return denyCredential(context, identifiedRequest, 'the offer is for another person')
  const { id } = identifiedRequest
  const { redirect_uri: address } = await completeInteraction(context, { id, body: { approved: true }, caller: CALLER })
  return { address }
}

/** Returns the configurations of an authorization request, or of the session of an offer. */
export async function loadConfigurationsOf(
  context: IssuerContext,
  { configurationIds }: Pick<CodeFlowRequest, 'configurationIds'>,
) {
  const configurations = await Promise.all(configurationIds.map(context.loadConfiguration))
  return configurations.filter((configuration) => configuration !== undefined)
}

/** Denies the interaction, and returns the page that tells the person the reason. */
async function denyCredential(
  context: IssuerContext,
  { id, request }: IdentifiedRequest,
  reason: string,
): Promise<BrowserStep> {
  const address = await denyInteraction(context, id, reason)
  return { page: noCredentialPage(request, address, reason) }
}

/**
 * Denies the interaction of a person who did not go on, and returns the redirect that tells the wallet the reason. A
 * person whom a stranger sent here is not redirected to the stranger, but gets a page.
 */
export async function denyPerson(
  context: IssuerContext,
  { id, request }: IdentifiedRequest,
  reason: string,
): Promise<BrowserStep> {
  const address = await denyInteraction(context, id, reason)
  return trustsRedirectUri(context, request) ? { address } : { page: stoppedPage(request, address) }
}

/** Denies the interaction, and returns the URL that tells the wallet the reason. */
async function denyInteraction(context: IssuerContext, id: string, reason: string): Promise<string> {
  const body = { denied: true, reason: plainAscii(reason).slice(0, 300) } as const
  return (await completeInteraction(context, { id, body, caller: CALLER })).redirect_uri
}

/** Denies the interaction because the person declined. Refuses like {@link requireRequestOfVisit}. */
export async function declineSignIn(context: IssuerContext, visit: SignInVisit): Promise<BrowserStep> {
  return denyPerson(context, await requireRequestOfVisit(context, visit), 'the person declined')
}

/** Refuses a browser where no person signs in. */
export function refuseSignIn(): never {
  return refuse('not_found', 'nobody signs in here; the setting authentication turns it on')
}
