/**
 * Transactions and prepared statements of a connection to SQLite, and the turns of the connections that write to one
 * file. SQLite has no queue for its lock: a connection that finds the lock taken tries again after pauses that grow to
 * 100 ms, and one that writes without pause takes it before.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** The time for which the lock of another connection is waited for. */
export const BUSY_TIMEOUT_MS = 5000
/** The pause between two attempts to take the lock. */
const RETRY_PAUSE_MS = 0.5
/** The pause of a connection that had to wait between its transactions, in which others take the lock. */
const YIELD_MS = 1.5
/** The time for which a connection that had to wait assumes that others still write. */
const REMEMBERED_MS = 1000
/** The result code of SQLite for a lock that is taken; extended codes have it in their lowest byte. */
const BUSY = 5

/** Prepares a text once. */
export type Prepare = (sql: string) => StatementSync

/** Runs `work` in a transaction, which `begin` begins, and which is undone when `work` throws. */
export function inTransaction<T>(database: DatabaseSync, begin: () => void, work: () => T): T {
  begin()
  try {
    const result = work()
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
export function cacheStatements(database: DatabaseSync): Prepare {
  const statements = new Map<string, StatementSync>()
  return (sql) => {
    const cachedStatement = statements.get(sql)
    if (cachedStatement) return cachedStatement
    const statement = database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
}

/** Creates the function that begins the transactions of a connection. */
export function createTransactionStart(database: DatabaseSync): () => void {
  let lastWaitAt = -Infinity
  let lastStartAt = -Infinity
  return () => {
    const startsAt = performance.now()
    if (startsAt - lastWaitAt < REMEMBERED_MS && startsAt - lastStartAt < REMEMBERED_MS) pause(YIELD_MS)
    if (beginTransaction(database, 'immediate')) lastWaitAt = performance.now()
    lastStartAt = performance.now()
  }
}

/** Begins a transaction as soon as no other connection has the lock; returns whether this had to wait. */
export function beginTransaction(database: DatabaseSync, kind: 'immediate' | 'exclusive'): boolean {
  const until = performance.now() + BUSY_TIMEOUT_MS
  database.exec('pragma busy_timeout = 0')
  try {
    for (let retries = 0; ; retries++) {
      if (tryBegin(database, kind, performance.now() >= until)) return retries > 0
      pause(RETRY_PAUSE_MS)
    }
  } finally {
    database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

/** Begins a transaction; returns false when the lock is taken, or throws then when the attempt `isLast`. */
function tryBegin(database: DatabaseSync, kind: 'immediate' | 'exclusive', isLast: boolean): boolean {
  try {
    database.exec(`begin ${kind}`)
    return true
  } catch (error) {
    if (isLast || !isBusy(error)) throw error
    return false
  }
}

/** Tests whether an error says that another connection has the lock. */
export function isBusy(error: unknown): boolean {
  return ((error as { readonly errcode?: number }).errcode ?? 0) % 256 === BUSY
}

const sleepCell = new Int32Array(new SharedArrayBuffer(4))

function pause(milliseconds: number): void {
  Atomics.wait(sleepCell, 0, 0, milliseconds)
}
