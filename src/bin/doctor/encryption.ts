/** Checks whether the data of a service is encrypted, and whether its keys are configured. */
import type { ServiceDefaults } from '../../config/common.ts'
import type { DatabaseConfig } from '../../config/database.ts'
import { ENCRYPTION_KEYS_SETTING, readDatabaseKeys } from '../../config/encryption-keys.ts'
import type { Files } from '../../config/files.ts'
import { longestRetentionMs, resolveRetention } from '../../config/retention.ts'
import { makeDatabaseKey, missingKeyProblem } from '../../store/encrypted.ts'
import { readRows } from './database.ts'
import { type Finding, makeFinding } from './finding.ts'
import { findPrivateFileFindings } from './private-file.ts'

interface Settings {
  readonly database?: { readonly encryptionKeyFile?: string } | undefined
  readonly retention?: Parameters<typeof resolveRetention>[0]
}

interface Surroundings {
  readonly files: Files
  readonly at: Date
  readonly defaults: ServiceDefaults
}

/** Returns the findings; none if the settings have the wrong form, which is reported elsewhere. */
export async function findEncryptionFindings(
  { database: settings, retention }: Settings,
  database: DatabaseConfig,
  { files, at, defaults }: Surroundings,
): Promise<Finding[]> {
  const path = settings?.encryptionKeyFile
  const keysResult = readDatabaseKeys(path, files)
  if ('mistakes' in keysResult) return []
  const keys = keysResult.keys.map(makeDatabaseKey)
  const storedKeys = await readStoredKeys(database)
  const retentionMs = longestRetentionMs(resolveRetention(retention, defaults.retention))
  const problem = missingKeyProblem(storedKeys, { keys, now: at, retentionMs })
  if (problem !== undefined) return [makeFinding(ENCRYPTION_KEYS_SETTING, 'problem', problem)]
  if (path === undefined) return []
  const used = keys.length === 1 ? 'one key' : `the first of ${keys.length} keys`
  const text = `personal data is encrypted with ${used}: ${keys.map(({ id }) => id).join(', ')}`
  return [makeFinding(ENCRYPTION_KEYS_SETTING, 'ok', text), ...findPrivateFileFindings(ENCRYPTION_KEYS_SETTING, path)]
}

/** Returns the ids of the keys in the database; none if it does not exist or is of an earlier release. */
async function readStoredKeys(database: DatabaseConfig): Promise<Parameters<typeof missingKeyProblem>[0]> {
  try {
    const rows = await readRows(database, 'select id, value from encryption_key')
    return rows.map(({ id, value }) => ({ id: String(id), value: JSON.parse(String(value)) as object }))
  } catch {
    // The database findings report this problem.
    return []
  }
}
