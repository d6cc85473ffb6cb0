/** The application's decision on a deferred session: its dataset, or a denial. */
import type { JsonObject } from '../codec/json.ts'
import { refuse } from '../protocol/error.ts'
import { updateWith } from '../store/store.ts'
import { refuseUnknownSession, requireIssuanceSession } from './collections.ts'
import type { IssuerContext } from './context.ts'
import { refuseUnfittingDatasetByIds } from './dataset.ts'
import type { Completion } from './schemas.ts'
import { type DeferralDecision, type IssuanceSession, issuanceStatus, isUndecided, recordDecision } from './session.ts'
import { addProgress, type IssuanceStatusBody, makeSessionEvent, makeStatusBody } from './session-status.ts'

/**
 * Records the decision of the application on a session, once, and returns the session's status. Refuses with
 * `not_found` or `gone` if the session was purged or has ended, with `invalid_state` if it has its dataset or a
 * decision, and with `invalid_request` and the path if the dataset is invalid.
 */
export async function completeSession(
  context: IssuerContext,
  sessionId: string,
  completion: Completion,
  caller: string,
): Promise<IssuanceStatusBody> {
  const { store } = context
  const now = context.now()
  const current = await requireIssuanceSession(store, sessionId)
  refuseDecided(current, now)
  const dataset = await requireFittingDataset(context, current, completion)
  const denied = dataset === undefined ? { denied: completion.reason ? { reason: completion.reason } : {} } : {}
  const decision: DeferralDecision = { at: now.getTime(), ...denied }
  const type = dataset === undefined ? 'issuance.denied' : 'issuance.completed'
  const datasetChanges =
    dataset === undefined ? [] : [{ insert: 'issuance_dataset', id: sessionId, value: dataset } as const]
  const decidedSession = await updateWith(context, 'issuance_session', sessionId, (session) => {
    refuseDecided(session, now)
    const changedSession = { sessionId, session: recordDecision(session, decision), now, caller }
    const { value, event } = makeSessionEvent(context, type, changedSession)
    return { value, otherChanges: [...datasetChanges, event] }
  })
  const status = makeStatusBody(sessionId, decidedSession ?? refuseUnknownSession(), now)
  return addProgress(status, await context.progress.read(sessionId))
}

/** Returns the dataset; undefined for a denial. Refuses with `invalid_request` an invalid dataset. */
async function requireFittingDataset(
  context: IssuerContext,
  { configurationIds }: IssuanceSession,
  { credential_dataset: dataset, denied, reason }: Completion,
): Promise<JsonObject | undefined> {
  if ((dataset === undefined) !== (denied === true)) {
    refuse('invalid_request', 'send either credential_dataset, or denied: true')
  }
  if (dataset === undefined) return undefined
  if (reason !== undefined) refuse('invalid_request', 'reason: goes with denied: true only')
  await refuseUnfittingDatasetByIds(context, dataset, configurationIds)
  return dataset
}

function refuseDecided(session: IssuanceSession, now: Date): void {
  if (session.deferral === undefined) {
    refuse('invalid_state', 'this session was started with its dataset; there is nothing to complete')
  }
  if (!isUndecided(session)) refuse('invalid_state', 'this session has been completed or denied already')
  if (issuanceStatus(session, now) === 'EXPIRED') refuse('gone', 'this session has expired; start a new one')
}
