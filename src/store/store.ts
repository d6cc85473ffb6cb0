/**
 * The storage port: collections of JSON values by id, which change in batches that apply completely or not at all. A
 * row can have a time at which it is due, to be processed or deleted. `store.contract.ts` defines the behaviour;
 * `sqlite.ts` and `postgres.ts` implement it. docs/decisions/0003-storage.md says why the port is so small.
 */
import type { RetryOnConflict } from './retry.ts'

/** A stored value. `version` is 0 in a new row, and increases by one with every update. */
export interface Row<T> {
  readonly value: T
  readonly version: number
}

/** The version that stands for that of a row which does not exist: one less than the version of a new row. */
export const NO_ROW_VERSION = -1

/** A row that `listDue` found. */
export interface DueRow<T> extends Row<T> {
  readonly id: string
}

/** The position of a row in the order of creation. Rows with the same time are ordered by id. */
export interface RowPosition {
  readonly createdAt: Date
  readonly id: string
}

/** The position of a row among the due rows. Rows with the same time are ordered by id. */
export interface DuePosition {
  readonly dueAt: Date
  readonly id: string
}

/** A row that `listNewest` found. */
export interface CreatedRow<T> extends RowPosition {
  readonly value: T
}

/**
 * A conditional change of one row. An insert applies when the id is free. An update and a delete apply when the stored
 * version is still `version`. A touch applies when the row exists; it increments the version and keeps the value.
 * `dueAt` is the time at which `listDue` returns the row, or `purge` deletes it; a row without it stays. An update
 * without `dueAt` keeps that of the row, and an update with null removes it. `createdAt` is the position of the row for
 * `listNewest`, in collections that have {@link addCreationTime}; it never changes. `erases` marks a change that
 * removes personal data or keys: the database overwrites them in its files, as far as it can.
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

/**
 * Whether two origins are of the same database, only differ by a later timeline of its server, as after a standby took
 * over or a point in time was recovered, or the later one is of a copy.
 */
export type OriginComparison = 'same' | 'later timeline' | 'copy'

/** A store. `C` maps the name of each collection to the type of its values. */
export interface Store<C> {
  get<K extends keyof C & string>(collection: K, id: string): Promise<Row<C[K]> | undefined>
  /** Returns every value of a collection with its id, ordered by id. Only for small collections. */
  list<K extends keyof C & string>(collection: K): Promise<readonly { readonly id: string; readonly value: C[K] }[]>
  /**
   * Applies all changes durably, or none. Returns undefined when all are on disk, else the change whose condition did
   * not hold (the same object as in `changes`). Rejects when the database cannot confirm the commit.
   */
  commit(changes: readonly Change<C>[]): Promise<Change<C> | undefined>
  /**
   * Returns at most `limit` rows of a collection that are due, the longest overdue first: those after the position
   * `after`, or the first ones.
   */
  listDue<K extends keyof C & string>(
    collection: K,
    now: Date,
    limit: number,
    after?: DuePosition,
  ): Promise<readonly DueRow<C[K]>[]>
  /**
   * Returns at most `limit` rows of a collection, newest first: those after the position `after`, or the first ones.
   * Reads no other rows. Only for collections with {@link addCreationTime}.
   */
  listNewest<K extends keyof C & string>(
    collection: K,
    limit: number,
    after?: RowPosition,
  ): Promise<readonly CreatedRow<C[K]>[]>
  /** Deletes the rows of a collection that are due, and returns their number. */
  purge(collection: keyof C & string, now: Date): Promise<number>
  /** Removes old copies of replaced and deleted rows from the files, where the database keeps them for a while. */
  tidy?(): Promise<void>
  /**
   * Returns a text that is the same for every process that uses the database, and differs for a copy that was put in
   * its place, as far as the database can tell. A file that was copied while no process had it open has the same text.
   */
  readOrigin(): Promise<string>
  /** Compares two origins. Absent where only equal texts are of the same database. */
  compareOrigins?(earlier: string, origin: string): OriginComparison
  /** Counts the connections of this process to a database server. Absent where there is no server. */
  countConnections?(): ConnectionCounts
  /** Counts the batches of this process that wait for its writer. Absent where there is no single writer. */
  countWaitingBatches?(): number
  /** Rejects when the disk is known to accept no writes. Tries no write itself. */
  checkDisk?(): Promise<void>
  close(): Promise<void>
}

