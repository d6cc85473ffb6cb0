/**
 * Transactions and prepared statements of an SQLite connection, and fair turns of the connections that write to one
 * file. SQLite has no queue for its lock: by default a waiting connection retries after pauses that grow to 100 ms, and
 * a connection that writes without pause takes the lock before it.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { hasResultCode } from './sqlite-error.ts'

/** The time to wait for a lock that another connection holds. */
export const BUSY_TIMEOUT_MS = 5000
/** The pause between two attempts to take the lock. */
const RETRY_PAUSE_MS = 0.5
/** The pause before a transaction of a connection that had to wait recently; other connections take the lock in it. */
const YIELD_MS = 1.5
/** The time after a wait in which a connection assumes that others still write. */
const REMEMBERED_MS = 1000

/** Returns the prepared statement of a text, which is prepared once. */
export type Prepare = (sql: string) => StatementSync

/** Runs `work` in a transaction that `begin` begins. Commits when `work` returns, and rolls back when it throws. */
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

/** Rolls the transaction back, if there still is one. */
export function rollBack(database: DatabaseSync): void {
  try {
    database.exec('rollback')
  } catch {
    // SQLite ends the transaction by itself after some errors (a full disk), and then there is nothing to roll back.
  }
}

/**
 * Makes a function that prepares each text once. The function references the database, which must not be
 * garbage-collected before its statements.
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

/**
 * Creates the function that begins the write transactions of a connection. It first pauses when the connection had to
 * wait recently.
 */
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

/**
 * Begins a transaction as soon as the lock is free, and blocks the thread until then. Returns whether it had to wait.
 * Throws the error of SQLite after `patienceMs`.
 */
export function beginTransaction(
  database: DatabaseSync,
  kind: 'immediate' | 'exclusive',
  patienceMs = BUSY_TIMEOUT_MS,
): boolean {
  return executeWhenFree(database, `begin ${kind}`, patienceMs)
}

/**
 * Executes a statement as soon as the lock that it needs is free, and blocks the thread until then. Returns whether it
 * had to wait. Throws the error of SQLite after `patienceMs`.
 */
export function executeWhenFree(database: DatabaseSync, sql: string, patienceMs = BUSY_TIMEOUT_MS): boolean {
  const until = performance.now() + patienceMs
  database.exec('pragma busy_timeout = 0')
  try {
    for (let retries = 0; ; retries++) {
      if (tryExecute(database, sql, performance.now() >= until)) return retries > 0
      pause(RETRY_PAUSE_MS)
    }
  } finally {
    database.exec(`pragma busy_timeout = ${BUSY_TIMEOUT_MS}`)
  }
}

/** Executes a statement. Returns false when the lock is taken; throws in that case when the attempt `isLast`. */
function tryExecute(database: DatabaseSync, sql: string, isLast: boolean): boolean {
  try {
    database.exec(sql)
    return true
  } catch (error) {
    if (isLast || !hasResultCode(error, 'busy')) throw error
    return false
  }
}

const sleepCell = new Int32Array(new SharedArrayBuffer(4))

/** Blocks the thread. */
function pause(milliseconds: number): void {
  Atomics.wait(sleepCell, 0, 0, milliseconds)
}
