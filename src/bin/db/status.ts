/** `vouchsafe db status`: describes a database without changing it. */
import { describeDatabase } from '../../config/database.ts'
import type { DatabaseGeneration } from '../../store/generation.ts'
import { findUnknownMigrations, unknownMigrationsProblem } from '../../store/statements.ts'
import type { Migration } from '../../store/store.ts'
import type { TableCount, TableReader } from '../../store/tables.ts'
import type { ConfiguredService } from '../service/configured-service.ts'
import { commandName } from '../terminal/command-line.ts'
import { bytesText, type CommandResult, rowsText } from '../terminal/command-result.ts'
import { formatColumns, timeText } from '../terminal/terminal.ts'
import { countTables, findNewestTime, withTables } from './tables.ts'

/** Returns the kind, schema, generation and sizes of the database of a service. Changes nothing. */
export async function describeDatabaseState({ kind, config }: ConfiguredService): Promise<CommandResult> {
  const { database } = config
  const place = describeDatabase(database)
  const state = await withTables(database, (reader) => readState(reader, kind.migrations))
  const { schema, generation, bytes, newest, tables } = state
  const facts = { database: place, service: kind.name, ...state }
  const rows: readonly (readonly [string, string])[] = [
    ['database', `${place} (${kind.name})`],
    ['schema', schemaText(schema)],
    ['generation', generationText(generation)],
    ['size', bytesText(bytes)],
    ...(newest === null ? [] : [['newest session', timeText(new Date(newest))] as const]),
    ...tables.map(({ table, rows: count }) => [table, rowsText(count)] as const),
  ]
  return { text: formatColumns(rows).join('\n'), facts }
}

interface SchemaState {
  /** The last applied migration; null if there is no schema. */
  readonly version: string | null
  /** The migrations of this release that are missing. */
  readonly missing: readonly string[]
  /** The applied migrations that this release does not know. */
  readonly unknown: readonly string[]
}

interface GenerationState {
  readonly id: string
  readonly number: number
  /** When a service last detected that the database was restored. */
  readonly restored_at?: string
}

interface DatabaseState {
  readonly schema: SchemaState
  readonly generation: GenerationState | null
  readonly bytes: number
  /** The time of the newest session or callback. */
  readonly newest: string | null
  readonly tables: readonly TableCount[]
}

async function readState(reader: TableReader, migrations: readonly Migration[]): Promise<DatabaseState> {
  return {
    schema: schemaOf(reader.appliedMigrations, migrations),
    generation: reader.generation === undefined ? null : generationOf(reader.generation),
    bytes: await reader.size(),
    newest: await findNewestTime(reader),
    tables: await countTables(reader),
  }
}

/** Compares the applied migrations with those of this release. */
export function schemaOf(appliedMigrations: readonly string[], migrations: readonly Migration[]): SchemaState {
  const ids = migrations.map(({ id }) => id)
  return {
    version: appliedMigrations.at(-1) ?? null,
    missing: ids.filter((id) => !appliedMigrations.includes(id)),
    unknown: findUnknownMigrations(appliedMigrations, migrations),
  }
}

function generationOf({ id, number, restoredAt }: DatabaseGeneration): GenerationState {
  return { id, number, ...(restoredAt !== undefined && { restored_at: new Date(restoredAt).toISOString() }) }
}

export function schemaText({ version, missing, unknown }: SchemaState): string {
  const problem = unknownMigrationsProblem(unknown)
  if (problem !== undefined) return problem
  if (version === null) return `none yet; the service makes it at its start, or ${commandName()} db migrate`
  return missing.length === 0
    ? `${version}, the newest`
    : `${version}; ${missing.join(', ')} missing, which the service adds at its start, or ${commandName()} db migrate`
}

function generationText(generation: GenerationState | null): string {
  if (generation === null) return 'none yet'
  const { id, number, restored_at: restoredAt } = generation
  const since = restoredAt === undefined ? '' : `, since a backup was put back at ${timeText(new Date(restoredAt))}`
  return `${id} (number ${number}${since})`
}
