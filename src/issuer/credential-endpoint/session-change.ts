/** How an open session changes, however many requests there are at once: with what goes with that, in one batch. */
import { refuse } from '../../protocol/error.ts'
import type { Change } from '../../store/store.ts'
import type { IssuerCollections } from '../collections.ts'
import type { IssuerContext } from '../context.ts'
import type { IssuanceSession } from '../session.ts'
import { commitOpen, type OpenSession } from '../token-endpoint/access-token.ts'

/** The session as it is to be, and what goes with that. */
export interface SessionChange {
  readonly value: IssuanceSession
  readonly also: readonly Change<IssuerCollections>[]
}

/**
 * Changes the session and spends `spending` and the DPoP proof, all or nothing; again when another request of the session was
 * faster. `change` changes nothing itself, may refuse, and may be asked several times; where it gives undefined, the session
 * stays as it is. Gives the session as it now is, or undefined when `spending` had been spent before. Refuses with
 * `invalid_token` when the session is gone, and like {@link commitOpen}.
 */
export async function changeSession(
  context: IssuerContext,
  open: OpenSession,
  change: (session: IssuanceSession) => SessionChange | undefined | Promise<SessionChange | undefined>,
  spending: readonly Change<IssuerCollections>[] = [],
): Promise<IssuanceSession | undefined> {
  const id = open.sessionId
  let { session, version } = open
  for (;;) {
    const made = await change(session)
    const update = made && ({ update: 'issuance_session', id, version, value: made.value } as const)
    const failed = await commitOpen(context, open, [...spending, ...(update ? [update, ...made.also] : [])])
    if (failed === undefined) return made?.value ?? session
    if (failed < spending.length) return undefined
    const row = await context.store.get('issuance_session', id)
    if (row === undefined) return refuse('invalid_token', 'the session of this access token is gone')
    session = row.value
    version = row.version
  }
}
