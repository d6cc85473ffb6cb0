/**
 * The storage port: collections of JSON values by id, changed in batches that apply whole or not at all.
 * `store.contract.ts` is its definition; `sqlite.ts` implements it. Why so little: docs/decisions/0003-storage.md.
 */

/** A value as it was read. `version` goes up by one with every update. */
export interface Row<T> {
  readonly value: T
  readonly version: number
}

/**
 * One conditional statement. An insert holds when the id is free; an update holds when the version is still the one
 * that was read. `expiresAt` is when `purge` may delete the row; without it the row stays.
 */
export type Change<C, K extends keyof C & string = keyof C & string> = {
  [Name in K]:
    | { readonly insert: Name; readonly id: string; readonly value: C[Name]; readonly expiresAt?: Date }
    | { readonly update: Name; readonly id: string; readonly version: number; readonly value: C[Name] }
}[K]

/** `C` maps the name of each collection to the type of its values. */
export interface Store<C> {
  get<K extends keyof C & string>(collection: K, id: string): Promise<Row<C[K]> | undefined>
  /** Every value of a collection with its id, ordered by id. For collections that are small by nature. */
  list<K extends keyof C & string>(collection: K): Promise<readonly { readonly id: string; readonly value: C[K] }[]>
  /**
   * Applies all changes durably, or none: the index of the change whose condition did not hold, or undefined when all
   * are on disk. Rejects when the database cannot say that they are.
   */
  commit(changes: readonly Change<C>[]): Promise<number | undefined>
  /** Deletes the rows of a collection that expired before `now`, and says how many. */
  purge(collection: keyof C & string, now: Date): Promise<number>
  close(): Promise<void>
}

/** Steps of a schema, applied once each and in order, under a lock. Never edited after a release, only added to. */
export interface Migration {
  readonly id: string
  readonly statements: readonly string[]
}

/** The statements that make a collection. The same text serves SQLite and PostgreSQL. */
export function createCollection(name: string): readonly string[] {
  return [
    `create table ${name} (id text primary key, value text not null, version integer not null, expires_at bigint)`,
    `create index ${name}_expires_at on ${name} (expires_at) where expires_at is not null`,
  ]
}

/**
 * Reads a value, changes it and writes it back, again if somebody else was first. `change` is pure and may refuse by
 * throwing. Gives the value as it now stands, or undefined when the id is unknown.
 */
export async function update<C, K extends keyof C & string>(
  store: Store<C>,
  collection: K,
  id: string,
  change: (value: C[K]) => C[K],
): Promise<C[K] | undefined> {
  for (;;) {
    const row = await store.get(collection, id)
    if (row === undefined) return undefined
    const value = change(row.value)
    const next = { update: collection, id, version: row.version, value } as unknown as Change<C>
    if ((await store.commit([next])) === undefined) return value
  }
}
