/**
 * The storage port on PostgreSQL. A batch is one statement, and so one round trip. A change that applies to no row
 * raises an error, and the server rolls the batch back. Durable: the server answers a commit after the fsync, which it
 * shares between connections by itself.
 */
import {
  type Connections,
  NOT_APPLIED,
  openConnections,
  type PostgresOptions,
  type QueryResult,
  type Statement,
  type StatementRunner,
} from './postgres-connections.ts'
import { compareOrigins, createOriginCheck, type OriginWatch, readOrigin } from './postgres-origin.ts'
import { preparePostgres } from './postgres-schema.ts'
import { applyInSteps, numberParameters } from './postgres-steps.ts'
import { createdRow, dueRow, dueStatement, newestStatement, parseColumn, rowOf, statementOf } from './statements.ts'
import type { Change, Migration, Row, Store } from './store.ts'

/** The error codes of a deadlock and of a serialization failure, after which a transaction is tried again. */
const RETRYABLE_CODES: readonly unknown[] = ['40P01', '40001']
const ATTEMPTS = 10
/**
 * The most statements that get a name, which each connection plans once; the batches of a service have some dozens of
 * forms.
 */
const MAX_NAMES = 200
/** The most changes of a batch whose statement gets a name. */
const MAX_NAMED_BATCH = 8
/**
 * The most changes in one statement; the server takes long to plan a longer one. Longer batches are applied in steps.
 */
const MAX_STATEMENT = 50
/** The number of rows that are read at once. */
const READ_AT_ONCE = 100
/** The number of rows that one statement purges: statements stay short, and processes share the work. */
const PURGED_AT_ONCE = 1000

/**
 * Connects, and applies the missing migrations. Rejects with a sentence for the operator when the server cannot be
 * reached, refuses the user, has settings that could lose answered commits, or has the schema of a newer release or of
 * another service. Calls `onWait` once when another process keeps it waiting. With `originWatch`, every new connection
 * is checked, which may lead to a copy of the database.
 */
export async function openPostgres<C>(
  options: PostgresOptions,
  migrations: readonly Migration[],
  onWait: () => void = () => undefined,
  originWatch?: OriginWatch,
): Promise<Store<C>> {
  await preparePostgres(options, migrations, onWait)
  return createStore<C>(await openConnections(options, originWatch && createOriginCheck(originWatch)))
}

function createStore<C>(connections: Connections): Store<C> {
  const nameOf = createStatementNames()
  const run: StatementRunner = (statement) => connections.run({ ...nameOf(statement.text), ...statement })
  const readers = new Map<string, Reader>()
  const readerOf = (collection: string): Reader => {
    const reader = readers.get(collection) ?? groupRead((ids) => readRows(run, collection, ids), READ_AT_ONCE)
    readers.set(collection, reader)
    return reader
  }
  return {
    get: async (collection, id) => {
      // PostgreSQL refuses a text that contains NUL, so no row has such an id.
      if (id.includes('\0')) return undefined
      const row = await readerOf(collection)(id)
      return row && ({ value: parseColumn(row.value), version: row.version } as Row<never>)
    },
    ...createListReaders<C>(run),
    commit: (changes) => commitBatch(connections, nameOf, changes),
    readOrigin: () => readOrigin(connections.run),
    compareOrigins,
    purge: async (collection, now) => {
      const dueRows = `select id from ${collection} where due_at <= $1 order by due_at limit $2 for update skip locked`
      const text = `delete from ${collection} where id in (${dueRows})`
      const values = [now.getTime(), PURGED_AT_ONCE]
      for (let purgedRows = 0; ; ) {
        const { rowCount } = await run({ text, values })
        purgedRows += rowCount ?? 0
        if (rowCount !== PURGED_AT_ONCE) return purgedRows
      }
    },
    countConnections: () => connections.count(),
    close: () => connections.close(),
  }
}

function createListReaders<C>(run: StatementRunner): Pick<Store<C>, 'list' | 'listDue' | 'listNewest'> {
  return {
    list: async (collection) => {
      const { rows } = await run({ text: `select id, value from ${collection} order by id collate "C"`, values: [] })
      return rows.map(({ id, value }) => ({ id: id as string, value: parseColumn(value) as never }))
    },
    listDue: async (collection, now, limit, after) => {
      const range = { now, limit, after, idColumn: 'id collate "C"' }
      const { rows } = await run(numberParameters(dueStatement(collection, range)))
      return rows.map(dueRow<never>)
    },
    listNewest: async (collection, limit, after) => {
      const { rows } = await run(numberParameters(newestStatement(collection, limit, after)))
      return rows.map(createdRow<never>)
    },
  }
}

/** Reads the row of an id in one collection. */
type Reader = (id: string) => Promise<QueryResult['rows'][number] | undefined>

async function readRows(run: StatementRunner, collection: string, ids: readonly string[]) {
  const condition = ids.length === 1 ? 'id = $1' : 'id = any($1::text[])'
  const text = `select id, value, version from ${collection} where ${condition}`
  const { rows } = await run({ text, values: ids.length === 1 ? ids : [ids] })
  return new Map(rows.map((row) => [row.id as string, row]))
}

