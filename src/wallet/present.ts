/**
 * Presentations: makes a plan for a request, which the person can review, and sends exactly that, or declines.
 * OpenID4VP 1.0, Response Mode direct_post and direct_post.jwt; appendix A, Response.
 */
import { memberOf } from '../codec/json.ts'
import type { Binding } from '../credential/format.ts'
import { answerClaims, chooseCredentials } from '../protocol/dcql-match.ts'
import { isSafeAddress } from './address.ts'
import type { WalletContext } from './context.ts'
import { fetchDigitalRequest } from './digital-credentials.ts'
import { refuseWith } from './error.ts'
import { type ExchangeRequest, exchangeJson } from './exchange.ts'
import { requireHeldFormat } from './held-format.ts'
import {
  type CredentialMatch,
  chosenMatches,
  isMatched,
  type MatchedCredential,
  matchCredentials,
} from './match-credentials.ts'
import { type AuthorizationRequest, fetchRequest, type ResponseRecipient } from './request-object.ts'
import { encryptMembers, hashEncryptionKey } from './response-encryption.ts'
import { listCredentials, recordPresentation } from './stored-credential.ts'
import { type Approval, approvalsOf } from './transaction.ts'

export interface PresentationPlan {
  readonly request: AuthorizationRequest
  /** The matches in the order of the credential queries: one for each, or several with `multiple`. */
  readonly matches: readonly CredentialMatch[]
  /** The ids of the queries to answer; optional ones are left out. */
  readonly chosenQueryIds: readonly string[]
  /** The transactions to approve, each with one of the chosen queries. */
  readonly approvals: readonly Approval[]
  /** Why the request cannot be answered; undefined if it can. */
  readonly problem: string | undefined
}

export interface PresentationResult {
  /** The URL at which the person continues in the browser. */
  readonly redirect_uri?: string
}

type ResponseParameters = Readonly<Record<string, string>>

/**
 * Fetches and verifies the request of a link, or with `origin` that of the page at this origin, whose
 * `digital_credentials_uri` stands in place of the link. Finds matching credentials. Sends nothing about the holder.
 */
export async function planPresentation(
  wallet: WalletContext,
  requestLink: string,
  origin?: string,
): Promise<PresentationPlan> {
  const request = await (origin === undefined
    ? fetchRequest(wallet, requestLink)
    : fetchDigitalRequest(wallet, requestLink, origin))
  return planAnswer(request, await listCredentials(wallet.store), wallet.now())
}

/** Finds the credentials that match a request at the time `now`. */
export function planAnswer(
  request: AuthorizationRequest,
  { credentials, unreadable }: Awaited<ReturnType<typeof listCredentials>>,
  now: Date,
): PresentationPlan {
  const matches = request.query.credentials.flatMap((query) => matchCredentials(query, credentials, now))
  const available = new Set(matches.filter(isMatched).map(({ query }) => query.id))
  const choice = chooseCredentials(request.query, available)
  const selection = 'ids' in choice ? approvalsOf(request.transactions, choice.ids, available) : choice
  if ('approvals' in selection) return { request, matches, ...selection, problem: undefined }
  const reasons = matches.flatMap((match) => ('problem' in match ? `${match.query.id}: ${match.problem}` : []))
  const damageTexts = unreadable.map(({ id, problem }) => `stored credential ${id} is damaged: ${problem}`)
  const otherProblems = 'ids' in choice || reasons.length === 0 ? [selection.problem] : []
  const problem = [...reasons, ...otherProblems, ...damageTexts].join('; ')
  return { request, matches, chosenQueryIds: [], approvals: [], problem }
}

/**
 * Sends the presentation of a plan. Refuses with `cannot_answer`, or with `refused` if the verifier does not accept it.
 * `make` makes each presentation; tests replace it.
 */
export async function sendPresentation(
  wallet: WalletContext,
  plan: PresentationPlan,
  make: typeof makePresentation = makePresentation,
): Promise<PresentationResult> {
  return sendResponse(wallet, plan.request, {
    what: 'presented the credentials',
    means:
      'Only the claims of the plan, and a signature by the key of each credential, for this verifier and this request.',
    spec: `OpenID4VP 1.0, Response Mode ${plan.request.responseMode}`,
    parameters: await makeResponse(wallet, plan, make),
  })
}

/**
 * Makes the parameters of the response with the presentation of a plan, and records that the verifier may see the
 * credentials. Refuses with `cannot_answer`.
 */
