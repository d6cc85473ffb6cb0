/**
 * `vouchsafe db migrate`: updates the schema without starting a service: before the first process of a new release, as
 * a user who may alter tables, or to check whether there is anything to do.
 */
import { existsSync } from 'node:fs'
import { type DatabaseConfig, describeDatabase } from '../../config/database.ts'
import { unknownMigrationsProblem } from '../../store/statements.ts'
import { openDatabase } from '../effects.ts'
import { refuseDamagedFile } from '../embedded-database/file-refusals.ts'
import { throwAt } from '../embedded-database/storage-advice.ts'
import type { ConfiguredService } from '../service/configured-service.ts'
import type { CommandResult } from '../terminal/command-result.ts'
import { schemaOf, schemaText } from './status.ts'
import { withTables } from './tables.ts'

/** Updates the schema. With `onlyCheck`, changes nothing, and the exit status is 1 if migrations are missing. */
export async function migrateSchema({ kind, config }: ConfiguredService, onlyCheck: boolean): Promise<CommandResult> {
  const { database } = config
  const place = describeDatabase(database)
  const appliedMigrations = isMissing(database)
    ? []
    : await withTables(database, (reader) => Promise.resolve(reader.appliedMigrations))
  const schemaBefore = schemaOf(appliedMigrations, kind.migrations)
  const { missing, unknown } = schemaBefore
  const problem = unknownMigrationsProblem(unknown)
  if (problem !== undefined) throw new Error(`${place}: ${problem}`)
  if (onlyCheck) {
    const facts = { database: place, schema: schemaBefore.version, missing }
    return { text: `${place}: ${schemaText(schemaBefore)}`, facts, ...(missing.length > 0 && { status: 1 as const }) }
  }
  if (database.kind === 'sqlite' && !isMissing(database)) await refuseDamagedFile(database.file)
  const store = await openDatabase(database, kind.migrations).catch(throwAt(place))
  await store.close()
  const version = kind.migrations.at(-1)?.id
  const text = missing.length === 0 ? `${version}, as before` : `${version}; added: ${missing.join(', ')}`
  return { text: `${place}: the schema is ${text}`, facts: { database: place, schema: version, added: missing } }
}

/** Tests whether the file of an embedded database does not exist, so that migrating would create one. */
function isMissing(database: DatabaseConfig): boolean {
  return database.kind === 'sqlite' && !existsSync(database.file)
}
