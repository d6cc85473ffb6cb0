/**
 * The storage port on SQLite: `node:sqlite` where Node has it, else the package with the same interface.
 * Durable: WAL with synchronous=FULL, so that a commit returns after the fsync.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { groupCommit } from './group-commit.ts'
import { applyGroup } from './sqlite-batches.ts'
import { type LogKeeper, logKeeper } from './sqlite-log.ts'
import { createdRow, missingSteps, newestStatement, parseColumn } from './statements.ts'
import type { Change, DueRow, Migration, Row, RowPosition, Store } from './store.ts'

/**
 * The time for which a lock of another process is waited for: long at the start, short once a wait holds up every
 * request.
 */
const OPENING_TIMEOUT_MS = 5000
const BUSY_TIMEOUT_MS = 1000
/** The time for which tidying waits for readers; a longer read keeps the log until the next round. */
const TIDY_TIMEOUT_MS = 50
/** The number of rows that one transaction purges; other requests are served between two transactions. */
const PURGED_AT_ONCE = 1000
/** Opens (and makes, if need be) the database file, and brings its schema up to date. `:memory:` is for tests. */
export async function openSqlite<C>(file: string, migrations: readonly Migration[]): Promise<Store<C>> {
  const Database = await loadDriver()
  const database = new Database(file)
  // First of all, so that switching to WAL waits for another process that does the same.
  database.exec(`pragma busy_timeout = ${OPENING_TIMEOUT_MS}`)
  database.exec('pragma journal_mode = wal')
  database.exec('pragma synchronous = full')
  database.exec('pragma wal_autocheckpoint = 0')
  migrateSqlite(database, migrations)
  database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
  return createStore<C>(database)
}

function createStore<C>(database: DatabaseSync): Store<C> {
  const statement = statementCache(database)
  const forget = createForgetter(database)
  forget('fast')
  const log = logKeeper(database)
  const commit = groupCommit((batches: readonly (readonly Change<C>[])[]) => {
    forget(batches.some((batch) => batch.some((change) => 'erases' in change)) ? 'on' : 'fast')
    const results = applyGroup(statement, batches, (applyAll) =>
      inTransaction(database, 'immediate', () => {
        log.begin()
        return applyAll()
      }),
    )
    log.begun()
    log.written(batches.reduce((sum, { length }) => sum + length, 0))
    return results
  })
  return {
    ...readers<C>(statement),
    commit: (changes) => commit(changes),
    purge: (collection: string, now: Date) => purge({ database, statement, log }, collection, now),
    tidy: promisify(() => {
      tidy(database)
      log.emptied()
    }),
    close: async () => {
      // Commits that were asked for before are done first.
      await setImmediate()
      // The log has what was replaced since. Another process that still reads keeps it, and that is no failure.
      try {
        database.exec('pragma wal_checkpoint(truncate)')
      } finally {
        database.close()
      }
    },
  }
}

interface Purging {
  readonly database: DatabaseSync
  readonly statement: (sql: string) => StatementSync
  readonly log: LogKeeper
}

async function purge({ database, statement, log }: Purging, collection: string, now: Date): Promise<number> {
  const isDue = `select 1 from ${collection} where due_at <= ? limit 1`
  const sql = `delete from ${collection} where rowid in (select rowid from ${collection} where due_at <= ? limit ?)`
  for (let purged = 0; ; ) {
    // A round with nothing to do writes nothing, not even how many logs there were.
    if (statement(isDue).get(now.getTime()) === undefined) return purged
    const changes = inTransaction(database, 'immediate', () => {
      log.begin()
      return Number(statement(sql).run(now.getTime(), PURGED_AT_ONCE).changes)
    })
    purged += changes
    log.begun()
    log.written(changes)
    if (changes < PURGED_AT_ONCE) return purged
    await setImmediate()
  }
}

function readers<C>(
  statement: (sql: string) => StatementSync,
): Pick<Store<C>, 'get' | 'list' | 'due' | 'newest' | 'origin'> {
  return {
    origin: promisify(() => originOf(statement)),
    get: promisify((collection: string, id: string) => {
      // The SQLite package ends a text at its first NUL, and would find another id.
      if (id.includes('\0')) return undefined
      const row = statement(`select value, version from ${collection} where id = ?`).get(id)
      return row && ({ value: parseColumn(row.value), version: row.version } as Row<never>)
    }),
    list: promisify((collection: string) => {
      const rows = statement(`select id, value from ${collection} order by id`).all()
      return rows.map(({ id, value }) => ({ id: id as string, value: parseColumn(value) as never }))
    }),
    due: promisify((collection: string, now: Date, limit: number) => {
      const sql = `select id, value, version from ${collection} where due_at <= ? order by due_at, id limit ?`
      const rows = statement(sql).all(now.getTime(), limit)
      return rows.map((row) => ({ ...row, value: parseColumn(row.value) }) as DueRow<never>)
    }),
    newest: promisify((collection: string, limit: number, after?: RowPosition) => {
      const [sql, ...values] = newestStatement(collection, limit, after)
      return statement(sql)
        .all(...values)
        .map(createdRow<never>)
    }),
  }
}

