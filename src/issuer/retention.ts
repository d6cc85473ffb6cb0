/**
 * The end of issuance sessions: records their expiry, erases their dataset when nothing more can be issued, and later
 * deletes them. The status list entries of issued credentials remain.
 */
import { planRetention, type Retention, type SessionEnding } from '../config/retention.ts'
import { createPurgeLog } from '../event/purge-log.ts'
import type { Change, DueRow } from '../store/store.ts'
import { sweep } from '../store/sweep.ts'
import type { IssuerCollections } from './collections.ts'
import type { IssuerConfig } from './config.ts'
import { removeWallet } from './issued-tokens.ts'
import type { IssuerEffects } from './issuer.ts'
import { endOfSession, type IssuanceSession, issuanceStatus, removeFreeText } from './session.ts'
import { makeSessionEvent } from './session-status.ts'

const ENDING: SessionEnding<IssuanceSession> = {
  // A token or a refresh may have moved the end of the session.
  endOf: endOfSession,
  isExpired: (session, now) => issuanceStatus(session, now) === 'EXPIRED',
  expire: (session) => session,
  erase: (session) => removeWallet(removeFreeText(session)),
}

/** Takes the next step of each session that is due: records the expiry, erases the dataset or deletes the session. */
export async function sweepIssuanceSessions({ retention }: IssuerConfig, effects: IssuerEffects): Promise<void> {
  const now = effects.now()
  const planRow = (row: DueRow<IssuanceSession>) => planChanges(row, { retention, now, effects })
  const reportDeleted = createPurgeLog(effects.log)
  try {
    await sweep(effects.store, 'issuance_session', now, { changesOf: planRow, reportDeleted })
  } finally {
    // The empty rows of erased datasets are purged with their sessions.
    await effects.store.purge('issuance_dataset', now)
  }
}

async function planChanges(
  { id, value, version }: DueRow<IssuanceSession>,
  { retention, now, effects }: { readonly retention: Retention; readonly now: Date; readonly effects: IssuerEffects },
): Promise<readonly Change<IssuerCollections>[]> {
  const step = planRetention(value, ENDING, retention, now)
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
