/**
 * The storage port: collections of JSON values by id, changed in batches that apply whole or not at all, and found
 * again when something is to be done about them. `store.contract.ts` is its definition; `sqlite.ts` and `postgres.ts`
 * implement it. Decision 3 (docs/decisions/0003-storage.md) says why it is so small.
 */
import type { RetryOnConflict } from './retry.ts'

/** A value as it was read. `version` goes up by one with every update. */
export interface Row<T> {
  readonly value: T
  readonly version: number
}

/** A row that `listDue` found. */
export interface DueRow<T> extends Row<T> {
  readonly id: string
}

/** The place of a row in the order of creation. Rows of one time keep an order among themselves. */
export interface RowPosition {
  readonly createdAt: Date
  readonly id: string
}

/** A row that `listNewest` found. */
export interface CreatedRow<T> extends RowPosition {
  readonly value: T
}

/**
 * A conditional statement. An insert holds when the id is free; an update and a delete hold when the version is still
 * the one that was read; a touch, which counts the version up and leaves the value, holds when the row is there.
 * `dueAt` is when something is to be done about the row: `listDue` finds it then, or `purge` deletes it. A row without
 * `dueAt` stays; an update without `dueAt` leaves that of the row, and one with null removes it. `createdAt` is the
 * position of the row for `listNewest`, where its collection has one ({@link addCreationTime}); it never changes.
 * `erases` marks a change that removes personal data or keys, of which the files of the database keep no trace, as far
 * as it can prevent that.
 */
export type Change<C, K extends keyof C & string = keyof C & string> = {
  [Name in K]:
    | {
        readonly insert: Name
        readonly id: string
        readonly value: C[Name]
        readonly dueAt?: Date
        readonly createdAt?: Date
      }
    | {
        readonly update: Name
        readonly id: string
        readonly version: number
        readonly value: C[Name]
        readonly dueAt?: Date | null
        readonly erases?: true
      }
    | { readonly delete: Name; readonly id: string; readonly version: number; readonly erases?: true }
    | { readonly touch: Name; readonly id: string }
}[K]

/** The numbers of connections that run a statement, of idle connections, and of statements that wait for one. */
export interface ConnectionCounts {
  readonly busy: number
  readonly idle: number
  readonly waiting: number
}

/** A store. `C` maps the name of each collection to the type of its values. */
export interface Store<C> {
  get<K extends keyof C & string>(collection: K, id: string): Promise<Row<C[K]> | undefined>
  /** Returns every value of a collection with its id, ordered by id. For collections that are small by nature. */
  list<K extends keyof C & string>(collection: K): Promise<readonly { readonly id: string; readonly value: C[K] }[]>
  /**
   * Applies all changes durably, or none. Returns the change that conflicted, the very object of `changes` whose
   * condition did not hold, or undefined when all are on disk. Rejects when the database cannot confirm that they are.
   */
  commit(changes: readonly Change<C>[]): Promise<Change<C> | undefined>
  /** Returns the rows of a collection that are due, longest first, and no more than `limit`. */
  listDue<K extends keyof C & string>(collection: K, now: Date, limit: number): Promise<readonly DueRow<C[K]>[]>
  /**
   * Returns the rows of a collection in the order of creation, newest first and no more than `limit`: those after
   * `after`, or the first. No other row is read. For collections with {@link addCreationTime}.
   */
  listNewest<K extends keyof C & string>(
    collection: K,
    limit: number,
    after?: RowPosition,
  ): Promise<readonly CreatedRow<C[K]>[]>
  /** Deletes the rows of a collection that are due, and says how many. */
  purge(collection: keyof C & string, now: Date): Promise<number>
  /** Removes old copies of replaced and deleted rows, where the database keeps any for a while. */
  tidy?(): Promise<void>
  /**
   * Returns a text that differs for a copy of the database that was put in its place, as far as the database can tell;
   * the same for all who have it open. Bytes that were copied while nobody had it open are the same database to it.
   */
  readOrigin(): Promise<string>
  /**
   * Tests whether an origin is the earlier one on a later timeline, as after a standby of the server took over or a
   * point in time was recovered; absent where there are no timelines.
   */
  isLaterTimeline?(earlier: string, origin: string): boolean
  /** Counts the connections of this process to a server; without one there are none to count. */
  countConnections?(): ConnectionCounts
  /** Counts the batches of this process that wait for its writer; absent where there is no one writer. */
  countWaitingBatches?(): number
  /** Rejects when it is known without a write that the medium of the database takes no writes. */
  checkMedium?(): Promise<void>
  close(): Promise<void>
}

/** The latest time that a Date can have, with which `listDue` and `purge` take every row that has a `dueAt`. */
export const END_OF_TIME = new Date(8.64e15)

/** Returns the store as one that has some of its collections only. */
export function partOf<C extends Part, Part>(store: Store<C>): Store<Part> {
  return store as unknown as Store<Part>
}

/** Steps of a schema, applied once each and in order, under a lock. Never edited after a release, only added to. */
export interface Migration {
  readonly id: string
  readonly statements: readonly string[]
}

/** Makes the statements that make a collection. The same text serves SQLite and PostgreSQL. */
export function createCollection(name: string): readonly string[] {
  return [
    `create table ${name} (id text primary key, value text not null, version integer not null, due_at bigint)`,
    `create index ${name}_due_at on ${name} (due_at) where due_at is not null`,
  ]
}

/**
 * Returns the statements that give a collection its order of creation. Rows that are there already have no known time,
 * and come last.
 */
export function addCreationTime(name: string): readonly string[] {
  return [
    `alter table ${name} add column created_at bigint not null default 0`,
    `create index ${name}_created_at on ${name} (created_at, id)`,
  ]
}

/** Makes the statements that made a collection when rows could only be purged; {@link renameExpiry} follows them. */
export function createExpiringCollection(name: string): readonly string[] {
  return createCollection(name).map((statement) => statement.replaceAll('due_at', 'expires_at'))
}

/** Makes the statements that rename the column of {@link createExpiringCollection}. */
export function renameExpiry(name: string): readonly string[] {
  return [`alter table ${name} rename column expires_at to due_at`]
}

/** A store, and the way to repeat work on it after a conflict. */
export interface UpdateEffects<C> {
  readonly store: Store<C>
  readonly retryOnConflict: RetryOnConflict
}

/**
 * Reads a value, changes it and writes it back, again when another was first; `otherChanges` are in the same batch, and
 * their conditions always hold. `change` is pure and may refuse by throwing. Returns the value as it now stands, or
 * undefined when the id is unknown. Throws a ConflictError as `retryOnConflict` does.
 */
export function updateWith<C, K extends keyof C & string>(
  { store, retryOnConflict }: UpdateEffects<C>,
  collection: K,
  id: string,
  change: (value: C[K]) => { readonly value: C[K]; readonly otherChanges?: readonly Change<C>[] },
): Promise<C[K] | undefined> {
  return retryOnConflict<C[K] | undefined>(async () => {
    const row = await store.get(collection, id)
    if (row === undefined) return { committed: undefined }
    const { value, otherChanges = [] } = change(row.value)
    const updateChange = { update: collection, id, version: row.version, value } as unknown as Change<C>
    const conflict = await store.commit([updateChange, ...otherChanges])
    return conflict === undefined ? { committed: value } : { conflict }
  })
}
