/**
 * Presenting: read a request into a plan that a person can agree to, and then present exactly that, or decline.
 * OpenID4VP 1.0, Response Mode direct_post and direct_post.jwt.
 */
import { own } from '../codec/json.ts'
import type { Binding } from '../credential/format.ts'
import { answerClaims, chooseCredentials } from '../protocol/dcql-match.ts'
import { isSafeAddress } from './address.ts'
import { type Answered, answerQuery, chosenAnswers, isAnswered, type QueryAnswer } from './answer.ts'
import type { WalletContext } from './context.ts'
import { refuse } from './error.ts'
import { type Ask, exchangeJson } from './exchange.ts'
import { heldFormat } from './held-format.ts'
import { type AuthorizationRequest, fetchRequest } from './request-object.ts'
import { encryptMembers, thumbprintOf } from './response-encryption.ts'
import { listCredentials } from './stored-credential.ts'
import { type Approval, approvalsOf } from './transaction.ts'

export interface PresentationPlan {
  readonly request: AuthorizationRequest
  /** In the order of the credential queries, one for each or, where several are welcome, one for each that answers. */
  readonly answers: readonly QueryAnswer[]
  /** The ids of the queries whose answers would be sent: what is optional is left out. */
  readonly chosen: readonly string[]
  /** The transactions that presenting would approve, each with one of the chosen. */
  readonly approvals: readonly Approval[]
  /** Why the request cannot be answered; undefined when it can. */
  readonly problem: string | undefined
}

export interface PresentationResult {
  /** Where the verifier wants the person to go on, in the browser. */
  readonly redirect_uri?: string
}

type Form = Readonly<Record<string, string>>

/** Fetches and verifies the request and finds what answers it. Sends nothing about the holder. */
export async function readRequest(wallet: WalletContext, requestLink: string): Promise<PresentationPlan> {
  const request = await fetchRequest(wallet, requestLink)
  const { credentials, unreadable } = await listCredentials(wallet.store)
  const answers = request.query.credentials.flatMap((query) => answerQuery(query, credentials, wallet.now()))
  const available = new Set(answers.filter(isAnswered).map(({ query }) => query.id))
  const choice = chooseCredentials(request.query, available)
  const approved = 'ids' in choice ? approvalsOf(request.transactions, choice.ids, available) : choice
  if ('approvals' in approved) return { request, answers, ...approved, problem: undefined }
  const reasons = answers.flatMap((answer) => ('problem' in answer ? `${answer.query.id}: ${answer.problem}` : []))
  const damaged = unreadable.map(({ id, problem }) => `stored credential ${id} is damaged: ${problem}`)
  const rest = 'ids' in choice || reasons.length === 0 ? [approved.problem] : []
  const problem = [...reasons, ...rest, ...damaged].join('; ')
  return { request, answers, chosen: [], approvals: [], problem }
}

/** Presents what the plan says. Throws a WalletError: `cannot_answer`, or `refused` when the verifier did not accept it. */
export async function present(wallet: WalletContext, plan: PresentationPlan): Promise<PresentationResult> {
  if (plan.problem !== undefined)
    refuse('cannot_answer', `the request cannot be answered, and nothing was sent: ${plan.problem}`)
  const made = await Promise.all(
    chosenAnswers(plan).map(async (answer) => [answer.query.id, await presentationOf(wallet, plan, answer)] as const),
  )
  const presented = new Map(made.map(([id]) => [id, made.flatMap(([of, text]) => (of === id ? text : []))]))
  // Own members whatever their names are: an id may be __proto__.
  const token = Object.fromEntries(presented)
  return respond(wallet, plan.request, {
    what: 'presented the credentials',
    means:
      'Only the claims of the plan, and a signature by the key of each credential, for this verifier and this request.',
    spec: `OpenID4VP 1.0, Response Mode ${plan.request.encryption ? 'direct_post.jwt' : 'direct_post'}`,
    form: await responseForm(plan.request, token),
  })
}

/** Tells the verifier that the holder does not agree, and nothing else. */
export async function decline(wallet: WalletContext, plan: PresentationPlan): Promise<void> {
  await respond(wallet, plan.request, {
    what: 'declined the request',
    means: 'The verifier learns that nobody agreed, and neither who nor why.',
    spec: 'OpenID4VP 1.0, Error Response (access_denied)',
    form: withState(plan.request, { error: 'access_denied', error_description: 'the holder declined the request' }),
  })
}

async function presentationOf(
  wallet: WalletContext,
  { request, approvals }: PresentationPlan,
  answer: Answered,
): Promise<string> {
  const { query, credential, positions } = answer
  const format = heldFormat(credential.format)
  // OpenID4VP 1.0, Preventing Replay: the audience is the client identifier in full.
  const binding: Binding & { readonly at: Date } = {
    nonce: request.nonce,
    audience: request.clientId,
    responseUri: request.responseUri,
    encryptionKeyThumbprint: request.encryption && thumbprintOf(request.encryption),
    transactionData: approvals.filter(({ by }) => by === query.id).map(({ text }) => text),
    at: wallet.now(),
  }
  const presentation = await format.present(credential.credential, positions, binding, credential.holder)
  // The verifier's own question, asked of what is about to leave.
  const { missing, mismatch } = answerClaims(query, format.read(presentation).claims)
  const problem = missing ?? mismatch
  if (problem !== undefined) refuse('cannot_answer', `the presentation would not answer the request: ${problem}`)
  return presentation
}

/** An encrypted response says what is in it to nobody but the verifier. */
async function responseForm(
  request: AuthorizationRequest,
  token: Readonly<Record<string, readonly string[]>>,
): Promise<Form> {
  const { state, encryption } = request
  if (encryption === undefined) return withState(request, { vp_token: JSON.stringify(token) })
  return encryptMembers({ vp_token: token, ...(state === undefined ? {} : { state }) }, encryption)
}

function withState({ state }: AuthorizationRequest, form: Form): Form {
  return state === undefined ? form : { ...form, state }
}

async function respond(
  wallet: WalletContext,
  { responseUri }: AuthorizationRequest,
  { form, ...step }: Pick<Ask, 'what' | 'means' | 'spec'> & { readonly form: Form },
): Promise<PresentationResult> {
  const body = new URLSearchParams(form)
  const answer = await exchangeJson(wallet, { ...step, url: responseUri, body, sent: Object.keys(form).join(', ') })
  const redirectUri = own(answer, 'redirect_uri')
  // The presentation was accepted all the same: an address that leads nowhere good is not passed on.
  return typeof redirectUri === 'string' && isSafeAddress(redirectUri) ? { redirect_uri: redirectUri } : {}
}
