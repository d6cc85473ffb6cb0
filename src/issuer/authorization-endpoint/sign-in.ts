/**
 * Signing the person in at the operator's OpenID Connect provider, in the place of an application that asks: the page
 * that says what happens, the way to the provider, and its answer, which decides the interaction. The browser that
 * brought the request is known at each step by its cookie; the state of the way to the provider is encrypted, so that
 * nothing is stored before the answer. OpenID Connect Core 1.0 section 3.1, RFC 9700 section 4.7.
 */
import { toBase64url } from '../../codec/base64url.ts'
import type { JsonObject } from '../../codec/json.ts'
import type { DatasetMapping } from '../../config/claim-datasets.ts'
import type { OpenidConnectConfig } from '../../config/openid-connect.ts'
import type { OpenidProvider, SignInAttempt } from '../../openid-connect/provider.ts'
import { ProtocolError, refuse } from '../../protocol/error.ts'
import { endOfRequest, endRequest, isSameBrowser, type StoredAuthorizationRequest } from '../authorization-request.ts'
import { datasetOfClaims, isPerson, mappingsOf } from '../claims-dataset.ts'
import type { IssuerContext } from '../context.ts'
import { decryptValue, encryptValue } from './encrypted-value.ts'
import { completeInteraction, findOpenInteraction } from './interaction.ts'

/** A browser at one of the pages, with its cookie. */
export interface SignInVisit {
  readonly id: string
  readonly cookie: string | undefined
}

/** The address that a browser goes on to, and the reason for the person when there will be no credential. */
export interface SignInEnd {
  readonly address: string
  readonly denied?: string
}

/** The state of a browser on its way to the provider and back, for as long as its interaction waits for a decision. */
interface SignInState extends Omit<SignInAttempt, 'state'> {
  readonly id: string
}

const PURPOSE = 'state of a sign-in'
/** The label of the caller in the audit log, where an API key would have its own. */
const CALLER = 'sign-in'
/** The error codes for a person who did not want to, or was not let. OpenID Connect Core 1.0 section 3.1.2.6. */
const DENIALS = ['access_denied', 'login_required', 'interaction_required', 'consent_required']
/** The error codes for a dataset that was refused: it does not fit, or the session of the offer has one. */
const UNFIT = ['invalid_request', 'invalid_state']
const MAX_STATE = 1024

/** Returns the datasets of whoever signs in. Refuses with `not_found` where nobody does. */
export function requireDatasets({ config }: Pick<IssuerContext, 'config'>): ReadonlyMap<string, DatasetMapping> {
  const { openidConnect, presentation } = config.codeFlow ?? {}
  return (openidConnect ?? presentation)?.datasets ?? refuseSignIn()
}

/** Returns the settings and the provider. Refuses with `not_found` where nobody signs in here. */
export function requireSignIn({ config, signInProvider }: Pick<IssuerContext, 'config' | 'signInProvider'>): {
  readonly settings: OpenidConnectConfig
  readonly provider: OpenidProvider
} {
  const settings = config.codeFlow?.openidConnect
  if (settings === undefined || signInProvider === undefined) {
    return refuseSignIn()
  }
  return { settings, provider: signInProvider }
}

/**
 * Returns the request of the browser. Refuses with `not_found`, `gone` when it has been decided, and `invalid_request`
 * in another browser than the one that brought it.
 */
export async function findRequestOfVisit(
  context: IssuerContext,
  { id, cookie }: SignInVisit,
): Promise<StoredAuthorizationRequest> {
  const { value } = await findOpenInteraction(context, id)
  if (!isSameBrowser(value, cookie)) refuseOtherBrowser()
  return value
}

/**
 * Begins to sign in, and returns the address at the provider. Refuses as {@link findRequestOfVisit} does, and like the
 * provider.
 */
export async function beginSignIn(context: IssuerContext, visit: SignInVisit): Promise<string> {
  const { provider } = requireSignIn(context)
  await findRequestOfVisit(context, visit)
  const [nonce, verifier] = [toBase64url(context.random(32)), toBase64url(context.random(32))]
  const text = JSON.stringify({ id: visit.id, nonce, verifier } satisfies SignInState)
  return provider.makeAuthorizationUrl({ state: encryptValue(stateKeyOf(context), text, context), nonce, verifier })
}

/**
 * Declines for the person, and returns the address that the browser goes on to. Refuses as {@link findRequestOfVisit}
 * does.
 */
export async function declineSignIn(context: IssuerContext, visit: SignInVisit): Promise<string> {
  await findRequestOfVisit(context, visit)
  const end = await denySignIn(context, visit.id, 'the person declined')
  return end.address
}

/**
 * Decides the interaction by the answer of the provider. Refuses with `invalid_request` an answer that is not for this
 * browser or does not hold, with `gone` one that came before, and with `temporarily_unavailable` when the provider
 * cannot be asked; an answer in another browser ends the request, since two people are in it.
 */
