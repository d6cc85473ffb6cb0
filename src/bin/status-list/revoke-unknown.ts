/** `vouchsafe status-list revoke-unknown`: after a restore, revokes credentials that the database does not have. */
import { type RevokedEntries, revokeUnknown } from '../../issuer/status-list/revoke-unknown.ts'
import type { CredentialStatus } from '../../issuer/status-rows.ts'
import { parseColumn } from '../../store/statements.ts'
import { partOf } from '../../store/store.ts'
import type { TableReader } from '../../store/tables.ts'
import { refuseUnnoticedRestore } from '../database/confirm-generation.ts'
import { withIssuer } from '../database/operator-store.ts'
import { withTables } from '../db/tables.ts'
import { now, random, retryOnConflict } from '../effects.ts'
import type { CommandResult } from '../terminal/command-result.ts'

/**
 * Revokes the unknown credentials of the issuer with this configuration. Throws a message for the operator if no
 * service has started since the restore.
 */
export function runRevokeUnknown(configFile: string): Promise<CommandResult> {
  return withIssuer(configFile, async (store, { database, statusList: { ttlSeconds } }) => {
    await refuseUnnoticedRestore(partOf(store), database)
    const lists = await revokeUnknown({ store, now, random, retryOnConflict }, (take) =>
      withTables(database, (reader) => readStatuses(reader, take)),
    )
    const facts = {
      lists: lists.map(({ listId, ...counts }) => ({ list_id: listId, ...counts })),
      ttl_seconds: ttlSeconds,
    }
    return { text: textOf(lists, ttlSeconds), facts }
  })
}

/** Calls `take` with the credential status of each session. */
async function readStatuses(reader: TableReader, take: (status: CredentialStatus) => void): Promise<void> {
  const tables = reader.tables.filter(({ name }) => name === 'credential_status')
  for (const table of tables) {
    for await (const rows of reader.rows(table))
      for (const { value } of rows) take(parseColumn(value) as CredentialStatus)
  }
}

function textOf(lists: readonly RevokedEntries[], ttlSeconds: number): string {
  if (lists.length === 0) return 'Nothing was revoked: there is no status list from before a restore.'
  return [
    'Revoked in the status lists from before the restore, entries that were never used among them:',
    ...lists.map(({ listId, entries, revoked }) => `${listId}  ${revoked} of ${entries}`),
    `Verifiers see it within ${ttlSeconds} seconds. Where the lists are files, export them now.`,
  ].join('\n')
}
