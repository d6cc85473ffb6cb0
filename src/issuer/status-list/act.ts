/** Revoking, suspending and reinstating: all credentials of a session at once, while the session is there and after. */
import { type EventType, recorded } from '../../event/event.ts'
import { refuse } from '../../protocol/error.ts'
import { refuseUnknownSession } from '../collections.ts'
import type { IssuerContext } from '../context.ts'
import { endOf, endRefreshing, type IssuanceSession } from '../session.ts'
import { sessionEvent } from '../session-event.ts'
import { bitChanges } from './chunks.ts'
import { type CredentialState, type CredentialStatus, STATUS_VALUES } from './rows.ts'

export type StatusAct = keyof typeof ACTS

const ACTS = {
  revoke: { state: 'REVOKED', event: 'credential.revoked' },
  suspend: { state: 'SUSPENDED', event: 'credential.suspended' },
  reinstate: { state: 'VALID', event: 'credential.reinstated' },
} as const satisfies Record<string, { readonly state: CredentialState; readonly event: EventType }>

export interface ActRequest {
  readonly sessionId: string
  readonly act: StatusAct
  /** The label of the API key of whoever asks. */
  readonly caller: string
}

/**
 * Gives all credentials of the session another state. What is so already stays as it is. Refuses with `not_found`, and with
 * `invalid_state` where no credential has a status, or where they have been revoked: that is for good.
 */
export async function changeStatus(context: IssuerContext, request: ActRequest) {
  const { sessionId, act } = request
  const { state } = ACTS[act]
  for (;;) {
    const row = await context.store.get('credential_status', sessionId)
    if (row === undefined) return refuseWithoutStatus(context, sessionId)
    const known = row.value
    if (known.state === 'REVOKED' && state !== 'REVOKED') {
      refuse('invalid_state', 'the credentials of this session have been revoked, and that cannot be undone')
    }
    const answer = { session_id: sessionId, credential_status: state }
    if (known.state === state) return answer
    const changes = await batchOf(context, request, { ...row, value: { ...known, state } })
    if ((await context.store.commit(changes)) === undefined) return answer
  }
}

/** The state, the bits, the end of refreshing and the event, all or nothing. */
async function batchOf(
  context: IssuerContext,
  { sessionId, act, caller }: ActRequest,
  { value, version }: { readonly value: CredentialStatus; readonly version: number },
) {
  const { store, random } = context
  const now = context.now()
  const { event } = ACTS[act]
  const row = await store.get('issuance_session', sessionId)
  const session = row && (value.state === 'REVOKED' ? endRefreshing(row.value, now) : row.value)
  return [
    { update: 'credential_status', id: sessionId, version, value },
    ...(row && session && session !== row.value ? [sessionUpdate(sessionId, row.version, session)] : []),
    ...(await bitChanges(store, value.entries, STATUS_VALUES[value.state])),
    session === undefined
      ? recorded({ type: event, at: now.getTime(), sessionId, caller, data: bodyOf(sessionId, value) }, random)
      : sessionEvent(context, event, { sessionId, session, now, caller, status: value }),
  ] as const
}

function sessionUpdate(id: string, version: number, value: IssuanceSession) {
  return { update: 'issuance_session', id, version, value, dueAt: new Date(endOf(value)) } as const
}

/** What is left to say of a session that is purged. */
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
