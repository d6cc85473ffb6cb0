/**
 * The storage port on SQLite: by `node:sqlite` where Node has it, else by a package with the same interface. Durable:
 * WAL with synchronous=FULL, so that a commit returns after the fsync. Commits that arrive in one turn of the event
 * loop, or while others are being written, are written together, so that many requests share one fsync.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { restoreError } from '../thread/error-properties.ts'
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
  dueStatement,
  missingSteps,
  newestStatement,
  parseColumn,
  statementOf,
  statementTexts,
} from './statements.ts'
import type { DuePosition, DueRow, Migration, Row, RowPosition, Store } from './store.ts'

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
      const rows = statement(sql).all(...values)
      return rows.map((row) => ({ ...row, value: parseColumn(row.value) }) as DueRow<never>)
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
    const missing = missingSteps(
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

/** Returns a text that differs between the database and a copy of it. */
export function originOf(statement: Prepare): string {
  const id = statement('pragma application_id').get()?.application_id
  return `${String(id)}.${schemaVersion(statement('pragma schema_version'))}`
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
function stampDatabase(database: DatabaseSync): void {
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

interface QueuedItem<Item, Result> {
  readonly item: Item
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}

interface GroupCommit<Item, Result> {
  (item: Item): Promise<Result>
  /** Resolves when all items are written. */
  drain(): Promise<void>
  /** Returns the number of queued items whose group has not been started. */
  countWaiting(): number
}

/**
 * Makes a function that queues an item and resolves to its result. `writeAll` writes one group at a time, each in one
 * transaction, and returns the results in the order of the items. When it rejects, nothing of the group was written,
 * and the promise of each item in the group rejects.
 */
function groupCommit<Item, Result>(
  writeAll: (items: readonly Item[]) => Promise<readonly Result[]>,
): GroupCommit<Item, Result> {
  let queue: QueuedItem<Item, Result>[] = []
  /** Resolves when all groups are written; undefined while no item is queued. */
  let writing: Promise<void> | undefined

  const writeGroup = async (): Promise<void> => {
    await setImmediate()
    const group = queue
    queue = []
    try {
      const results = await writeAll(group.map(({ item }) => item))
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result)
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }
  const writeGroups = async (): Promise<void> => {
    while (queue.length > 0) await writeGroup()
    writing = undefined
  }
  const commit = (item: Item): Promise<Result> =>
    new Promise((resolve, reject) => {
      queue.push({ item, resolve, reject })
      writing ??= writeGroups()
    })
  return Object.assign(commit, { drain: async () => writing, countWaiting: () => queue.length })
}
