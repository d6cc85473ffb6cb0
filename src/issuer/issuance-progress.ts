/** The progress of wallets in issuance sessions. */
import type { Retention } from '../config/retention.ts'
import type { Effects } from '../http/effects.ts'
import { createProgressRecorder, type ProgressRecorder } from '../progress/progress-recorder.ts'
import { insertOrUpdate } from '../store/store.ts'
import type { IssuerCollections } from './collections.ts'
import { endOfSession, type IssuanceSession } from './session.ts'

/** Creates the recorder of the issuance service. Each row is purged when `retention` purges the session. */
export function createIssuanceProgress(
  effects: Pick<Effects<IssuerCollections>, 'store' | 'retryOnConflict' | 'log'>,
  { sessionSeconds }: Retention,
): ProgressRecorder {
  const { store } = effects
  return createProgressRecorder<IssuanceSession>(effects, {
    findSession: async (id) => (await store.get('issuance_session', id))?.value,
    findProgress: (id) => store.get('issuance_progress', id),
    commitProgress: (content, before) => store.commit([insertOrUpdate('issuance_progress', before, content)]),
    // A refreshed session lasts longer.
    purgeTimeOf: (session) => new Date(endOfSession(session) + ((session.refreshSeconds ?? 0) + sessionSeconds) * 1000),
    selectRelevantProgress: (_, progress) => progress,
  })
}
