/** How an open session changes, however many requests there are at once: with what goes with that, in one batch. */
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
    const next = { update: 'issuance_session', id, version, value } as const
    const failed = await commitOpen(context, open, [spending, next, ...also])
    if (failed === undefined) return value
    if (failed === 0) return undefined
    ;({ session, version } = await readAgain(context, id))
  }
}

/** The same where nothing is spent but a proof. A `change` that gives undefined leaves the session as it is. */
export async function changeSession(
  context: IssuerContext,
  open: OpenSession,
  change: (session: IssuanceSession) => SessionChange | undefined,
): Promise<IssuanceSession> {
  const id = open.sessionId
  let { session, version } = open
  for (;;) {
    const made = change(session)
    if (made === undefined) {
      await spendProof(context, open)
      return session
    }
    const { value, also } = made
    const next = { update: 'issuance_session', id, version, value } as const
    if ((await commitOpen(context, open, [next, ...also])) === undefined) return value
    ;({ session, version } = await readAgain(context, id))
  }
}

/** What a request spends that changes nothing: its DPoP proof, where it has one. Refuses like `commitOpen`. */
export async function spendProof(context: IssuerContext, open: OpenSession): Promise<void> {
  if (open.spends.length > 0) await commitOpen(context, open, [])
}

async function readAgain({ store }: IssuerContext, id: string) {
  const row = await store.get('issuance_session', id)
  if (row === undefined) return refuse('invalid_token', 'the session of this access token is gone')
  return { session: row.value, version: row.version }
}