export async function makeResponse(
  wallet: WalletContext,
  plan: PresentationPlan,
  make: typeof makePresentation = makePresentation,
): Promise<ResponseParameters> {
  if (plan.problem !== undefined)
    refuseWith('cannot_answer', `the request cannot be answered, and nothing was sent: ${plan.problem}`)
  const matches = chosenMatches(plan)
  await requireHeld(wallet, matches)
  const presentations = await Promise.all(
    matches.map(async (match) => [match.query.id, await make(wallet, plan, match)] as const),
  )
  const presentationsByQuery = new Map(
    presentations.map(([id]) => [id, presentations.flatMap(([queryId, text]) => (queryId === id ? text : []))]),
  )
  // Recorded before sending, since the verifier may see the copy even if the request fails.
  for (const each of new Set(matches.map(({ credential }) => credential))) await recordPresentation(wallet.store, each)
  // Object.fromEntries defines own members, even for `__proto__`.
  const token = Object.fromEntries(presentationsByQuery)
  const { state, encryption } = plan.request
  if (encryption === undefined) return addState(plan.request, { vp_token: JSON.stringify(token) })
  return encryptMembers({ vp_token: token, ...(state === undefined ? {} : { state }) }, encryption)
}

/** Refuses with `cannot_answer` if a credential of the matches was removed since they were planned. */
async function requireHeld({ store }: WalletContext, matches: readonly MatchedCredential[]): Promise<void> {
  const heldIds = await store.list()
  const missing = matches.find(({ credential }) => !heldIds.includes(credential.id))?.credential
  if (missing === undefined) return
  refuseWith(
    'cannot_answer',
    `the wallet no longer holds ${missing.name}, and nothing was sent: open the request again`,
  )
}

/** Tells the verifier that the person declined. */
export async function decline(wallet: WalletContext, plan: PresentationPlan): Promise<void> {
  await sendResponse(wallet, plan.request, {
    what: 'declined the request',
    means: 'The verifier learns that nobody agreed, and neither who nor why.',
    spec: 'OpenID4VP 1.0, Error Response (access_denied)',
    parameters: declinationOf(plan.request),
  })
}

/** Returns the parameters that tell the verifier that the person declined. */
function declinationOf(request: AuthorizationRequest): ResponseParameters {
  const error = 'access_denied'
  // OpenID4VP 1.0, appendix A, Response: an error has no other member.
  if ('origin' in request.recipient) return { error }
  return addState(request, { error, error_description: 'the holder declined the request' })
}

/** Makes the presentation of one matched credential. Refuses with `cannot_answer` if it does not satisfy its query. */
export async function makePresentation(
  wallet: WalletContext,
  plan: PresentationPlan,
  match: MatchedCredential,
): Promise<string> {
  const { query, credential, positions } = match
  const format = requireHeldFormat(credential.format)
  const binding = bindingOf(wallet, plan, match)
  const presentation = await format.present(credential.credential, positions, binding, credential.holder)
  // Checks the presentation against the query before it is sent.
  const { missing, mismatch } = answerClaims(query, format.read(presentation).claims)
  const problem = missing ?? mismatch
  if (problem !== undefined) refuseWith('cannot_answer', `the presentation would not answer the request: ${problem}`)
  return presentation
}

/** Returns the values to which the presentation of a matched credential is bound. */
export function bindingOf(
  wallet: WalletContext,
  { request, approvals }: PresentationPlan,
  { query }: MatchedCredential,
): Binding & { readonly at: Date } {
  return {
    nonce: request.nonce,
    audience: request.audience,
    recipient: request.recipient,
    encryptionKeyThumbprint: request.encryption && hashEncryptionKey(request.encryption),
    transactionData: approvals.filter(({ queryId: by }) => by === query.id).map(({ text }) => text),
    at: wallet.now(),
  }
}

function addState({ state }: AuthorizationRequest, parameters: ResponseParameters): ResponseParameters {
  return state === undefined ? parameters : { ...parameters, state }
}

async function sendResponse(
  wallet: WalletContext,
  { recipient }: AuthorizationRequest,
  {
    parameters,
    ...step
  }: Pick<ExchangeRequest, 'what' | 'means' | 'spec'> & { readonly parameters: ResponseParameters },
): Promise<PresentationResult> {
  const sent = Object.keys(parameters).join(', ')
  const answer = await exchangeJson(wallet, { ...step, ...bodyFor(recipient, parameters), sent })
  const redirectUri = memberOf(answer, 'redirect_uri')
  // An unsafe redirect URI is ignored; the presentation was accepted anyway.
  return typeof redirectUri === 'string' && isSafeAddress(redirectUri) ? { redirect_uri: redirectUri } : {}
}

/** Makes the request with the response: the form of a wallet, or what a page posts when the browser has answered it. */
function bodyFor(recipient: ResponseRecipient, parameters: ResponseParameters) {
  if (!('origin' in recipient)) return { url: recipient.responseUri, body: new URLSearchParams(parameters) }
  const body = JSON.stringify({ protocol: recipient.protocol, data: parameters })
  return { url: recipient.uri, headers: { 'content-type': 'application/json' }, body }
}
