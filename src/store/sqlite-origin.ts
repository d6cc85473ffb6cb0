/** The origin of an SQLite database: a text by which a copy is told from the database that it is of. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import type { Prepare } from './sqlite-transaction.ts'

/** Returns a text that differs between the database and a copy of it. */
export function originOf(statement: Prepare): string {
  const id = statement('pragma application_id').get()?.application_id
  return `${String(id)}.${schemaVersion(statement('pragma schema_version'))}`
}

/**
 * Replaces the stored origin after a migration or a rewrite changed the actual one, so that the database is not taken
 * for a copy. Does nothing when the stored origin is not `originBefore`: the database is then a copy that was not
 * detected yet, and stays detectable.
 */
export function updateOrigin(database: DatabaseSync, originBefore: string): void {
  const tables = database.prepare("select name from sqlite_master where name = 'generation'").all()
  if (tables.length === 0) return
  const sql = "update generation set value = json_set(value, '$.origin', ?) where json_extract(value, '$.origin') = ?"
  database.prepare(sql).run(
    originOf((text) => database.prepare(text)),
    originBefore,
  )
}

/**
 * The least schema version of a stamped file. When SQLite backs up into the same file again and again, that file's
 * schema version grows from 1, and stays below this number for as many backups.
 */
const LEAST_SCHEMA_VERSION = 100

/**
 * Gives a database with a low schema version, which is new or a backup, a random application id and the least schema
 * version. A copy that SQLite makes never has the schema version of its original: it has one more (`vacuum into`), or
 * one more than its own file had before (the backup interface).
 */
export function stampDatabase(database: DatabaseSync): void {
  const versionBefore = schemaVersion(database.prepare('pragma schema_version'))
  if (versionBefore >= LEAST_SCHEMA_VERSION) return
  const randomRow = database.prepare('select random() >> 33 as id').get()
  database.exec(`pragma application_id = ${String(randomRow?.id)}`)
  // Each of the two statements increments the schema version by one.
  for (let version = versionBefore; version < LEAST_SCHEMA_VERSION; version += 2) {
    database.exec('create table stamped (id integer)')
    database.exec('drop table stamped')
  }
}

function schemaVersion(statement: StatementSync): number {
  return Number(statement.get()?.schema_version)
}
