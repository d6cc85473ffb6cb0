/** Transactions and prepared statements of a connection to SQLite. */
import type { DatabaseSync, StatementSync } from 'node:sqlite'

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
