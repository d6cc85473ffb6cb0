/** How an open session changes: with what the request spends, in one batch, however many requests there are at once. */
import { refuse } from '../protocol/error.ts'
import type { Change } from '../store/store.ts'
import { commitOpen, type OpenSession } from './access-token.ts'
import type { IssuerCollections } from './collections.ts'
import type { IssuerContext } from './context.ts'
import type { IssuanceSession } from './session.ts'

/** The session as it is to be, and what goes with that. */
export interface SessionChange {
  readonly value: IssuanceSession
  readonly also: readonly Change<IssuerCollections>[]
}

/**
 * Spends something and changes the session, both or neither; again when another request of the session was faster.
 * `change` changes nothing itself and may refuse. Gives the session as it now is, or undefined when it had been spent before.
 */
export async function spendAndChange(
  context: IssuerContext,
  open: OpenSession,
  spending: Change<IssuerCollections>,
  change: (session: IssuanceSession) => SessionChange | Promise<SessionChange>,
): Promise<IssuanceSession | undefined> {
  const id = open.sessionId
  let { session, version } = open
  for (;;) {
    const { value, also } = await change(session)
    const failed = await commitOpen(context, open, [
      spending,
      { update: 'issuance_session', id, version, value },
      ...also,
    ])
    if (failed === undefined) return value
    if (failed === 0) return undefined
    const row = await context.store.get('issuance_session', id)
    if (row === undefined) return refuse('invalid_token', 'the session of this access token is gone')
    ;({ value: session, version } = row)
  }
}
