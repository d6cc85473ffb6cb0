/** Reads and writes the tables of an SQLite database below the storage port (`tables.ts`). */
import type { DatabaseSync } from 'node:sqlite'
import type { DatabaseGeneration } from './generation.ts'
import { loadDriver, migrateSqlite } from './sqlite.ts'
import { hasResultCode } from './sqlite-error.ts'
import { BUSY_TIMEOUT_MS, rollBack } from './sqlite-transaction.ts'
import { parseColumn, UNFINISHED_COPY } from './statements.ts'
import type { Migration } from './store.ts'
import {
  COPY_TABLE,
  type CopyPosition,
  type CopyTarget,
  collectionsAmong,
  ROWS_AT_ONCE,
  refuseOtherTables,
  type Table,
  type TableReader,
  type TableRow,
  type TableWriter,
} from './tables.ts'

/** Runs `work` on a snapshot of the tables, in one read transaction. A service may use the database meanwhile. */
export async function withSqliteTables<T>(file: string, work: (reader: TableReader) => Promise<T>): Promise<T> {
  // A writable connection would checkpoint and delete the log of a service that was killed.
  const database = await openToRead(file)
  try {
    database.exec('begin')
    return await work(sqliteReader(database))
  } finally {
    // A connection that is closed in a transaction may keep its lock until its statements are garbage-collected.
    rollBack(database)
    database.close()
  }
}

/** Opens a database read-only. Opens it writable when an interrupted transaction must be rolled back first. */
async function openToRead(file: string): Promise<DatabaseSync> {
  const Database = await loadDriver()
  const database = new Database(file, { readOnly: true })
  try {
    database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
    database.prepare('select count(*) from sqlite_master').get()
    return database
  } catch (error) {
    database.close()
    if (!hasResultCode(error, 'readOnly')) throw error
  }
  const writable = new Database(file)
  writable.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
  return writable
}

/**
 * Makes a file with the schema, and fills it by `work`. The file needs no log. It is not synced to disk; the caller
 * does that.
 */
export async function makeSqliteTables(
  file: string,
  migrations: readonly Migration[],
  work: (writer: TableWriter) => Promise<void>,
): Promise<void> {
  const database = new (await loadDriver())(file)
  try {
    database.exec('pragma synchronous = off')
    migrateSqlite(database, migrations)
    database.exec('begin')
    await work({
      insert: (table, rows) => {
        insertRows(database, table, rows)
        return Promise.resolve()
      },
    })
    database.exec('commit')
  } finally {
    database.close()
  }
}

/** Runs `work` on the target of a copy between databases. Makes the file when it does not exist. */
export async function withSqliteTarget<T>(
  file: string,
  migrations: readonly Migration[],
  work: (target: CopyTarget) => Promise<T>,
): Promise<T> {
  const database = new (await loadDriver())(file)
  try {
    database.exec('pragma journal_mode = wal')
    const result = await work(sqliteTarget(database, migrations))
    database.exec('pragma wal_checkpoint(truncate)')
    return result
  } finally {
    database.close()
  }
}

function sqliteTarget(database: DatabaseSync, migrations: readonly Migration[]): CopyTarget {
  const isBegun = database.prepare("select name from sqlite_master where name = 'unfinished_copy'").all().length > 0
  const sql = 'select source, collection, last_id as "lastId" from unfinished_copy'
  const position = isBegun ? (database.prepare(sql).get() as unknown as CopyPosition) : undefined
  if (!isBegun) {
    refuseOtherTables(readColumns(database))
    migrateSqlite(database, migrations)
  }
  const runInTransaction = (change: () => void): Promise<void> =>
    new Promise((resolve) => {
      database.exec('begin immediate')
      change()
      database.exec('commit')
      resolve()
    })
  return {
    tables: sqliteReader(database),
    position,
    begin: (source) =>
      runInTransaction(() => {
        database.exec(COPY_TABLE)
        database.prepare('insert into unfinished_copy (source) values (?)').run(source)
        database.prepare('insert into migration (id) values (?)').run(UNFINISHED_COPY)
      }),
    insert: (table, rows) =>
      runInTransaction(() => {
        insertRows(database, table, rows)
        const update = 'update unfinished_copy set collection = ?, last_id = ?'
        database.prepare(update).run(table.name, rows.at(-1)?.id ?? null)
      }),
    finish: () =>
      runInTransaction(() => {
        database.exec('drop table unfinished_copy')
        database.prepare('delete from migration where id = ?').run(UNFINISHED_COPY)
      }),
  }
}

/** Inserts the rows within the current transaction. */
function insertRows(database: DatabaseSync, { name, hasCreationTime }: Table, rows: readonly TableRow[]): void {
  const [column, placeholder] = hasCreationTime ? [', created_at', ', ?'] : ['', '']
  const insert = database.prepare(
    `insert into ${name} (id, value, version, due_at${column}) values (?, ?, ?, ?${placeholder})`,
  )
  for (const { id, value, version, dueAt, createdAt } of rows) {
    insert.run(id, value, version, dueAt, ...(hasCreationTime ? [createdAt] : []))
  }
}

function sqliteReader(database: DatabaseSync): TableReader {
  const all = (sql: string, ...values: (string | number)[]) => database.prepare(sql).all(...values)
  const columns = readColumns(database)
  const migrationRows = columns.has('migration') ? all('select id from migration order by id') : []
  const generation = columns.has('generation') ? all('select value from generation')[0]?.value : undefined
  return {
    appliedMigrations: migrationRows.map(({ id }) => String(id)),
    tables: collectionsAmong(columns),
    generation: generation === undefined ? undefined : (parseColumn(generation) as DatabaseGeneration),
    count: ({ name }) => Promise.resolve(Number(all(`select count(*) as count from ${name}`)[0]?.count)),
    newestTime: ({ name }) => Promise.resolve(Number(all(`select max(created_at) as at from ${name}`)[0]?.at)),
    rows: (table, after) => rowsOf(database, table, after),
    size: () => {
      const [size] = all('select page_count * page_size as bytes from pragma_page_count, pragma_page_size')
      return Promise.resolve(Number(size?.bytes))
    },
  }
}

/** Returns the names of the columns by the name of the table, without the tables of SQLite itself. */
function readColumns(database: DatabaseSync): ReadonlyMap<string, readonly string[]> {
  const tables =
    "select name from sqlite_master where type = 'table' and name not like 'sqlite|_%' escape '|' order by name"
  const columns = database.prepare('select name from pragma_table_info(?)')
  const namesOf = (rows: readonly Readonly<Record<string, unknown>>[]) => rows.map(({ name }) => String(name))
  return new Map(namesOf(database.prepare(tables).all()).map((name) => [name, namesOf(columns.all(name))]))
}

function* rowsOf(
  database: DatabaseSync,
  { name, hasCreationTime }: Table,
  after: string | undefined,
): Generator<readonly TableRow[]> {
  const creation = hasCreationTime ? 'created_at' : '0'
  const columns = `id, value, version, due_at as "dueAt", ${creation} as "createdAt"`
  const first = database.prepare(`select ${columns} from ${name} order by id limit ?`)
  const next = database.prepare(`select ${columns} from ${name} where id > ? order by id limit ?`)
  for (let last = after; ; ) {
    const page = last === undefined ? first.all(ROWS_AT_ONCE) : next.all(last, ROWS_AT_ONCE)
    const rows = page as unknown as readonly TableRow[]
    if (rows.length > 0) yield rows
    last = rows.at(-1)?.id
    if (rows.length < ROWS_AT_ONCE) return
  }
}
