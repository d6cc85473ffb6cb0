/** Reads and writes the tables of a PostgreSQL database below the storage port (`tables.ts`). */
import type { DatabaseGeneration } from './generation.ts'
import { type PostgresServer, type StatementRunner, withConnection } from './postgres-connections.ts'
import { readOrigin } from './postgres-origin.ts'
import { findSchemaProblem, migrateUnderLock, OWN_MIGRATIONS } from './postgres-schema.ts'
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

const TABLES_AND_VIEWS = "c.relkind in ('r', 'p', 'v', 'm', 'f')"
const TABLES_WITHOUT_EXTENSIONS = `c.relkind in ('r', 'p', 'f') and not exists (
  select 1 from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')`

const FUNCTION = 'every_change_applied(integer[])'

/** Runs a statement on a connection, given as its text and its values. */
type RunSql = (text: string, ...values: Parameters<StatementRunner>[0]['values']) => ReturnType<StatementRunner>

/** Runs `work` on a snapshot of the tables, in one read-only transaction. Services may use the database meanwhile. */
export function withPostgresTables<T>(server: PostgresServer, work: (reader: TableReader) => Promise<T>): Promise<T> {
  return withConnection(server, async (run) => {
    const runSql = createSqlRunner(run)
    const schemaProblem = await findSchemaProblem(run, server.schema)
    if (schemaProblem !== undefined) throw new Error(`PostgreSQL: ${schemaProblem}`)
    await runSql('begin isolation level repeatable read read only')
    const result = await work(await postgresReader(runSql))
    await runSql('commit')
    return result
  })
}

export interface PostgresReplacement {
  readonly server: PostgresServer
  readonly migrations: readonly Migration[]
  /** The schema into which the previous tables are moved. */
  readonly kept: string
  /** Called once when another process migrates the database for long. */
  readonly onWait: () => void
}

/**
 * Moves the tables to the schema `kept`, and fills new tables by `work`, all in one transaction. Returns the schema
 * that has the previous tables; undefined when there were none. Throws when a service is connected.
 */
export function replacePostgresTables(
  { server, migrations, kept, onWait }: PostgresReplacement,
  work: (writer: TableWriter) => Promise<void>,
): Promise<string | undefined> {
  return withConnection(server, async (run) => {
    const runSql = createSqlRunner(run)
    await refuseWhileUsed(runSql)
    await refuseUnowned(runSql)
    await runSql('begin')
    const schemaOfPrevious = await moveAside(runSql, kept)
    await migrateUnderLock(run, server, migrations, onWait)
    await work(postgresWriter(run))
    const origin = await readOrigin(run)
    await runSql(`update generation set value = jsonb_set(value::jsonb, '{origin}', to_jsonb($1::text))::text`, origin)
    await runSql('commit')
    return schemaOfPrevious
  })
}

/** Runs `work` on the target of a copy between databases. Throws when a service is connected to the target. */
export async function withPostgresTarget<T>(
  replacement: Omit<PostgresReplacement, 'kept'>,
  work: (target: CopyTarget) => Promise<T>,
): Promise<T> {
  return withConnection(replacement.server, async (run) => work(await postgresTarget(run, replacement)))
}

async function postgresTarget(
  run: StatementRunner,
  { server, migrations, onWait }: Omit<PostgresReplacement, 'kept'>,
): Promise<CopyTarget> {
  const runSql = createSqlRunner(run)
  await refuseWhileUsed(runSql)
  const [{ begun: isBegun } = {}] = (await runSql("select to_regclass('unfinished_copy') is not null as begun")).rows
  if (isBegun !== true) {
    refuseOtherTables(await readColumns(runSql, TABLES_WITHOUT_EXTENSIONS))
    await runInTransaction(runSql, () => migrateUnderLock(run, server, migrations, onWait))
  }
  const sql = 'select source, collection, last_id as "lastId" from unfinished_copy'
  const position = isBegun === true ? ((await runSql(sql)).rows[0] as unknown as CopyPosition) : undefined
  const reader = await postgresReader(runSql)
  const { insert } = postgresWriter(run)
  return {
    tables: { ...reader, rows: (table, after) => rowsInTransaction(runSql, reader.rows(table, after)) },
    position,
    begin: (source) =>
      runInTransaction(runSql, async () => {
        await runSql(COPY_TABLE)
        await runSql('insert into unfinished_copy (source) values ($1)', source)
        await runSql('insert into migration (id) values ($1)', UNFINISHED_COPY)
      }),
    insert: (table, rows) =>
      runInTransaction(runSql, async () => {
        await insert(table, rows)
        await runSql('update unfinished_copy set collection = $1, last_id = $2', table.name, rows.at(-1)?.id ?? null)
      }),
    finish: () =>
      runInTransaction(runSql, async () => {
        await runSql('drop table unfinished_copy')
        await runSql('delete from migration where id = $1', UNFINISHED_COPY)
      }),
  }
}

