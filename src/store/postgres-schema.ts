/** Prepares a PostgreSQL database: checks its settings, and brings its schema up to date. */
import { setTimeout as wait } from 'node:timers/promises'
import { NOT_APPLIED, type PostgresServer, type StatementRunner, withConnection } from './postgres-connections.ts'
import { SCHEMA_HASH } from './postgres-lock.ts'
import { findPoolingProblem } from './postgres-pooling.ts'
import { selectMissingMigrations } from './statements.ts'
import type { Migration } from './store.ts'
import { COLLECTION_COLUMNS } from './tables.ts'

const OLDEST_VERSION = 13
const READ_ONLY = 'the database can only be read; name the primary server'
/**
 * The first key of the advisory lock that is held while the schema is migrated: an arbitrary number that no other
 * program uses. The second key is a hash of the schema.
 */
const MIGRATION_LOCK = 0x766f7563
/** How long another process may migrate before the wait is reported. */
const NOTICE_AFTER_MS = 1000
/** How long a migration waits for a lock, longer than an automatic vacuum that is then ended (`deadlock_timeout`). */
const LOCK_MS = 2000
/** The time in which a server that is not frozen answers a statement that migrates nothing. */
const ANSWER_MS = 30_000
/** The pause before a migration is tried again, in which others use the table. */
const LOCK_PAUSE_MS = 5000
/** The error code of a lock that was not free in time. */
const LOCK_NOT_AVAILABLE = '55P03'

/**
 * The migrations of the driver itself: a function that a batch calls last, with the number of rows that each change
 * applied to. The function raises an error when a number is 0, which rolls the batch back.
 */
const postgresMigrations: readonly Migration[] = [
  {
    id: 'postgresql-0001',
    statements: [
      `create function every_change_applied(counts integer[]) returns void language plpgsql as $$
      begin
        if 0 = any(counts) then
          raise exception using errcode = '${NOT_APPLIED}', message = 'a change did not apply', detail = array_to_string(counts, '');
        end if;
      end $$`,
    ],
  },
]

/** The ids of the driver's own migrations, which databases of other drivers do not have. */
export const OWN_MIGRATIONS: readonly string[] = postgresMigrations.map(({ id }) => id)

/** The state of a database. */
export interface PostgresState {
  readonly version: string
  readonly isEncrypted: boolean
  /** The ids of the applied migrations; undefined when the database has no table of migrations. */
  readonly appliedMigrations: readonly string[] | undefined
  /** Whether the schema has no tables at all. */
  readonly isEmpty: boolean
  /** The schema in which tables are created; undefined when there is none. */
  readonly schema: string | undefined
  readonly mayMakeTables: boolean
  readonly maxConnections: number
}

/**
 * Checks the settings of the server, and applies the missing migrations. Rejects with a sentence for the operator when
 * the server cannot be used. Processes do this one after the other. While another process migrates, or has a table
 * locked that a migration changes, tries again, and calls `onWait` once.
 */
export function preparePostgres(
  options: PostgresServer,
  migrations: readonly Migration[],
  onWait: () => void,
): Promise<void> {
  const prepare = async (run: StatementRunner): Promise<void> => {
    const problem = (await findSettingsProblem(run)) ?? (await findPoolingProblem(run, options))
    if (problem !== undefined) throw Object.assign(new Error(problem), problem === READ_ONLY && { code: '25006' })
    let isWaiting = false
    const noteWait = (): void => {
      if (!isWaiting) onWait()
      isWaiting = true
    }
    const migration = { run, server: options, migrations, noteWait }
    while (!(await migrateInTurn(migration))) {
      noteWait()
      await wait(LOCK_PAUSE_MS)
    }
  }
  return withConnection(options, prepare, ANSWER_MS)
}

interface MigrationRun {
  readonly run: StatementRunner
  readonly server: PostgresServer
  readonly migrations: readonly Migration[]
  readonly noteWait: () => void
}

/**
 * Migrates in a transaction. Returns false, and changes nothing, if another process migrates for a while. Keeps the
 * turn while a table is not free, so that one process alone asks for it.
 */
