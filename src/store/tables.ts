/**
 * The tables of a database below the storage port, for copies of whole databases: versions, times and encrypted values
 * are copied unchanged. `sqlite-tables.ts` and `postgres-tables.ts` read and write them.
 */
import { createHash } from 'node:crypto'
import type { DatabaseGeneration } from './generation.ts'
import { findUnknownMigrations, unknownMigrationsProblem } from './statements.ts'
import type { Migration } from './store.ts'

export interface Table {
  readonly name: string
  /** Whether the collection has an order of creation. */
  readonly hasCreationTime: boolean
}

export interface TableRow {
  readonly id: string
  /** The value as it is stored: JSON, which may be encrypted. */
  readonly value: string
  readonly version: number
  readonly dueAt: number | null
  /** The time of creation; zero where the collection has no order of creation. */
  readonly createdAt: number
}

/** A snapshot of the tables, which concurrent writes do not affect. */
export interface TableReader {
  /** The ids of the applied migrations, without the driver's own. */
  readonly appliedMigrations: readonly string[]
  /** The collections, ordered by name. */
  readonly tables: readonly Table[]
  readonly generation: DatabaseGeneration | undefined
  count(table: Table): Promise<number>
  /**
   * Returns the creation time of the newest row of a collection that has an order of creation; zero when it has no
   * rows.
   */
  newestTime(table: Table): Promise<number>
  /** Yields the rows in pages, ordered by the bytes of their ids: those after the id `after`, or all. */
  rows(table: Table, after?: string): Iterable<readonly TableRow[]> | AsyncIterable<readonly TableRow[]>
  /** Returns the number of bytes on disk, including indices and a log that is not in the file yet. */
  size(): Promise<number>
}

export interface TableWriter {
  readonly insert: (table: Table, rows: readonly TableRow[]) => Promise<void>
}

/** The progress of a copy into a database: all rows up to this position are copied. */
export interface CopyPosition {
  /** The name of the database that is copied. */
  readonly source: string
  /** The collection that is being copied, and the id of its last copied row; null before the first. */
  readonly collection: string | null
  readonly lastId: string | null
}

/**
 * The target of a copy between databases. Copied rows stay when the process ends, so that the copy can be continued.
 */
export interface CopyTarget extends TableWriter {
  readonly tables: TableReader
  /** The position of an interrupted copy; undefined when there is none. */
  readonly position: CopyPosition | undefined
  /** Records the start of a copy, and marks the database so that no service can use it. */
  begin(source: string): Promise<void>
  /** Removes the mark and the position. */
  finish(): Promise<void>
}

/** The number of rows that are read and written at once; a row may have a megabyte. */
export const ROWS_AT_ONCE = 100

/** The statement that creates the table with the position of a copy. Such a table exists until the copy is complete. */
export const COPY_TABLE = 'create table unfinished_copy (source text not null, collection text, last_id text)'
/** The tables that are not collections. */
const NO_COLLECTIONS: readonly string[] = ['migration', 'unfinished_copy']
/** The columns that every collection has. */
export const COLLECTION_COLUMNS = ['id', 'value', 'version', 'due_at']

