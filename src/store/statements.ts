/** Code that both databases share: the SQL text of each change, and the choice of the migrations that are missing. */
import { memoize } from '../async/cache.ts'
import type { Change, CreatedRow, DuePosition, DueRow, Migration, RowPosition } from './store.ts'

type Parameter = string | number | null

/** The text of a statement, and the values for its parameters. */
export type BoundStatement = readonly [sql: string, ...values: readonly Parameter[]]

/** The texts of statements, by collection: the cache of prepared statements has to hash a text that is made anew. */
const textsByCollection = new Map<string, ReturnType<typeof makeTexts>>()

/** Returns the texts of the statements for the rows of a collection, which are made once. */
export function statementTexts(collection: string): ReturnType<typeof makeTexts> {
  const texts = textsByCollection.get(collection) ?? makeTexts(collection)
  textsByCollection.set(collection, texts)
  return texts
}

function makeTexts(collection: string) {
  const insert = (column: string, placeholder: string): string =>
    `insert into ${collection} (id, value, version, due_at${column}) values (?, ?, 0, ?${placeholder}) on conflict (id) do nothing`
  const update = `update ${collection} set value = ?, version = version + 1`
  return {
    select: `select value, version from ${collection} where id = ?`,
    insert: insert('', ''),
    insertCreated: insert(', created_at', ', ?'),
    update: `${update} where id = ? and version = ?`,
    updateDue: `${update}, due_at = ? where id = ? and version = ?`,
    touch: `update ${collection} set version = version + 1 where id = ?`,
    delete: `delete from ${collection} where id = ? and version = ?`,
  }
}

/**
 * Returns the SQL text of a change, with a `?` for each value, and the values. The statement applies to one row or to
 * none.
 */
export function statementOf<C>(change: Change<C>): BoundStatement {
  const { id } = change
  if ('touch' in change) return [statementTexts(change.touch).touch, id]
  if ('delete' in change) return [statementTexts(change.delete).delete, id, change.version]
  const value = JSON.stringify(change.value)
  const dueAt = change.dueAt?.getTime() ?? null
  if ('insert' in change) {
    const { insert, insertCreated } = statementTexts(change.insert)
    const { createdAt } = change
    return createdAt === undefined ? [insert, id, value, dueAt] : [insertCreated, id, value, dueAt, createdAt.getTime()]
  }
  const { update, updateDue } = statementTexts(change.update)
  return change.dueAt === undefined
    ? [update, value, id, change.version]
    : [updateDue, value, dueAt, id, change.version]
}

export interface DueRange {
  readonly now: Date
  readonly limit: number
  readonly after: DuePosition | undefined
  /** The column `id` as the database orders it by its bytes. */
  readonly idColumn: string
}

/** Returns the statement of `listDue`. */
export function dueStatement(collection: string, { now, limit, after, idColumn }: DueRange): BoundStatement {
  const end = `order by due_at, ${idColumn} limit ?`
  const sql = `select id, value, version from ${collection} where due_at <= ?`
  if (after === undefined) return [`${sql} ${end}`, now.getTime(), limit]
  const dueAt = after.dueAt.getTime()
  const rest = `and due_at >= ? and (due_at > ? or ${idColumn} > ?)`
  return [`${sql} ${rest} ${end}`, now.getTime(), dueAt, dueAt, after.id, limit]
}

/** Returns the statement of `listNewest`, whose order is that of the index of addCreationTime. */
export function newestStatement(collection: string, limit: number, after: RowPosition | undefined): BoundStatement {
  const order = 'order by created_at desc, id desc limit ?'
  const sql = `select id, value, created_at from ${collection} where (created_at, id) < (?, ?) ${order}`
  return [sql, after?.createdAt.getTime() ?? Number.MAX_SAFE_INTEGER, after?.id ?? '', limit]
}

/** Converts a row that {@link newestStatement} found. The driver of PostgreSQL returns a bigint as a string. */
export function createdRow<T>({ id, value, created_at: at }: Readonly<Record<string, unknown>>): CreatedRow<T> {
  return withLazyValue({ id: id as string, createdAt: new Date(Number(at)) }, () => parseColumn(value) as T)
}

/** Converts a row that {@link dueStatement} found. */
export function dueRow<T>({ id, version, value }: Readonly<Record<string, unknown>>): DueRow<T> {
  return withLazyValue({ id: id as string, version: version as number }, () => parseColumn(value) as T)
}

/**
 * Returns the row of a list with its value, which `read` makes when the value is first accessed: a value that cannot be
 * read throws then, and does not fail the whole list.
 */
export function withLazyValue<R extends object, T>(row: R, read: () => T): R & { readonly value: T } {
  return Object.defineProperty(row, 'value', { enumerable: true, get: memoize(read) }) as R & { readonly value: T }
}

/** The error for a stored value that is not JSON. The message does not quote the value, which may be personal data. */
export class DamagedValueError extends Error {}

/** Parses a column of JSON. Throws a DamagedValueError when it is not JSON. */
export function parseColumn(value: unknown): unknown {
  try {
    return JSON.parse(value as string)
  } catch {
    throw new DamagedValueError('a value in the database is damaged: it is not JSON; look for a backup')
  }
}

/** Returns the collection and the id of the row that a change affects. */
export function rowOf<C>(change: Change<C>): { readonly collection: string; readonly id: string } {
  const { id } = change
  if ('insert' in change) return { collection: change.insert, id }
  if ('touch' in change) return { collection: change.touch, id }
  if ('delete' in change) return { collection: change.delete, id }
  return { collection: change.update, id }
}

/** The id in the table of migrations that marks a database into which a copy has not been completed. */
export const UNFINISHED_COPY = 'unfinished-copy'

/** The problem of a database that has {@link UNFINISHED_COPY}, and what to do about it. */
export const UNFINISHED_COPY_PROBLEM =
  'a copy into the database has not ended; run the same vouchsafe db copy again, or empty the database and copy anew'

/** Returns the applied migrations that are not in `migrations`. */
export function findUnknownMigrations(
  appliedMigrations: readonly string[],
  migrations: readonly Migration[],
): readonly string[] {
  return appliedMigrations.filter((id) => !migrations.some((migration) => migration.id === id))
}

/** Returns why a database with these unknown migrations cannot be used, and what to do; undefined if there are none. */
export function unknownMigrationsProblem(unknown: readonly string[]): string | undefined {
  if (unknown.length === 0) return undefined
  if (unknown.includes(UNFINISHED_COPY)) return UNFINISHED_COPY_PROBLEM
  const problem = `the database is of a newer release or of another service (it has ${unknown[0]})`
  return `${problem}; use the release that made it, and give each service one of its own`
}

/** Returns the migrations that a database lacks. Throws when it has applied a migration that is not in `migrations`. */
export function selectMissingMigrations(
  appliedMigrations: readonly string[],
  migrations: readonly Migration[],
): readonly Migration[] {
  const problem = unknownMigrationsProblem(findUnknownMigrations(appliedMigrations, migrations))
  if (problem !== undefined) throw new Error(problem)
  return migrations.filter(({ id }) => !appliedMigrations.includes(id))
}
