/** How an open session changes, however many requests there are at once: with what goes with that, in one batch. */
import { refuse } from '../../protocol/error.ts'
import type { Change, Row } from '../../store/store.ts'
import type { IssuerCollections } from '../collections.ts'
import type { IssuerContext } from '../context.ts'
import type { IssuanceSession } from '../session.ts'
import { commitOpen, type OpenSession } from '../token-endpoint/access-token.ts'

/** The session as it is to be, and what goes with that. */
export interface SessionChange {
  readonly value: IssuanceSession
  readonly also: readonly Change<IssuerCollections>[]
}

/** What a request uses up, and how the request is refused where that had been used up before. */
export interface Spending {
  readonly spend: Change<IssuerCollections>
  readonly refuseSpent: () => never
}

/**
 * Changes the session and spends `spending` and the DPoP proof, all or nothing; again when another request of the session was
 * first. `change` changes nothing itself, may refuse, and may be called several times; where it gives undefined, the session
 * stays as it is. Gives the session as it now is. Refuses as `refuseSpent` does, with `invalid_token` when the session is
 * gone, and like {@link commitOpen}.
 */
export function changeSession(
  context: IssuerContext,
  open: OpenSession,
  change: (session: IssuanceSession) => SessionChange | undefined | Promise<SessionChange | undefined>,
  spending?: Spending,
): Promise<IssuanceSession> {
  const id = open.sessionId
  let row: Row<IssuanceSession> | undefined = { value: open.session, version: open.version }
  return context.retryOnConflict<IssuanceSession>(async () => {
    row ??= await context.store.get('issuance_session', id)
    if (row === undefined) return refuse('invalid_token', 'the session of this access token is gone')
    const { value: session, version } = row
    const next = await change(session)
    const changes = next ? [{ update: 'issuance_session', id, version, value: next.value } as const, ...next.also] : []
    const conflict = await commitOpen(context, open, [...(spending ? [spending.spend] : []), ...changes])
    if (conflict === undefined) return { committed: next?.value ?? session }
    if (conflict === spending?.spend) spending.refuseSpent()
    row = undefined
    return { conflict }
  })
}
