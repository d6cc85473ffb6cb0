/** Revokes, suspends and reinstates all credentials of a session, also after the session was deleted. */
import { type EventType, makeEventChange, nextEventOrder } from '../../event/event.ts'
import { refuse } from '../../protocol/error.ts'
import type { Change, Row } from '../../store/store.ts'
import { type IssuerCollections, refuseUnknownSession } from '../collections.ts'
import type { IssuerContext } from '../context.ts'
import { endRefreshing } from '../issued-tokens.ts'
import { endOfSession } from '../session.ts'
import { makeSessionEvent } from '../session-status.ts'
import { type CredentialState, type CredentialStatus, STATUS_VALUES } from '../status-rows.ts'
import { makeBitChanges } from './chunks.ts'
import type { ChangedStatus } from './schemas.ts'

/** The acts of the application on credentials, each with the state after it, its event, and its name in the log. */
export const statusActs = {
  revoke: { state: 'REVOKED', event: 'credential.revoked', logEvent: 'credential_revoked' },
  suspend: { state: 'SUSPENDED', event: 'credential.suspended', logEvent: 'credential_suspended' },
  reinstate: { state: 'VALID', event: 'credential.reinstated', logEvent: 'credential_reinstated' },
} as const satisfies Record<
  string,
  { readonly state: CredentialState; readonly event: EventType; readonly logEvent: string }
>

export type StatusAct = keyof typeof statusActs

export interface ActRequest {
  readonly sessionId: string
  readonly act: StatusAct
  /** The label of the caller's API key. */
  readonly caller: string
}

/**
 * Changes the state of all credentials of a session; repeating a call changes nothing. Refuses with `not_found`, and
 * with `invalid_state` if no credential has a status or if they were revoked, which is final.
 */
export function changeStatus(context: IssuerContext, request: ActRequest): Promise<ChangedStatus> {
  const { sessionId, act } = request
  const { state } = statusActs[act]
  return context.retryOnConflict<ChangedStatus>(async () => {
    const row = await context.store.get('credential_status', sessionId)
    if (row === undefined) return refuseWithoutStatus(context, sessionId)
    if (row.value.state === 'REVOKED' && state !== 'REVOKED') {
      refuse('invalid_state', 'the credentials of this session have been revoked, and that cannot be undone')
    }
    const committed = { session_id: sessionId, credential_status: state }
    if (row.value.state === state) return { committed }
    const conflict = await context.store.commit(
      await makeBatch(context, request, { ...row, value: { ...row.value, state } }),
    )
    return conflict === undefined ? { committed } : { conflict }
  })
}

/** Makes the batch with the new state, the status bits, the session and the event. */
async function makeBatch(
  context: IssuerContext,
  { sessionId, act, caller }: ActRequest,
  { value: status, version }: Row<CredentialStatus>,
): Promise<readonly Change<IssuerCollections>[]> {
  const { store, random, config } = context
  const now = context.now()
  // A cache on the way may keep a list for the ttl, and a verifier that gets it from there for the ttl again.
  const value = { ...status, seenBy: now.getTime() + 2 * config.statusList.ttlSeconds * 1000 }
  const issuance = await store.get('issuance_session', sessionId)
  const eventFields = { type: statusActs[act].event, at: now.getTime(), sessionId, caller }
  const bits = await makeBitChanges(store, value.entries, STATUS_VALUES[value.state])
  const statusChanges = (lastEvent: number): readonly Change<IssuerCollections>[] => [
    { update: 'credential_status', id: sessionId, version, value: { ...value, lastEvent } },
    ...bits,
  ]
  if (issuance === undefined) {
    const order = nextEventOrder(now, value.lastEvent ?? 0)
    return [...statusChanges(order), makeEventChange({ ...eventFields, order, data: bodyOf(sessionId, value) }, random)]
  }
  const session = value.state === 'REVOKED' ? endRefreshing(issuance.value, now, 'revocation') : issuance.value
  const update = makeSessionEvent(context, eventFields.type, { sessionId, session, now, caller, status: value })
  const dueAt = session === issuance.value ? {} : { dueAt: new Date(endOfSession(session)) }
  return [
    ...statusChanges(update.value.lastEvent),
    { update: 'issuance_session', id: sessionId, version: issuance.version, value: update.value, ...dueAt },
    update.event,
  ]
}

/** Makes the body of the event for a session that was deleted. */
function bodyOf(sessionId: string, status: CredentialStatus) {
  const credentials = status.entries.map(({ configurationId }) => ({
    credential_configuration_id: configurationId,
    credential_status: status.state,
  }))
  return { session_id: sessionId, credentials }
}

async function refuseWithoutStatus({ store }: IssuerContext, sessionId: string): Promise<never> {
  const session = await store.get('issuance_session', sessionId)
  if (session === undefined) return refuseUnknownSession()
  return refuse(
    'invalid_state',
    session.value.issued.length === 0
      ? 'this session has issued no credential yet'
      : 'the credentials of this session were declared with revocable: false',
  )
}
