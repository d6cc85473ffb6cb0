/** `vouchsafe status-list revoke-unknown`: after a restore, revokes credentials that the database does not know. */
import { revokeUnknown } from '../../issuer/status-list/revoke-unknown.ts'
import type { CredentialStatus } from '../../issuer/status-rows.ts'
import { parseColumn } from '../../store/statements.ts'
import type { TableReader } from '../../store/tables.ts'
import type { CommandResult } from '../db/command-result.ts'
import { withTables } from '../db/subject.ts'
import { retryOnConflict } from '../effects.ts'
import { withIssuer } from '../operator-store.ts'

/**
 * Revokes them in the database of the issuer with this configuration. Throws a message for the operator where it was
 * never restored.
 */
export async function revokeUnknownCredentials(configFile: string): Promise<CommandResult> {
  const { lists, ttlSeconds } = await withIssuer(configFile, (store, config) =>
    withTables(config.database, async (reader) => ({
      lists: await revokeUnknown({ store, retryOnConflict }, () => readStatuses(reader)),
      ttlSeconds: config.statusList.ttlSeconds,
    })),
  )
  if (lists === undefined) {
    throw new Error(
      'the database was never restored from a backup, so that every credential is known: nothing was changed. After a restore by hand, start the service first',
    )
  }
  const lines = lists.map(({ listId, entries, revoked }) => `${listId}  ${revoked} of ${entries} entries`)
  const text = [
    lists.length === 0
      ? 'There is no status list from before the restore.'
      : 'Revoked in the status lists from before the restore, with the entries that nobody was given:',
    ...lines,
    ...(lists.length === 0 ? [] : [`Verifiers see it within ${ttlSeconds} seconds.`]),
  ].join('\n')
  return { text, facts: { lists, ttlSeconds } }
}

/** Yields the status of the credentials of every session, some rows at a time. */
async function* readStatuses(reader: TableReader): AsyncGenerator<CredentialStatus> {
  const table = reader.tables.find(({ name }) => name === 'credential_status')
  if (table === undefined) throw new Error('the database has no table credential_status: it is not that of an issuer')
  for await (const rows of reader.rows(table))
    for (const { value } of rows) yield parseColumn(value) as CredentialStatus
}