async function runInTransaction(runSql: RunSql, change: () => Promise<void>): Promise<void> {
  await runSql('begin')
  await change()
  await runSql('commit')
}

/** Yields `rows` inside a transaction; a cursor exists only in one. */
async function* rowsInTransaction<T>(runSql: RunSql, rows: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T> {
  await runSql('begin')
  yield* rows
  await runSql('commit')
}

/** Throws while a service is connected to the database. */
export function refusePostgresInUse(server: PostgresServer): Promise<void> {
  return withConnection(server, (run) => refuseWhileUsed(createSqlRunner(run)))
}

function createSqlRunner(run: StatementRunner): RunSql {
  return (text, ...values) => run({ text, values })
}

async function postgresReader(runSql: RunSql): Promise<TableReader> {
  const columns = await readColumns(runSql, TABLES_AND_VIEWS)
  const rows = columns.has('migration') ? (await runSql('select id from migration order by id collate "C"')).rows : []
  const generation = columns.has('generation')
    ? (await runSql('select value from generation')).rows[0]?.value
    : undefined
  const tables = collectionsAmong(columns)
  return {
    appliedMigrations: rows.map(({ id }) => String(id)).filter((id) => !OWN_MIGRATIONS.includes(id)),
    tables,
    generation: generation === undefined ? undefined : (parseColumn(generation) as DatabaseGeneration),
    count: async ({ name }) => Number((await runSql(`select count(*) as count from ${name}`)).rows[0]?.count),
    newestTime: async ({ name }) => Number((await runSql(`select max(created_at) as at from ${name}`)).rows[0]?.at),
    rows: (table, after) => rowsOf(runSql, table, after),
    size: async () => {
      const sum = tables.map(({ name }) => `pg_total_relation_size('${name}')`).join(' + ')
      return Number((await runSql(`select (${sum === '' ? '0' : sum})::bigint as bytes`)).rows[0]?.bytes)
    },
  }
}

/** Returns the names of the columns by the name of the table, of the tables that a condition selects. */
async function readColumns(runSql: RunSql, condition: string): Promise<ReadonlyMap<string, readonly string[]>> {
  // The views of information_schema leave out the tables that this user may not read.
  const { rows } = await runSql(
    `select c.relname as name, array_agg(a.attname::text) as columns from pg_class c
     join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
     where n.nspname = current_schema() and ${condition} and a.attnum > 0 and not a.attisdropped
     group by c.relname order by c.relname`,
  )
  return new Map(rows.map(({ name, columns }) => [String(name), columns as readonly string[]]))
}

/**
 * Yields the rows whose ids follow `after`, or all rows, in pages. A cursor sorts the table once; a query for each page
 * would sort it for each page.
 */
async function* rowsOf(
  runSql: RunSql,
  { name, hasCreationTime }: Table,
  after: string | undefined,
): AsyncGenerator<readonly TableRow[]> {
  const columns = `id, value, version, due_at, ${hasCreationTime ? 'created_at' : '0'} as created_at`
  const where = after === undefined ? '' : 'where id collate "C" > $1'
  const query = `select ${columns} from ${name} ${where} order by id collate "C"`
  await runSql(`declare every_row cursor for ${query}`, ...(after === undefined ? [] : [after]))
  for (;;) {
    const { rows } = await runSql(`fetch ${ROWS_AT_ONCE} from every_row`)
    if (rows.length > 0) yield rows.map(toTableRow)
    if (rows.length < ROWS_AT_ONCE) break
  }
  await runSql('close every_row')
}

/** Converts a row of the driver, which returns a bigint as a string. */
function toTableRow({
  id,
  value,
  version,
  due_at: dueAt,
  created_at: createdAt,
}: Readonly<Record<string, unknown>>): TableRow {
  return {
    id: String(id),
    value: String(value),
    version: Number(version),
    dueAt: dueAt === null ? null : Number(dueAt),
    createdAt: Number(createdAt),
  }
}

function postgresWriter(run: StatementRunner): TableWriter {
  return {
    insert: async ({ name, hasCreationTime }, rows) => {
      const [column, array] = hasCreationTime ? [', created_at', ', $5::bigint[]'] : ['', '']
      const added = `unnest($1::text[], $2::text[], $3::integer[], $4::bigint[]${array}) as added (id, value, version, due_at${column})`
      await run({
        text: `insert into ${name} (id, value, version, due_at${column}) select id, value, version, due_at${column} from ${added}`,
        values: [
          rows.map(({ id }) => id),
          rows.map(({ value }) => value),
          rows.map(({ version }) => version),
          rows.map(({ dueAt }) => dueAt),
          ...(hasCreationTime ? [rows.map(({ createdAt }) => createdAt)] : []),
        ],
      })
    },
  }
}

/**
 * Throws while another process is connected under a name that a service on this schema has: `vouchsafe` and the schema,
 * or `vouchsafe` alone where the URL names no schema.
 */
async function refuseWhileUsed(runSql: RunSql): Promise<void> {
  const { rows } = await runSql(
    `select count(*) as count from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
     and (application_name in (current_setting('application_name'), left('vouchsafe ' || current_schema(), 63))
          or application_name = 'vouchsafe' and current_schema() = 'public')
     and backend_type = 'client backend'`,
  )
  if (Number(rows[0]?.count) > 0) throw new Error('a service is connected to the database; stop each of its processes')
}

/** Refuses tables and the function of a service that belong to a user whose role this user has not. */
async function refuseUnowned(runSql: RunSql): Promise<void> {
  const tables = tablesToMove(collectionsAmong(await readColumns(runSql, TABLES_AND_VIEWS)))
  const { rows } = await runSql(
    `select kind || ' ' || quote_ident(current_schema()) || '.' || name as name, quote_ident(pg_get_userbyid(owner)) as owner,
     quote_ident(current_user) as "user"
     from (select 'table' as kind, quote_ident(relname) as name, relowner as owner, relnamespace as schema
           from pg_class where relname = any($1)
           union all select 'function', oid::regprocedure::text, proowner, pronamespace
           from pg_proc where oid = to_regprocedure('${FUNCTION}')) moved
     where schema = current_schema()::regnamespace and not pg_has_role(owner, 'usage') order by kind desc, name`,
    tables,
  )
  const unowned = rows as readonly Readonly<Record<'name' | 'owner' | 'user', string>>[]
  const [first] = unowned
  if (first === undefined) return
  const { name, owner, user } = first
  const more = unowned.filter((each) => each.owner === owner).length - 1
  const [what, object, owned] =
    more === 0
      ? [`${name} belongs`, 'it', 'the owner of it']
      : [`${name} and ${more} more belong`, 'them', 'the owner of each']
  throw new Error(
    `the ${what} to ${owner}, and this user, ${user}, may not move ${object}; ` +
      `restore as ${owner}, or make ${user} ${owned} (alter ${name} owner to ${user})`,
  )
}

function tablesToMove(collections: readonly Table[]): readonly string[] {
  return ['migration', 'unfinished_copy', ...collections.map(({ name }) => name)]
}

/**
 * Creates the schema, and moves the tables of this service and the function of the driver into it. Returns its name;
 * undefined when there are no tables. Throws when the tables are not of a service, or the schema cannot be created.
 */
async function moveAside(runSql: RunSql, schema: string): Promise<string | undefined> {
  const { tables, appliedMigrations } = await postgresReader(runSql)
  if (appliedMigrations.length === 0) {
    if (tables.length > 0) throw new Error('the database has tables of something else; name one of its own')
    return undefined
  }
  try {
    await runSql(`create schema ${schema}`)
  } catch (error) {
    throw new Error(
      `the schema ${schema}, in which the previous tables would be kept, cannot be made (${(error as Error).message}); let this user make schemas: grant create on database`,
      { cause: error },
    )
  }
  for (const name of tablesToMove(tables)) await runSql(`alter table if exists ${name} set schema ${schema}`)
  await runSql(`alter function ${FUNCTION} set schema ${schema}`)
  return schema
}