async function migrateInTurn(migration: MigrationRun): Promise<boolean> {
  const { run, server, noteWait } = migration
  await run({ text: 'begin', values: [] })
  // A migration may take longer, and wait longer, than a limit of the user allows.
  for (const limit of ['statement_timeout', 'idle_in_transaction_session_timeout']) {
    await run({ text: `set local ${limit} = 0`, values: [] })
  }
  await run({ text: `set local lock_timeout = ${LOCK_MS}`, values: [] })
  const isMyTurn = await ifLockIsFree(() => takeMigrationLock(run, server, noteWait))
  while (isMyTurn && !(await tryMigration(migration))) {
    noteWait()
    await wait(LOCK_PAUSE_MS)
  }
  await run({ text: isMyTurn ? 'commit' : 'rollback', values: [] })
  return isMyTurn
}

/**
 * Applies the missing migrations. Returns false, and changes nothing, if a table is not free for a while: other
 * statements on the table wait behind one that waits for it, as if the table were locked already.
 */
async function tryMigration({ run, server, migrations }: MigrationRun): Promise<boolean> {
  await run({ text: 'savepoint migration', values: [] })
  const isApplied = await ifLockIsFree(() => applyMissingMigrations(run, server, migrations))
  if (!isApplied) await run({ text: 'rollback to savepoint migration', values: [] })
  return isApplied
}

/** Runs `work`, and returns false if a lock was not free in time. */
async function ifLockIsFree(work: () => Promise<void>): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === LOCK_NOT_AVAILABLE) return false
    throw error
  }
}

/**
 * Applies the missing migrations within the current transaction, under a lock for which other migrating processes wait.
 * Calls `onWait` once when the wait is long.
 */
export async function migrateUnderLock(
  run: StatementRunner,
  server: Pick<PostgresServer, 'schema'>,
  migrations: readonly Migration[],
  onWait: () => void,
): Promise<void> {
  await takeMigrationLock(run, server, onWait)
  await applyMissingMigrations(run, server, migrations)
}

async function applyMissingMigrations(
  run: StatementRunner,
  { schema }: Pick<PostgresServer, 'schema'>,
  migrations: readonly Migration[],
): Promise<void> {
  if (schema !== undefined && !(await hasSchema(run, schema))) {
    await run({ text: `create schema "${schema}"`, values: [] })
  }
  const problem = await findSchemaProblem(run, schema)
  if (problem !== undefined) throw new Error(problem)
  const appliedMigrations = await readAppliedMigrations(run)
  if (appliedMigrations === undefined) await run({ text: 'create table migration (id text primary key)', values: [] })
  for (const { id, statements } of findMissingPostgresMigrations(appliedMigrations ?? [], migrations)) {
    for (const text of statements) await run({ text, values: [], mayTakeLong: true })
    await run({ text: 'insert into migration (id) values ($1)', values: [id] })
  }
}

async function takeMigrationLock(
  run: StatementRunner,
  { schema }: Pick<PostgresServer, 'schema'>,
  onWait: () => void,
): Promise<void> {
  const notice = setTimeout(onWait, NOTICE_AFTER_MS)
  const lock = { text: `select pg_advisory_xact_lock($1, ${SCHEMA_HASH})`, values: [MIGRATION_LOCK, schema ?? ''] }
  await run(lock).finally(() => clearTimeout(notice))
}

/**
 * Returns the migrations that are not applied yet, the driver's own first. Throws when an applied migration is unknown.
 */
export function findMissingPostgresMigrations(
  appliedMigrations: readonly string[],
  migrations: readonly Migration[],
): readonly Migration[] {
  return selectMissingMigrations(appliedMigrations, [...postgresMigrations, ...migrations])
}

/** Returns a sentence that says why the server cannot be used; undefined when it can be used. */
export async function findSettingsProblem(run: StatementRunner): Promise<string | undefined> {
  const names = [
    'server_version_num',
    'server_version',
    'server_encoding',
    'synchronous_commit',
    'transaction_read_only',
  ]
  const text = `select ${names.map((name) => `current_setting('${name}') as ${name}`).join(', ')}`
  const [settings = {}] = (await run({ text, values: [] })).rows
  if (Number(settings.server_version_num) < OLDEST_VERSION * 10_000) {
    return `PostgreSQL ${String(settings.server_version)} is too old; use ${OLDEST_VERSION} or newer`
  }
  if (settings.server_encoding !== 'UTF8') return "the database is not in UTF-8; make one with encoding 'UTF8'"
  if (settings.synchronous_commit === 'off') {
    return 'synchronous_commit is off, so that what was answered could be lost; set it to on for this user'
  }
  if (settings.transaction_read_only === 'on') return READ_ONLY
  return undefined
}