/** The latest time of a Date. With it, `listDue` and `purge` take every row that has a `dueAt`. */
export const END_OF_TIME = new Date(8.64e15)

/** Narrows the type of a store to some of its collections. */
export function partOf<C extends Part, Part>(store: Store<C>): Store<Part> {
  return store as unknown as Store<Part>
}

/**
 * A step of a schema. Migrations are applied once each, in order, under a lock. A released migration is never edited.
 */
export interface Migration {
  readonly id: string
  readonly statements: readonly string[]
}

/** Returns the statements that create a collection. The same text serves SQLite and PostgreSQL. */
export function createCollection(name: string): readonly string[] {
  return [
    `create table ${name} (id text primary key, value text not null, version integer not null, due_at bigint)`,
    `create index ${name}_due_at on ${name} (due_at) where due_at is not null`,
  ]
}

/**
 * Returns the statements that add an order of creation to a collection. Rows that exist already have no known time, and
 * come last.
 */
export function addCreationTime(name: string): readonly string[] {
  return [
    `alter table ${name} add column created_at bigint not null default 0`,
    `create index ${name}_created_at on ${name} (created_at, id)`,
  ]
}

/**
 * Returns the statements that created a collection in early releases, with a column `expires_at`. {@link renameExpiry}
 * must follow.
 */
export function createExpiringCollection(name: string): readonly string[] {
  return createCollection(name).map((statement) => statement.replaceAll('due_at', 'expires_at'))
}

/** Returns the statements that rename the column of {@link createExpiringCollection}. */
export function renameExpiry(name: string): readonly string[] {
  return [`alter table ${name} rename column expires_at to due_at`]
}

/** A store, and the function that repeats an attempt after a conflict. */
export interface UpdateEffects<C> {
  readonly store: Store<C>
  readonly retryOnConflict: RetryOnConflict
}

/**
 * Reads a value, changes it and writes it back; repeats this after a conflict. `change` must be pure, and may refuse by
 * throwing. `otherChanges` are committed in the same batch; their conditions must always hold. Returns the new value,
 * or undefined when the id is unknown. Throws a ConflictError as `retryOnConflict` does.
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

/** Makes the change that stores a row: an insert where there is none before, and an update of the one before. */
export function insertOrUpdate<const K extends string, Content extends object>(
  collection: K,
  before: { readonly version: number } | undefined,
  content: Content,
): ({ readonly insert: K } & Content) | ({ readonly update: K; readonly version: number } & Content) {
  return before === undefined
    ? { insert: collection, ...content }
    : { update: collection, version: before.version, ...content }
}

/**
 * Commits a copy of each change, for a store that wraps another. Returns the change of the caller when its copy
 * conflicts: a store returns the object that conflicted, and callers compare it with theirs.
 */
export async function commitCopies<C>(
  store: Store<C>,
  changes: readonly Change<C>[],
  copyOf: (change: Change<C>) => Change<C>,
): Promise<Change<C> | undefined> {
  const copies = changes.map(copyOf)
  const conflict = await store.commit(copies)
  return conflict && changes[copies.indexOf(conflict)]
}

/** An exclusive lock of one process on a database. The lock ends with the process, also when the process is killed. */
export interface ProcessLock {
  /**
   * Checks the lock, and takes it again when it was lost with its connection. Returns false when another process has
   * it.
   */
  readonly keep: () => Promise<boolean>
  readonly release: () => Promise<void>
}
