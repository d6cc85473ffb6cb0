/**
 * The storage port on SQLite: by `node:sqlite` where Node has it, else by a package with the same interface. Durable:
 * WAL with synchronous=FULL, so that a commit returns after the fsync. Commits are written in groups, so that many
 * requests share one fsync.
 */
import type { DatabaseSync } from 'node:sqlite'
import { groupCommit } from '../async/group-commit.ts'
import { restoreError } from '../thread/error-properties.ts'
import { originOf, stampDatabase, updateOrigin } from './sqlite-origin.ts'
import {
  beginTransaction,
  cacheStatements,
  executeWhenFree,
  inTransaction,
  type Prepare,
} from './sqlite-transaction.ts'
import { type Batch, createWriter, makeAsync, type SqliteWriter } from './sqlite-writer.ts'
import {
  createdRow,
  dueRow,
  dueStatement,
  newestStatement,
  parseColumn,
  selectMissingMigrations,
  statementOf,
  statementTexts,
} from './statements.ts'
import type { DuePosition, Migration, Row, RowPosition, Store } from './store.ts'

/**
 * Opens the database file, and makes it when it does not exist; applies the missing migrations. `:memory:` is for
 * tests.
 */
export async function openSqlite<C>(file: string, migrations: readonly Migration[]): Promise<Store<C>> {
  const database = await connectSqlite(file, migrations)
  return createSqliteStore<C>(database, createWriter(database))
}

/** Connects to the database file, and makes it when it does not exist; applies the missing migrations. */
export async function connectSqlite(file: string, migrations: readonly Migration[]): Promise<DatabaseSync> {
  const Database = await loadDriver()
  const database = new Database(file)
  // While another process writes to a new file, SQLite refuses the switch to WAL at once, whatever the timeout.
  executeWhenFree(database, 'pragma journal_mode = wal')
  database.exec('pragma synchronous = full')
  database.exec('pragma wal_autocheckpoint = 0')
  migrateSqlite(database, migrations)
  return database
}

/** Creates a store that reads through `database` and writes through `writer`. */
export function createSqliteStore<C>(database: DatabaseSync, writer: SqliteWriter): Store<C> {
  const write = groupCommit((batches: readonly Batch[]) => writer.write(batches))
  return {
    ...createReaders<C>(cacheStatements(database)),
    commit: async (changes) => {
      const erases = changes.some((change) => 'erases' in change)
      const result = await write({ statements: changes.map(statementOf), erases })
      if ('error' in result) throw restoreError(result.error)
      return result.conflict === undefined ? undefined : changes[result.conflict]
    },
    purge: (collection: string, now: Date) => writer.purge(collection, now.getTime()),
    tidy: () => writer.tidy(),
    countWaitingBatches: () => write.countWaiting(),
    close: async () => {
      // Commits that were requested before are written first.
      await write.drain()
      await writer.close()
    },
  }
}

function createReaders<C>(
  statement: Prepare,
): Pick<Store<C>, 'get' | 'list' | 'listDue' | 'listNewest' | 'readOrigin'> {
  return {
    readOrigin: makeAsync(() => originOf(statement)),
    get: makeAsync((collection: string, id: string) => {
      // The SQLite package cuts a text at its first NUL, and would return the row of another id.
      if (id.includes('\0')) return undefined
      const row = statement(statementTexts(collection).select).get(id)
      return row && ({ value: parseColumn(row.value), version: row.version } as Row<never>)
    }),
    list: makeAsync((collection: string) => {
      const rows = statement(`select id, value from ${collection} order by id`).all()
      return rows.map(({ id, value }) => ({ id: id as string, value: parseColumn(value) as never }))
    }),
    listDue: makeAsync((collection: string, now: Date, limit: number, after?: DuePosition) => {
      const [sql, ...values] = dueStatement(collection, { now, limit, after, idColumn: 'id' })
      return statement(sql)
        .all(...values)
        .map(dueRow<never>)
    }),
    listNewest: makeAsync((collection: string, limit: number, after?: RowPosition) => {
      const [sql, ...values] = newestStatement(collection, limit, after)
      return statement(sql)
        .all(...values)
        .map(createdRow<never>)
    }),
  }
}

/**
 * Applies the missing migrations. Throws a message for the operator when the database has the schema of a newer release
 * or of another service.
 */
export function migrateSqlite(database: DatabaseSync, migrations: readonly Migration[]): void {
  const beginExclusively = (): void => {
    beginTransaction(database, 'exclusive')
  }
  inTransaction(database, beginExclusively, () => {
    const originBefore = originOf((sql) => database.prepare(sql))
    database.exec('create table if not exists migration (id text primary key)')
    const appliedRows = database.prepare('select id from migration').all()
    const missing = selectMissingMigrations(
      appliedRows.map(({ id }) => String(id)),
      migrations,
    )
    for (const { id, statements } of missing) {
      for (const sql of statements) database.exec(sql)
      database.prepare('insert into migration (id) values (?)').run(id)
    }
    stampDatabase(database)
    if (missing.length > 0 && missing.length < migrations.length) updateOrigin(database, originBefore)
  })
}

/** Loads the SQLite driver of Node or of the package. Throws an error that says what to do where neither exists. */
export async function loadDriver(): Promise<typeof DatabaseSync> {
  const builtIn = process.getBuiltinModule('node:sqlite') as { DatabaseSync: typeof DatabaseSync } | undefined
  if (builtIn !== undefined) return builtIn.DatabaseSync
  try {
    const { DatabaseSync: Database } = await import('@photostructure/sqlite')
    return Database as unknown as typeof DatabaseSync
  } catch (cause) {
    throw new Error(
      'there is no SQLite: use Node 22.13 or newer, or install the package again without --omit=optional',
      { cause },
    )
  }
}