/** Returns a sentence for the operator when the user lacks the right to use the schema; undefined otherwise. */
export async function findSchemaProblem(run: StatementRunner, schema = 'public'): Promise<string | undefined> {
  const text = `select quote_ident(current_user) as name, quote_ident(nspname) as schema from pg_namespace
    where nspname = $1 and current_schema() is null`
  const [row] = (await run({ text, values: [schema] })).rows
  if (row === undefined) return undefined
  return `this user may not use the schema; run: grant usage on schema ${String(row.schema)} to ${String(row.name)}`
}

const COLUMN_LIST = COLLECTION_COLUMNS.map((name) => `'${name}'`).join(', ')
/** Selects the tables of a service in the current schema, which may have tables of extensions too. */
const OWN_TABLES = `select c.oid as id, c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = current_schema() and c.relkind in ('r', 'p') and (c.relname = 'migration' or (
    select count(*) from pg_attribute a
    where a.attrelid = c.oid and a.attname in (${COLUMN_LIST}) and not a.attisdropped
  ) = ${COLLECTION_COLUMNS.length})`

/** Returns a sentence for the operator when the user lacks rights that a service needs; undefined otherwise. */
export async function findMissingRights(
  run: StatementRunner,
  { schema }: Pick<PostgresServer, 'schema'>,
): Promise<string | undefined> {
  const schemaProblem = await findSchemaProblem(run, schema)
  if (schemaProblem !== undefined) return schemaProblem
  const rights = ['select', 'insert', 'update', 'delete']
  const [select, ...others] = rights.map((right) => `has_table_privilege(id, '${right}')`)
  const hasAll = `${select} and (name = 'migration' or (${others.join(' and ')}))`
  const text = `select quote_ident(current_user) as name,
    string_agg(format('%I.%I', current_schema(), name), ', ' order by name) as lacking
    from (${OWN_TABLES}) as own where not (${hasAll})`
  const [row] = (await run({ text, values: [] })).rows
  if (typeof row?.lacking !== 'string') return undefined
  return `this user may not use all tables; run: grant ${rights.join(', ')} on ${row.lacking} to ${String(row.name)}`
}

/**
 * Rejects with a sentence for the operator when the user lacks rights that a service needs, or when the server does not
 * answer in time.
 */
export function refuseMissingRights(server: PostgresServer): Promise<void> {
  const refuse = async (run: StatementRunner): Promise<void> => {
    const problem = await findMissingRights(run, server)
    if (problem !== undefined) throw new Error(problem)
  }
  return withConnection(server, refuse, ANSWER_MS)
}

/** Reads the state of a database, and changes nothing. */
export async function readPostgresState(run: StatementRunner): Promise<PostgresState> {
  const text = `select current_setting('server_version') as version, current_schema() as schema,
    current_setting('max_connections')::integer as max_connections,
    coalesce((select ssl from pg_stat_ssl where pid = pg_backend_pid()), false) as encrypted,
    coalesce(has_schema_privilege(current_schema(), 'create'), false) as may_make,
    not exists (select from pg_tables where schemaname = current_schema()) as empty`
  const [row = {}] = (await run({ text, values: [] })).rows
  return {
    version: String(row.version),
    isEncrypted: row.encrypted === true,
    appliedMigrations: await readAppliedMigrations(run),
    isEmpty: row.empty === true,
    schema: typeof row.schema === 'string' ? row.schema : undefined,
    mayMakeTables: row.may_make === true,
    maxConnections: Number(row.max_connections),
  }
}

async function readAppliedMigrations(run: StatementRunner): Promise<readonly string[] | undefined> {
  const table = { text: "select to_regclass('migration') is not null as exists", values: [] }
  if ((await run(table)).rows[0]?.exists !== true) return undefined
  const { rows } = await run({ text: 'select id from migration order by id collate "C"', values: [] })
  return rows.map(({ id }) => String(id))
}

async function hasSchema(run: StatementRunner, schema: string): Promise<boolean> {
  return (await run({ text: 'select from pg_namespace where nspname = $1', values: [schema] })).rowCount === 1
}
