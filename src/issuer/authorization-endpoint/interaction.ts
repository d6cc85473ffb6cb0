/**
 * The interaction: the application learns what a wallet requests, asks the person, and decides. An approval leads to an
 * issuance session: that of the offer, or a new one.
 */
import type { Static } from 'typebox'
import { toBase64url } from '../../codec/base64url.ts'
import type { Problem } from '../../codec/malformed.ts'
import { epochSeconds } from '../../codec/time.ts'
import { refuse } from '../../protocol/error.ts'
import { addParameters } from '../../protocol/redirect-uri.ts'
import { type Change, insertOrUpdate, type Row } from '../../store/store.ts'
import {
  hasEnded,
  type InteractionDecision,
  makeRequestUpdate,
  recordRequestDecision,
  requireUndecided,
  type StoredAuthorizationRequest,
  type UndecidedRequest,
} from '../authorization-request.ts'
import type { IssuerCollections, SessionDataset } from '../collections.ts'
import type { IssuerContext } from '../context.ts'
import { refuseUnfittingDatasetByIds } from '../dataset.ts'
import { ISSUER_PATHS } from '../issuer-addresses.ts'
import { makeSessionOfRequest } from '../new-session.ts'
import { type IssuanceSession, isUndecided, recordDecision, refuseUnlessUnused } from '../session.ts'
import { makeSessionEvent } from '../session-status.ts'
import type { CompletedInteraction, Interaction, InteractionCompletion } from './schemas.ts'

/** A decision on an interaction: of the application, or of a sign-in, which has a dataset for each configuration. */
export interface CompletionRequest {
  readonly id: string
  readonly body: Omit<InteractionCompletion, 'credential_dataset'> & { readonly credential_dataset?: SessionDataset }
  readonly caller: string
}

/** A decision, and the changes of the session to commit with it. */
interface Outcome {
  readonly decision: InteractionDecision
  readonly changes: readonly Change<IssuerCollections>[]
}

/** Why the offer has no credential for anybody who brings a dataset: for the application, and for the person. */
interface OfferProblem extends Problem {
  readonly reason: string
}

type SessionRow = Row<IssuanceSession> & { readonly id: string }

const CHOICES = ['credential_dataset', 'approved', 'deferred', 'denied'] as const

/**
 * Returns what the wallet requests, for the application. Refuses with `not_found`, or with `gone` if the interaction
 * was decided or has expired.
 */
export async function getInteraction(context: IssuerContext, id: string): Promise<Static<typeof Interaction>> {
  const { value } = await requireOpenInteraction(context, id)
  const { request, step } = value
  const offer = await findSessionToComplete(context, request.offerSessionId)
  return {
    interaction_id: id,
    client_id: request.clientId,
    redirect_uri: request.redirectUri,
    credential_configurations: [...request.configurationIds],
    ...(offer && { session_id: offer.id }),
    needs_dataset: offer === undefined || (await needsDataset(context, offer.value, value.browser)),
    expires_at: epochSeconds(step.until),
  }
}

/**
 * Records the decision of the application, once, and returns where to send the browser. Refuses with `not_found` or
 * `gone` like {@link getInteraction}, with `invalid_state` a decision that does not match the state of the session, and
 * with `invalid_request` and the path an invalid member.
 */
export async function completeInteraction(
  context: IssuerContext,
  completion: CompletionRequest,
): Promise<Static<typeof CompletedInteraction>> {
  const result = await decideInteraction(context, completion)
  return 'problem' in result ? refuse('invalid_state', result.problem) : result
}

/** Records a decision like {@link completeInteraction}, but returns a problem of the offer. */
export async function decideInteraction(
  context: IssuerContext,
  completion: CompletionRequest,
): Promise<Static<typeof CompletedInteraction> | OfferProblem> {
  const { id, body } = completion
  const choice = readChoice(body)
  const secret = toBase64url(context.random(32))
  const decision = await context.retryOnConflict<InteractionDecision | OfferProblem>(async () => {
    const { value, version } = await requireOpenInteraction(context, id)
    const outcome = choice === 'denied' ? makeDenial(body) : await makeApproval(context, value, completion)
    if ('problem' in outcome) return { committed: outcome }
    const now = context.now()
    const decidedRequest = recordRequestDecision(value, outcome.decision, { secret, now })
    const update = makeRequestUpdate({ id, version }, decidedRequest, now)
    const conflict = await context.store.commit([update, ...outcome.changes])
    return conflict === undefined ? { committed: outcome.decision } : { conflict }
  })
  if ('problem' in decision) return decision
  return {
    ...(decision.denied === undefined && { session_id: decision.sessionId }),
    redirect_uri: returnUrl(context, id, secret),
  }
}

/** Returns the URL by which the browser returns after the decision. */
export function returnUrl({ config }: Pick<IssuerContext, 'config'>, id: string, secret: string): string {
  return addParameters(`${config.baseUrl}${ISSUER_PATHS.browserReturn}/${id}`, { completion: secret })
}

/** Returns an undecided request. Refuses with `not_found`, or with `gone` if it was decided or has expired. */
export async function requireOpenInteraction(context: IssuerContext, id: string): Promise<Row<UndecidedRequest>> {
  const row = await context.store.get('authorization_request', id)
  if (row === undefined) return refuse('not_found', 'there is no such interaction')
  return { ...row, value: requireUndecided(row.value, context.now()) }
}

