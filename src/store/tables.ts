/**
 * The tables of a database as they are, below the storage port: for copies of whole databases, which keep versions,
 * times and encrypted values as they stand. `sqlite-tables.ts` and `postgres-tables.ts` read and write them.
 */
import { createHash } from 'node:crypto'
import type { DatabaseGeneration } from './generation.ts'
import { UNFINISHED_COPY } from './statements.ts'
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

/** The tables at one moment, whatever is written meanwhile. */
export interface TableReader {
  /** The steps that the schema has had, without those of a driver. */
  readonly steps: readonly string[]
  /** The collections, ordered by name. */
  readonly tables: readonly Table[]
  readonly generation: DatabaseGeneration | undefined
  count(table: Table): Promise<number>
  /** Returns the time of the newest row of a collection with an order of creation; zero where there is none. */
  newestTime(table: Table): Promise<number>
  /** Yields the rows in the order of the bytes of their ids, some at a time; those after `after`, or all. */
  rows(table: Table, after?: string): Iterable<readonly TableRow[]> | AsyncIterable<readonly TableRow[]>
  /** Returns the bytes on disk, with indices and a log that is not in the file yet. */
  size(): Promise<number>
}

export interface TableWriter {
  readonly insert: (table: Table, rows: readonly TableRow[]) => Promise<void>
}

/** The position of a copy into a database: all rows up to it are there. */
export interface CopyPosition {
  /** The name that tells the copied database from others. */
  readonly source: string
  /** The collection that is being copied, and the last row of it; null before the first. */
  readonly collection: string | null
  readonly lastId: string | null
}

/** A database that another is copied into, some rows at a time; copied rows stay when the process ends. */
export interface CopyTarget extends TableWriter {
  readonly tables: TableReader
  /** The position of a copy that was cut off; undefined in a database without one. */
  readonly position: CopyPosition | undefined
  /** Makes the schema, and marks the database as one that no service can use yet. */
  begin(source: string): Promise<void>
  /** Takes the mark away. */
  finish(): Promise<void>
}

/** The number of rows that are read and written at once: a row may have a megabyte. */
export const ROWS_AT_ONCE = 100

/** The table of the steps, and that of a copy into this database that has not ended; they are not collections. */
export const COPY_TABLE = 'create table unfinished_copy (source text not null, collection text, last_id text)'
const NO_COLLECTIONS: readonly string[] = ['migration', 'unfinished_copy']
const COLUMNS = ['id', 'value', 'version', 'due_at']

/** Returns the collections among tables, of which each is given with the names of its columns. */
export function collectionsAmong(tables: ReadonlyMap<string, readonly string[]>): readonly Table[] {
  return [...tables]
    .filter(([name, columns]) => !NO_COLLECTIONS.includes(name) && COLUMNS.every((each) => columns.includes(each)))
    .map(([name, columns]) => ({ name, hasCreationTime: columns.includes('created_at') }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Returns the steps of `migrations` that another database has had; refuses one that has had others. */
export function stepsLike(
  { steps }: Pick<TableReader, 'steps'>,
  migrations: readonly Migration[],
): readonly Migration[] {
  const unknown = steps.find((id) => !migrations.some((step) => step.id === id))
  if (unknown === UNFINISHED_COPY) throw new Error('a copy into it has not ended')
  if (unknown !== undefined) {
    throw new Error(`it is of a newer release or of another service (it has ${unknown}); use the release that made it`)
  }
  if (steps.length === 0) throw new Error('it has no schema of a service')
  return migrations.filter(({ id }) => steps.includes(id))
}

export interface TableCount {
  readonly table: string
  readonly rows: number
}

/** The rows of each table, and the SHA-256 in hexadecimal of all of them in order. */
export interface TablesDigest {
  readonly counts: readonly TableCount[]
  readonly digest: string
}

/** Reads every row of the tables. Two databases with the same rows have the same digest, also of different kinds. */
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

/** Receives how many rows of a table have been copied. */
export type CopyProgress = (table: string, rows: number) => void

/**
 * Goes on with a copy where it stands, and compares the rows of both when all are there. Throws a message for the
 * operator, and the target keeps what it has.
 */
export async function copyInto(
  source: TableReader,
  target: CopyTarget,
  { name, progress }: { readonly name: string; readonly progress: CopyProgress },
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
  await target.finish()
  return actual
}

async function refuseUnlessEmpty(tables: TableReader): Promise<void> {
  for (const table of tables.tables) {
    if ((await tables.count(table)) > 0)
      throw new Error(`it is not empty: ${table.name} has rows; name an empty database`)
  }
}

/** Copies every row of the tables. */
export async function copyTables(reader: TableReader, writer: TableWriter, tables: readonly Table[]): Promise<void> {
  for (const table of tables) {
    for await (const rows of reader.rows(table)) await writer.insert(table, rows)
  }
}

/** Inserts the rows, which a reader yields some at a time, into a table. */
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
