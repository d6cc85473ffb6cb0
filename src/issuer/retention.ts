/**
 * The end of an issuance session: its expiry is recorded, its dataset is erased when nothing more can be issued, and
 * later the session is deleted. Credentials that were issued keep their entries in the status list.
 */
import { planRetention, type Retention } from '../config/retention.ts'
import type { Change, DueRow } from '../store/store.ts'
import { sweep } from '../store/sweep.ts'
import type { IssuerCollections } from './collections.ts'
import type { IssuerConfig } from './config.ts'
import type { IssuerEffects } from './issuer.ts'
import { endOfIssuance, type IssuanceSession, issuanceStatus, removeFreeText } from './session.ts'
import { makeSessionEvent } from './session-status.ts'

/** The next step of a session that is due. */
interface Step {
  readonly session: IssuanceSession
  /** When something is to be done next. */
  readonly dueAt: Date
  readonly expires: boolean
  readonly erases: boolean
}

/** Records the expiry of each session that is due, erases its dataset, or deletes it. */
export async function sweepIssuanceSessions({ retention }: IssuerConfig, effects: IssuerEffects): Promise<void> {
  const now = effects.now()
  await sweep(effects.store, 'issuance_session', now, (row) => planChanges(row, { retention, now, effects }))
  // Erased datasets are empty rows, and go with their sessions.
  await effects.store.purge('issuance_dataset', now)
}

/** Returns the session as it is after `now`; undefined when the session is to be purged. */
function nextStepOf(session: IssuanceSession, retention: Retention, now: Date): Step | undefined {
  // A token, or whatever else keeps a session alive, may have moved the end.
  const { erases, purges, next } = planRetention(retention, endOfIssuance(session), session.erasedAt, now)
  if (purges) return undefined
  const at = now.getTime()
  const expires = issuanceStatus(session, now) === 'EXPIRED' && session.expiredAt === undefined
  return {
    session: {
      ...(erases ? removeFreeText(session) : session),
      ...(expires && { expiredAt: at }),
      ...(erases && { erasedAt: at }),
    },
    dueAt: next,
    expires,
    erases,
  }
}

async function planChanges(
  { id, value, version }: DueRow<IssuanceSession>,
  { retention, now, effects }: { readonly retention: Retention; readonly now: Date; readonly effects: IssuerEffects },
): Promise<readonly Change<IssuerCollections>[]> {
  const step = nextStepOf(value, retention, now)
  if (step === undefined) return [{ delete: 'issuance_session', id, version }]
  const { session, dueAt, expires, erases } = step
  const expiry = expires ? makeSessionEvent(effects, 'issuance.expired', { sessionId: id, session, now }) : undefined
  return [
    { update: 'issuance_session', id, version, value: expiry?.value ?? session, dueAt },
    ...(erases ? await makeErasure(effects, id, dueAt) : []),
    ...(expiry ? [expiry.event] : []),
  ]
}

/**
 * Makes the change that empties the dataset, and leaves its row to be purged with the session: a row that shrinks in
 * its place leaves no copies of the rows beside it, as one that is deleted can.
 */
async function makeErasure(
  { store }: IssuerEffects,
  id: string,
  dueAt: Date,
): Promise<readonly Change<IssuerCollections>[]> {
  const row = await store.get('issuance_dataset', id)
  if (row === undefined) return []
  return [{ update: 'issuance_dataset', id, version: row.version, value: null, dueAt, erases: true }]
}
