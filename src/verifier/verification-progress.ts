/** The progress of wallets in verification sessions. */
import type { Retention } from '../config/retention.ts'
import type { Effects } from '../http/effects.ts'
import { createProgressRecorder, type ProgressRecorder } from '../progress/progress-recorder.ts'
import type { SessionProgress } from '../progress/session-progress.ts'
import { insertOrUpdate } from '../store/store.ts'
import type { VerifierCollections } from './collections.ts'
import { endOfVerification, type VerificationSession } from './session.ts'

/** Creates the recorder of the verification service. Each row is purged when `retention` purges the session. */
export function createVerificationProgress(
  effects: Pick<Effects<VerifierCollections>, 'store' | 'retryOnConflict' | 'log'>,
  { sessionSeconds }: Retention,
): ProgressRecorder {
  const { store } = effects
  return createProgressRecorder<VerificationSession>(effects, {
    findSession: async (id) => (await store.get('verification_session', id))?.value,
    findProgress: (id) => store.get('verification_progress', id),
    commitProgress: (content, before) => store.commit([insertOrUpdate('verification_progress', before, content)]),
    purgeTimeOf: (session) => new Date(endOfVerification(session) + sessionSeconds * 1000),
    selectRelevantProgress,
  })
}

/**
 * Returns the progress that the status of a session shows beside the session: after the wallet's response only when the
 * request object was fetched, unless the session has that, since the result then says what is wrong.
 */
export function selectRelevantProgress(session: VerificationSession, progress: SessionProgress): SessionProgress {
  if (session.outcome === undefined) return progress
  const { requestFetchedAt } = progress
  return session.requestFetchedAt !== undefined || requestFetchedAt === undefined ? {} : { requestFetchedAt }
}
