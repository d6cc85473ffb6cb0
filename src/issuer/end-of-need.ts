/** How long wallets of existing sessions may need a configuration in the metadata of the service. */
import { readEveryRow } from '../store/every-row.ts'
import type { IssuerContext } from './context.ts'
import { hasIdentifierPerSession } from './issuer-addresses.ts'
import { endOfSession, hasOffer, type IssuanceSession } from './session.ts'

/** How much longer a configuration is listed: for the last access token, and for sessions that begin meanwhile. */
const MARGIN_MS = 3_600_000

/**
 * Returns until when sessions may need the configuration in the metadata of the service; undefined if none does. Reads
 * all sessions, unless each has metadata of its own.
 */
export async function findEndOfNeed(
  { store, config, now }: Pick<IssuerContext, 'store' | 'config' | 'now'>,
  id: string,
): Promise<number | undefined> {
  const haveOwnMetadata = hasIdentifierPerSession(config)
  if (haveOwnMetadata && config.codeFlow === undefined) return undefined
  let lastEnd = 0
  for await (const { value: session } of readEveryRow(store, 'issuance_session')) {
    const isReader = !(haveOwnMetadata && hasOffer(session)) && session.configurationIds.includes(id)
    if (isReader && now().getTime() < endOfSession(session)) lastEnd = Math.max(lastEnd, latestEnd(session))
  }
  return lastEnd === 0 ? undefined : lastEnd + MARGIN_MS
}

/** Returns when an open session ends at the latest: its code may still be redeemed at the end of the offer. */
function latestEnd(session: IssuanceSession): number {
  const { token, refreshSeconds = 0 } = session
  return endOfSession(session) + (token === undefined ? refreshSeconds * 1000 : 0)
}