/** Rows that are read together. */
interface Group<Row> {
  readonly ids: Set<string>
  readonly rows: Promise<ReadonlyMap<string, Row>>
}

/**
 * Makes a function that reads a row by its id. Groups at most `maxRows` reads of one turn of the event loop, so that
 * many requests share one round trip. A row is read after it was requested, so it includes all earlier commits.
 * `readAll` returns the rows that exist, by id. When it rejects, every read of the group rejects.
 */
function groupRead<Row>(
  readAll: (ids: readonly string[]) => Promise<ReadonlyMap<string, Row>>,
  maxRows: number,
): (id: string) => Promise<Row | undefined> {
  let openGroup: Group<Row> | undefined

  const beginGroup = (): Group<Row> => {
    const ids = new Set<string>()
    const rows = new Promise<ReadonlyMap<string, Row>>((resolve, reject) => {
      setImmediate(() => {
        // A later request begins another group, so that it reads later commits.
        if (openGroup?.ids === ids) openGroup = undefined
        readAll([...ids]).then(resolve, reject)
      })
    })
    return { ids, rows }
  }

  return async (id) => {
    if (openGroup === undefined || openGroup.ids.size >= maxRows) openGroup = beginGroup()
    const { ids, rows } = openGroup
    ids.add(id)
    return (await rows).get(id)
  }
}

/** Returns the name of the prepared statement for a text, or nothing for a text without a name. */
type StatementNames = (text: string) => { readonly name?: string }

/** Makes the function that gives a name to each of the first {@link MAX_NAMES} texts. */
function createStatementNames(): StatementNames {
  const names = new Map<string, string>()
  return (text) => {
    const existing = names.get(text)
    if (existing !== undefined) return { name: existing }
    if (names.size >= MAX_NAMES) return {}
    const name = `vouchsafe_${names.size}`
    names.set(text, name)
    return { name }
  }
}

async function commitBatch<C>(
  connections: Connections,
  nameOf: StatementNames,
  changes: readonly Change<C>[],
): Promise<Change<C> | undefined> {
  const [first] = changes
  if (first === undefined) return undefined
  if (changes.length === 1) {
    const statement = numberParameters(statementOf(first))
    return retryTransaction(async () =>
      (await connections.run({ ...statement, ...nameOf(statement.text) })).rowCount === 1 ? undefined : first,
    )
  }
  const orderedChanges = changes.length > MAX_STATEMENT ? undefined : sortByRow(changes)
  if (orderedChanges === undefined) {
    return retryTransaction(() =>
      connections.runOnOneConnection((run) => applyInSteps((each) => run({ ...each, ...nameOf(each.text) }), changes)),
    )
  }
  const batch = batchStatement(orderedChanges)
  const statementName = changes.length <= MAX_NAMED_BATCH ? nameOf(batch.text) : {}
  return retryTransaction(async () => {
    try {
      await connections.run({ ...batch, ...statementName })
      return undefined
    } catch (error) {
      const unappliedChanges = findUnapplied(error, orderedChanges)
      return changes.find((change) => unappliedChanges.has(change))
    }
  })
}

/**
 * Returns the changes sorted by collection and id: batches that lock rows in the same order cannot deadlock. Returns
 * undefined when two changes affect one row, which a single statement cannot do.
 */
function sortByRow<C>(changes: readonly Change<C>[]): readonly Change<C>[] | undefined {
  const rows = changes.map((change) => ({ ...rowOf(change), change }))
  rows.sort((a, b) => compareText(a.collection, b.collection) || compareText(a.id, b.id))
  const hasRowTwice = rows.some(({ collection, id }, index) => {
    const next = rows[index + 1]
    return next?.id === id && next.collection === collection
  })
  return hasRowTwice ? undefined : rows.map(({ change }) => change)
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b)
}

/** Returns one statement that makes every change, and raises {@link NOT_APPLIED} when a change applied to no row. */
function batchStatement<C>(changes: readonly Change<C>[]): Statement {
  const statements = changes.map(statementOf)
  const parts = statements.map(([sql], index) => `change_${index} as (${sql} returning 1)`)
  // PostgreSQL runs the changes in the order of these counts.
  const counts = statements.map((_, index) => `(select count(*)::integer from change_${index})`)
  return numberParameters([
    `with ${parts.join(', ')} select every_change_applied(array[${counts.join(', ')}])`,
    ...statements.flatMap(([, ...values]) => values),
  ])
}

/** Reads from a {@link NOT_APPLIED} error which changes of the batch did not apply. Rethrows any other error. */
function findUnapplied<C>(error: unknown, orderedChanges: readonly Change<C>[]): ReadonlySet<Change<C>> {
  const { code, detail } = error as { readonly code?: string; readonly detail?: string }
  if (code !== NOT_APPLIED || detail === undefined) throw error
  return new Set(orderedChanges.filter((_, index) => detail[index] === '0'))
}

async function retryTransaction<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work()
    } catch (error) {
      if (attempt === ATTEMPTS || !RETRYABLE_CODES.includes((error as { readonly code?: unknown }).code)) throw error
    }
  }
}