function tidy(database: DatabaseSync): void {
  database.exec(`pragma busy_timeout = ${TIDY_TIMEOUT_MS}`)
  try {
    database.exec('pragma wal_checkpoint(truncate)')
  } finally {
    database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

/**
 * Makes a function that sets how thoroughly SQLite overwrites what is replaced or deleted. With `fast`, no trace stays
 * in free space of a page, but a page that is freed as a whole is overwritten only when it is used again. With `on`,
 * that page is overwritten at once as well, which for everything would cost a tenth of an issuance.
 */
function createForgetter(database: DatabaseSync): (how: 'fast' | 'on') => void {
  let current: string | undefined
  return (how) => {
    if (how !== current) database.exec(`pragma secure_delete = ${how}`)
    current = how
  }
}

/**
 * Makes a function that rejects where `run` throws, so that a busy or broken database does not surprise a caller that
 * only awaits.
 */
function promisify<Args extends readonly unknown[], T>(run: (...args: Args) => T): (...args: Args) => Promise<T> {
  return (...args) => new Promise((resolve) => resolve(run(...args)))
}

/** Brings the schema up to date. Throws a message for the operator when it is of a newer release or another service. */
export function migrateSqlite(database: DatabaseSync, migrations: readonly Migration[]): void {
  inTransaction(database, 'exclusive', () => {
    const before = originOf((sql) => database.prepare(sql))
    database.exec('create table if not exists migration (id text primary key)')
    const applied = database.prepare('select id from migration').all()
    const missing = missingSteps(
      applied.map(({ id }) => String(id)),
      migrations,
    )
    for (const { id, statements } of missing) {
      for (const sql of statements) database.exec(sql)
      database.prepare('insert into migration (id) values (?)').run(id)
    }
    stamp(database)
    if (missing.length > 0 && missing.length < migrations.length) keepOrigin(database, before)
  })
}

/**
 * Updates the origin that the generation of a database names, after the steps of its schema changed it, so that the
 * database is not taken for a copy.
 */
function keepOrigin(database: DatabaseSync, before: string): void {
  const tables = database.prepare("select name from sqlite_master where name = 'generation'").all()
  if (tables.length === 0) return
  const sql = "update generation set value = json_set(value, '$.origin', ?) where json_extract(value, '$.origin') = ?"
  database.prepare(sql).run(
    originOf((text) => database.prepare(text)),
    before,
  )
}

function originOf(statement: (sql: string) => StatementSync): string {
  const id = statement('pragma application_id').get()?.application_id
  return `${String(id)}.${schemaVersion(statement('pragma schema_version'))}`
}

/**
 * The least schema version of a file of ours: backups of SQLite's own into one file count it up from 1, and stay below
 * it for that many nights.
 */
const LEAST_SCHEMA_VERSION = 100

/**
 * Stamps a new database, and a copy, with a random application id and a schema version that no copy has. Copies that
 * SQLite makes have another schema version than what they were made of: one more (`vacuum into`), or one more than the
 * file had before (the backup interface).
 */
function stamp(database: DatabaseSync): void {
  const before = schemaVersion(database.prepare('pragma schema_version'))
  if (before >= LEAST_SCHEMA_VERSION) return
  const drawn = database.prepare('select random() >> 33 as id').get()
  database.exec(`pragma application_id = ${String(drawn?.id)}`)
  // Each counts it up by one.
  for (let version = before; version < LEAST_SCHEMA_VERSION; version += 2) {
    database.exec('create table stamped (id integer)')
    database.exec('drop table stamped')
  }
}

function schemaVersion(statement: StatementSync): number {
  return Number(statement.get()?.schema_version)
}

function inTransaction<T>(database: DatabaseSync, kind: 'immediate' | 'exclusive', run: () => T): T {
  database.exec(`begin ${kind}`)
  try {
    const result = run()
    database.exec('commit')
    return result
  } catch (error) {
    rollBack(database)
    throw error
  }
}

/** Ends the transaction, if there still is one. */
export function rollBack(database: DatabaseSync): void {
  try {
    database.exec('rollback')
  } catch {
    // SQLite ends the transaction by itself after some errors (a full disk), and then there is nothing to roll back.
  }
}

/**
 * Makes a function that prepares each text once. The closure also holds the database, which must outlive its
 * statements.
 */
function statementCache(database: DatabaseSync): (sql: string) => StatementSync {
  const prepared = new Map<string, StatementSync>()
  return (sql) => {
    const cached = prepared.get(sql)
    if (cached) return cached
    const statement = database.prepare(sql)
    prepared.set(sql, statement)
    return statement
  }
}

/** Loads the driver for SQLite, of Node or of a package. Throws what to do where neither has it. */
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
