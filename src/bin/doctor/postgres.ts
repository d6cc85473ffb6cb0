/** Checks whether a service can use its PostgreSQL database, without changing anything. */
import { type DatabaseConfig, describeDatabase } from '../../config/database.ts'
import { type StatementRunner, withConnection } from '../../store/postgres-connections.ts'
import { findPoolingProblem } from '../../store/postgres-pooling.ts'
import {
  findMissingPostgresMigrations,
  findMissingRights,
  findSettingsProblem,
  type PostgresState,
  readPostgresState,
} from '../../store/postgres-schema.ts'
import type { Migration } from '../../store/store.ts'
import { now } from '../effects.ts'
import { describeStorageError, OWNER } from '../embedded-database/storage-advice.ts'
import { databaseFinding, type Finding } from './finding.ts'
import { clockFinding } from './machine.ts'

type Config = Extract<DatabaseConfig, { readonly kind: 'postgresql' }>

/** Returns the findings about a PostgreSQL database. */
export async function findPostgresFindings(config: Config, migrations: readonly Migration[]): Promise<Finding[]> {
  const name = describeDatabase(config)
  try {
    return await withConnection(config, async (run) => {
      const problem = (await findSettingsProblem(run)) ?? (await findPoolingProblem(run, config))
      if (problem !== undefined) return [databaseFinding('problem', `${name}: ${problem}`)]
      const missingRights = await findMissingRights(run, config)
      if (missingRights !== undefined) return [databaseFinding('problem', `${name}: ${missingRights}`)]
      const state = await readPostgresState(run)
      const clock = clockFinding('the database', await serverTime(run), now())
      return [schemaFinding(name, config, state, migrations), ...findConnectionFindings(config, state), clock]
    })
  } catch (error) {
    return [databaseFinding('problem', `${name} cannot be used: ${describeStorageError(error)}`)]
  }
}

/** Returns the rows of a query on a connection of its own. */
export function readRowsOfServer(config: Config, text: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return withConnection(config, async (run) => (await run({ text, values: [] })).rows)
}

async function serverTime(run: StatementRunner): Promise<Date> {
  const text = 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now'
  const [row = {}] = (await run({ text, values: [] })).rows
  return new Date(Number(row.now))
}

function schemaFinding(name: string, config: Config, state: PostgresState, migrations: readonly Migration[]): Finding {
  const { appliedMigrations = [], schema = config.schema, mayMakeTables, isEmpty } = state
  let missing: number
  try {
    missing = findMissingPostgresMigrations(appliedMigrations, migrations).length
  } catch (error) {
    return databaseFinding('problem', `${name}: ${(error as Error).message}`)
  }
  if (missing === 0)
    return databaseFinding('ok', `${name} is reached; its schema is ${migrations.at(-1)?.id}, the newest`)
  if (state.appliedMigrations === undefined && !isEmpty)
    return databaseFinding('problem', `${name} is the database of something else`)
  if (schema === undefined) return databaseFinding('problem', `${name} has no schema that this user may use`)
  if (state.schema !== undefined && !mayMakeTables) {
    return databaseFinding('problem', `${name}: this user may not make tables in schema ${schema}; ${OWNER}`)
  }
  return databaseFinding('note', `${name} is reached; its schema is brought up to date at the start`)
}

function findConnectionFindings(config: Config, { version, isEncrypted, maxConnections }: PostgresState): Finding[] {
  const encryption = isEncrypted ? 'encrypted' : 'not encrypted'
  const findings = [databaseFinding('ok', `PostgreSQL ${version}; the connection is ${encryption}`)]
  if (config.maxConnections <= maxConnections) return findings
  const text = `pool.maxConnections is ${config.maxConnections}, and the server takes ${maxConnections} of all its users`
  return [...findings, databaseFinding('warning', text)]
}