export async function finishSignIn(
  context: IssuerContext,
  parameters: URLSearchParams,
  cookie: string | undefined,
): Promise<SignInEnd> {
  const { provider } = requireSignIn(context)
  const state = parameters.get('state') ?? ''
  const { id, ...attempt } = decryptAttempt(context, state)
  await endInOtherBrowser(context, { id, cookie })
  const result = await provider.readAuthorizationResponse(parameters, { state, ...attempt })
  if ('claims' in result) return decideByClaims(context, id, result.claims)
  if (!DENIALS.includes(result.refused)) {
    const cause = new Error(/^[a-z_]{1,60}$/.test(result.refused) ? result.refused : 'an error without a proper code')
    refuse('invalid_request', 'the sign-in provider signed nobody in; begin anew in the wallet', { cause })
  }
  return denySignIn(context, id, 'the person was not signed in')
}

/** Decides with the dataset of the claims, or refuses the credential when they do not make one. */
export async function decideByClaims(context: IssuerContext, id: string, claims: JsonObject): Promise<SignInEnd> {
  const { value } = await findOpenInteraction(context, id)
  const person = await findOfferedPerson(context, value)
  if (person !== undefined) return decideForPerson(context, id, isPerson(claims, person))
  const mappings = mappingsOf(requireDatasets(context), await loadConfigurationsOf(context, value))
  if ('without' in mappings) return denyCredential(context, id, `no claims are named for ${mappings.without}`)
  const { dataset, missing } = datasetOfClaims(claims, mappings)
  try {
    const body = { credential_dataset: dataset }
    const { redirect_uri: address } = await completeInteraction(context, { id, body, caller: CALLER })
    return { address }
  } catch (error) {
    if (!(error instanceof ProtocolError) || !UNFIT.includes(error.code)) throw error
    context.log.warn({ event: 'sign_in_unfit', why: error.message, missing }, 'no credential for the account')
    const lacks = missing.length === 0 ? 'the claims do not fit' : `these claims are missing: ${missing.join(', ')}`
    return denyCredential(context, id, error.code === 'invalid_state' ? 'the offer has its data already' : lacks)
  }
}

/** Returns the claims of the person that the offer is for, where it is for one. */
async function findOfferedPerson({ store }: IssuerContext, { request }: StoredAuthorizationRequest) {
  const { offerSessionId } = request
  return offerSessionId === undefined ? undefined : (await store.get('issuance_session', offerSessionId))?.value.person
}

/** Decides about an offer that has its dataset, which is for one person and no other. */
async function decideForPerson(context: IssuerContext, id: string, isThePerson: boolean): Promise<SignInEnd> {
  if (!isThePerson) return denyCredential(context, id, 'the offer is for another person')
  const { redirect_uri: address } = await completeInteraction(context, { id, body: { approved: true }, caller: CALLER })
  return { address }
}

/** Returns the configurations that the request asks for, with their ids. */
export async function loadConfigurationsOf(context: IssuerContext, { request }: StoredAuthorizationRequest) {
  const configurations = await Promise.all(
    request.configurationIds.map(async (id) => {
      const configuration = await context.loadConfiguration(id)
      return configuration === undefined ? [] : [{ ...configuration, id }]
    }),
  )
  return configurations.flat()
}

async function denyCredential(context: IssuerContext, id: string, why: string): Promise<SignInEnd> {
  const end = await denySignIn(context, id, why)
  return { ...end, denied: why }
}

/** Decides that there is no credential, for the reason that the wallet is told. */
export async function denySignIn(context: IssuerContext, id: string, why: string): Promise<SignInEnd> {
  const reason = why
    .replace(/["\\]/g, "'")
    .replace(/[^ -~]/g, '?')
    .slice(0, 300)
  const completedInteraction = await completeInteraction(context, {
    id,
    body: { denied: true, reason },
    caller: CALLER,
  })
  return { address: completedInteraction.redirect_uri }
}

/** Ends the request, and refuses, when another browser than its own comes with an answer. */
export async function endInOtherBrowser(context: IssuerContext, { id, cookie }: SignInVisit): Promise<void> {
  const isSame = await context.retryOnConflict<boolean>(async () => {
    const { value, version } = await findOpenInteraction(context, id)
    if (isSameBrowser(value, cookie)) return { committed: true }
    const endedRequest = endRequest(value)
    const dueAt = endOfRequest(endedRequest, context.now())
    const conflict = await context.store.commit([
      { update: 'authorization_request', id, version, value: endedRequest, dueAt },
    ])
    return conflict === undefined ? { committed: false } : { conflict }
  })
  if (!isSame) refuseOtherBrowser()
}

function decryptAttempt(context: IssuerContext, state: string): SignInState {
  const attempt = state.length > MAX_STATE ? undefined : decryptValue(stateKeyOf(context), state)
  if (attempt === undefined) return refuse('invalid_request', 'state: nobody began to sign in with it; begin anew')
  return attempt as unknown as SignInState
}

function stateKeyOf({ secrets }: IssuerContext) {
  return { secrets: secrets.signInState, purpose: PURPOSE }
}

function refuseSignIn(): never {
  return refuse('not_found', 'nobody signs in here; the setting authentication turns it on')
}

function refuseOtherBrowser(): never {
  return refuse('invalid_request', 'this is another browser than the one that the wallet opened; begin anew there')
}
