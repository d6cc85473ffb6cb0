/**
 * The end of issuance sessions: records their expiry, erases their dataset when nothing more can be issued, and later
 * deletes them. The status list entries of issued credentials remain.
 */
import { planRetention, type Retention } from '../config/retention.ts'
import { createPurgeLog } from '../event/purge-log.ts'
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
  /** The time of the step after this one. */
  readonly dueAt: Date
  readonly expires: boolean
  readonly erases: boolean
}

/** Takes the next step of each session that is due: records the expiry, erases the dataset or deletes the session. */
export async function sweepIssuanceSessions({ retention }: IssuerConfig, effects: IssuerEffects): Promise<void> {
  const now = effects.now()
  const planRow = (row: DueRow<IssuanceSession>) => planChanges(row, { retention, now, effects })
  const reportDeleted = createPurgeLog(effects.log)
  await sweep(effects.store, 'issuance_session', now, { changesOf: planRow, reportDeleted })
  // The empty rows of erased datasets are purged with their sessions.
  await effects.store.purge('issuance_dataset', now)
}

/** Returns the next state of the session; undefined if the session is to be deleted. */
function nextStepOf(session: IssuanceSession, retention: Retention, now: Date): Step | undefined {
  // A token or a refresh may have moved the end of the session.
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
 * Makes the change that empties the dataset. The row itself is purged with the session. Overwriting a row leaves no
 * copies in the database file, unlike deleting it.
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