/** Returns the tables that are collections. `tables` has the names of the columns by the name of the table. */
export function collectionsAmong(tables: ReadonlyMap<string, readonly string[]>): readonly Table[] {
  return [...tables]
    .filter(
      ([name, columns]) => !NO_COLLECTIONS.includes(name) && COLLECTION_COLUMNS.every((each) => columns.includes(each)),
    )
    .map(([name, columns]) => ({ name, hasCreationTime: columns.includes('created_at') }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/**
 * Throws when a table is neither a collection nor one that goes with collections. `tables` has the names of the columns
 * by the name of the table.
 */
export function refuseOtherTables(tables: ReadonlyMap<string, readonly string[]>): void {
  const ownNames = [...NO_COLLECTIONS, ...collectionsAmong(tables).map(({ name }) => name)]
  const other = [...tables.keys()].find((name) => !ownNames.includes(name))
  if (other === undefined) return
  throw new Error(`it is not empty: ${other} is a table of something else; name an empty database`)
}

/** Returns those of `migrations` that another database has applied. Throws when it has others, or none. */
export function selectAppliedMigrations(
  { appliedMigrations }: Pick<TableReader, 'appliedMigrations'>,
  migrations: readonly Migration[],
): readonly Migration[] {
  const problem = unknownMigrationsProblem(findUnknownMigrations(appliedMigrations, migrations))
  if (problem !== undefined) throw new Error(problem)
  if (appliedMigrations.length === 0) throw new Error('it has no schema of a service; name the database of one')
  return migrations.filter(({ id }) => appliedMigrations.includes(id))
}

export interface TableCount {
  readonly table: string
  readonly rows: number
}

/** The number of rows in each table, and the SHA-256 of all rows in order, in hexadecimal. */
export interface TablesDigest {
  readonly counts: readonly TableCount[]
  readonly digest: string
}

/**
 * Reads every row of the tables. Databases with the same rows have the same digest, also when one is SQLite and one
 * PostgreSQL.
 */
export async function digestTables(reader: TableReader, tables: readonly Table[]): Promise<TablesDigest> {
  const hash = createHash('sha256')
  const counts: TableCount[] = []
  for (const table of tables) {
    hash.update(`${table.name}\n`)
    let count = 0
    for await (const rows of reader.rows(table)) {
      count += rows.length
      for (const { id, value, version, dueAt, createdAt } of rows) {
        hash.update(`${JSON.stringify([id, value, version, dueAt, createdAt])}\n`)
      }
    }
    counts.push({ table: table.name, rows: count })
  }
  return { counts, digest: hash.digest('hex') }
}

/** Receives the number of rows of a table that have been copied. */
export type CopyProgress = (table: string, rows: number) => void

interface CopyIntoOptions {
  /** The id of the copied database, which the target notes. */
  readonly name: string
  readonly progress: CopyProgress
  /** Rejects if the source has changed since it was read. */
  readonly confirmSource: () => Promise<void>
}

/**
 * Copies a database into the target, or continues an interrupted copy, and then compares the rows of both. Throws a
 * message for the operator when the target has other rows, or belongs to another copy, or differs afterwards. Rejects
 * like `confirmSource`, which tells at the end whether the source is as it was. The target keeps the rows that were
 * copied.
 */
export async function copyInto(
  source: TableReader,
  target: CopyTarget,
  { name, progress, confirmSource }: CopyIntoOptions,
): Promise<TablesDigest> {
  // The generation of a database belongs to it: the first service on the copy begins its own.
  const tables = source.tables.filter((table) => table.name !== 'generation')
  const { position } = target
  if (position === undefined) {
    await refuseUnlessEmpty(target.tables)
    await target.begin(name)
  } else if (position.source !== name) {
    throw new Error('a copy of another database into it has not ended; name an empty one')
  }
  const { collection, lastId } = position ?? { collection: null, lastId: null }
  for (const table of tables.filter((each) => collection === null || each.name >= collection)) {
    const after = table.name === collection ? (lastId ?? undefined) : undefined
    await copyRows(source.rows(table, after), { table, writer: target, progress })
  }
  const [expected, actual] = [await digestTables(source, tables), await digestTables(target.tables, tables)]
  if (expected.digest !== actual.digest) {
    throw new Error(
      'the rows of both differ, as where the source was changed during the copy; empty the target, and copy again',
    )
  }
  await confirmSource()
  await target.finish()
  return actual
}

async function refuseUnlessEmpty(tables: TableReader): Promise<void> {
  for (const table of tables.tables) {
    if ((await tables.count(table)) > 0)
      throw new Error(`it is not empty: ${table.name} has rows; name an empty database`)
  }
}

/** Copies every row of a database. */
export async function copyTables(reader: TableReader, writer: TableWriter, progress: CopyProgress): Promise<void> {
  for (const table of reader.tables) await copyRows(reader.rows(table), { table, writer, progress })
}

/** Inserts pages of rows into a table. */
async function copyRows(
  source: ReturnType<TableReader['rows']>,
  { table, writer, progress }: { readonly table: Table; readonly writer: TableWriter; readonly progress: CopyProgress },
): Promise<void> {
  let copiedRows = 0
  for await (const rows of source) {
    await writer.insert(table, rows)
    copiedRows += rows.length
    progress(table.name, copiedRows)
  }
}