/**
 * Returns the session of the offer, if the request is for an offer. Refuses with `gone` if the offer was used or has
 * expired.
 */
async function findSessionToComplete(
  context: IssuerContext,
  sessionId: string | undefined,
): Promise<SessionRow | undefined> {
  if (sessionId === undefined) return undefined
  const row = await context.store.get('issuance_session', sessionId)
  if (row === undefined) return refuse('gone', 'the session of the offer is gone; start a new one')
  refuseUnlessUnused(row.value, context.now(), 'gone')
  return { ...row, id: sessionId }
}

function readChoice(body: CompletionRequest['body']): (typeof CHOICES)[number] {
  const [choice, ...others] = CHOICES.filter((name) => body[name] !== undefined)
  if (choice === undefined || others.length > 0) {
    return refuse('invalid_request', `send exactly one of ${CHOICES.join(', ')}`)
  }
  if (body.reason !== undefined && choice !== 'denied') refuse('invalid_request', 'reason: goes with denied: true only')
  return choice
}

function makeDenial({ reason }: CompletionRequest['body']): Outcome {
  return { decision: { denied: reason ? { reason } : {} }, changes: [] }
}

async function makeApproval(
  context: IssuerContext,
  { request, browser }: StoredAuthorizationRequest,
  completion: CompletionRequest,
): Promise<Outcome | OfferProblem> {
  const { body, caller } = completion
  const offer = await findSessionToComplete(context, request.offerSessionId)
  if (offer !== undefined) return approveOffer(context, offer, { ...completion, browser })
  if (body.approved) {
    refuse('invalid_state', 'approved: there is no offer; send credential_dataset, or deferred: true')
  }
  const { configurationIds } = request
  if (body.credential_dataset !== undefined)
    await refuseUnfittingDatasetByIds(context, body.credential_dataset, configurationIds)
  const { sessionId, changes } = await makeSessionOfRequest(context, body, { configurationIds, caller })
  return { decision: { sessionId }, changes }
}

/**
 * Tests whether the session of an offer needs a dataset. It does if it has none, or if its dataset was provided for an
 * earlier interaction that has ended, or that the same browser had: each such dataset belongs to one interaction, and a
 * person whose answer was lost begins another one.
 */
async function needsDataset(
  { store, now }: IssuerContext,
  session: IssuanceSession,
  browser: string,
): Promise<boolean> {
  if (isUndecided(session)) return true
  const { requestId } = session.deferral?.decided ?? {}
  if (requestId === undefined) return false
  const row = await store.get('authorization_request', requestId)
  return row === undefined || hasEnded(row.value, now()) || row.value.browser === browser
}

/** Makes the outcome of an approved interaction for an offer. The session has its dataset already, or gets it now. */
async function approveOffer(
  context: IssuerContext,
  offer: SessionRow,
  completion: CompletionRequest & Pick<StoredAuthorizationRequest, 'browser'>,
): Promise<Outcome | OfferProblem> {
  const { id: sessionId, value: session } = offer
  const { body, browser } = completion
  const strayMember = (['deferred', 'refresh_seconds'] as const).find((name) => body[name] !== undefined)
  if (strayMember !== undefined)
    refuse('invalid_state', `${strayMember}: the session of the offer says that; leave it out`)
  const { requestId: decidedFor, denied } = session.deferral?.decided ?? {}
  if (denied !== undefined) {
    return { problem: 'the session of the offer has been denied', reason: 'the offer has been denied' }
  }
  const isNeeded = await needsDataset(context, session, browser)
  if (decidedFor !== undefined && !isNeeded) {
    const problem = 'the session of the offer has the dataset of another interaction, which is not over'
    return { problem, reason: 'somebody else has signed in for the offer' }
  }
  const { credential_dataset: dataset } = body
  if (dataset !== undefined && !isNeeded) {
    const problem = 'the session of the offer has its dataset already; send approved: true'
    return { problem, reason: 'the offer has its data already' }
  }
  if (dataset === undefined && decidedFor !== undefined) {
    refuse('invalid_state', 'the dataset of the offer is that of an earlier interaction; send it anew')
  }
  const changes = dataset === undefined ? [] : await makeDatasetChanges(context, offer, dataset, completion)
  return { decision: { sessionId }, changes }
}

/** Makes the changes that store the dataset of an interaction in the session of an offer. */
async function makeDatasetChanges(
  context: IssuerContext,
  { id: sessionId, value: session, version }: SessionRow,
  dataset: SessionDataset,
  { id: requestId, caller }: CompletionRequest,
): Promise<readonly Change<IssuerCollections>[]> {
  await refuseUnfittingDatasetByIds(context, dataset, session.configurationIds)
  const previous = await context.store.get('issuance_dataset', sessionId)
  const now = context.now()
  const decidedSession = recordDecision(session, { at: now.getTime(), requestId })
  const { value, event } = makeSessionEvent(context, 'issuance.completed', {
    sessionId,
    session: decidedSession,
    now,
    caller,
  })
  return [
    { update: 'issuance_session', id: sessionId, version, value },
    insertOrUpdate('issuance_dataset', previous, { id: sessionId, value: dataset }),
    event,
  ]
}
