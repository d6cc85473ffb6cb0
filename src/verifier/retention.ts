/**
 * The end of a verification session, and what is left of it: its expiry is recorded, what was disclosed is erased a while
 * after the final state, and later the session goes.
 */
import type { Retention } from '../config/retention.ts'
import { recorded } from '../event/event.ts'
import type { Change, DueRow } from '../store/store.ts'
import { sweep } from '../store/sweep.ts'
import type { VerifierCollections } from './collections.ts'
import type { VerifierConfig } from './config.ts'
import { endOf, type Outcome, statusOf, type VerificationSession } from './session.ts'
import type { CredentialReport } from './verification.ts'
import type { VerifierEffects } from './verifier.ts'

/** How long to wait for a callback before looking again. */
const PATIENCE_MS = 60_000

/** Whether the application is still to be told of this session. */
export type HasPendingCallback = (sessionId: string) => Promise<boolean>

/** Everything that is due of the sessions, in turns. Nothing is erased or deleted while a callback is pending. */
export function sweepSessions(
  { retention }: VerifierConfig,
  { store, now, random }: VerifierEffects,
  hasPendingCallback: HasPendingCallback,
): Promise<void> {
  const at = now()
  return sweep(
    store,
    'verification_session',
    at,
    async (row: DueRow<VerificationSession>): Promise<readonly Change<VerifierCollections>[]> => {
      const { id, value, version } = row
      const step = stepOf(value, retention, at)
      if ((step === 'purge' || step.erases) && (await hasPendingCallback(id))) {
        const dueAt = new Date(at.getTime() + PATIENCE_MS)
        return [{ update: 'verification_session', id, version, value, dueAt }]
      }
      if (step === 'purge') return [{ delete: 'verification_session', id, version, erases: true }]
      const event = { type: 'verification.expired', at: at.getTime(), sessionId: id } as const
      return [
        { update: 'verification_session', id, version, value: step.session, dueAt: step.dueAt, erases: true },
        ...(step.expires ? [recorded(event, random)] : []),
      ]
    },
  )
}

interface Step {
  readonly session: VerificationSession
  /** When something is to be done next. */
  readonly dueAt: Date
  readonly expires: boolean
  readonly erases: boolean
}

/** The session as it is after `now`, or `purge` when it is over and done with. Pure. */
export function stepOf(session: VerificationSession, retention: Retention, now: Date): Step | 'purge' {
  const end = endOf(session)
  const [eraseAt, purgeAt] = [retention.personalDataSeconds, retention.sessionSeconds].map(
    (seconds) => end + seconds * 1000,
  ) as [number, number]
  const at = now.getTime()
  if (session.erasedAt !== undefined && at >= purgeAt) return 'purge'
  const expires = statusOf(session, now) === 'EXPIRED' && session.expiredAt === undefined
  const erases = at >= eraseAt && session.erasedAt === undefined
  const ended = expires ? { ...session, encryptionKey: undefined, expiredAt: at } : session
  return {
    session: erases ? { ...withoutPersonalData(ended), erasedAt: at } : ended,
    dueAt: new Date(at < end ? end : at < eraseAt ? eraseAt : purgeAt),
    expires,
    erases,
  }
}

/**
 * What still tells how it went, and nothing of the person: of the redirect only where it leads, since who had to bring its
 * code has to bring it still.
 */
function withoutPersonalData(session: VerificationSession): VerificationSession {
  const { redirectUri, outcome } = session
  return {
    ...session,
    transactionData: undefined,
    ...(redirectUri === undefined ? {} : { redirectUri: new URL(redirectUri).origin }),
    ...(outcome === undefined ? {} : { outcome: outcomeWithoutPersonalData(outcome) }),
  }
}

function outcomeWithoutPersonalData(outcome: Outcome): Outcome {
  // The rest of what a wallet says is free text.
  if ('walletError' in outcome) return { walletError: { error: outcome.walletError.error } }
  const { credentials, ...report } = outcome.report
  const left = Object.entries(credentials).map(([id, reports]) => [id, reports.map(impersonal)] as const)
  return { report: { ...report, credentials: Object.fromEntries(left) } }
}

/** The times of a credential are often its own alone, and would find it again. */
function impersonal({ format, issuer, type, checks }: CredentialReport): CredentialReport {
  return { format, ...(issuer === undefined ? {} : { issuer }), ...(type === undefined ? {} : { type }), checks }
}
