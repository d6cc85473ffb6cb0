/**
 * The batches of a group, applied in one transaction of SQLite: each whole or not at all.
 */
import type { StatementSync } from 'node:sqlite'
import { statementOf } from './statements.ts'
import type { Change } from './store.ts'

/** The error that ends a transaction in which a batch has applied in part, and is to be undone. */
class PartialBatchError extends Error {}

type AppliedBatch<C> = PromiseSettledResult<Change<C> | undefined>

/**
 * Applies the batches of a group in one transaction, each whole or not at all. The value of a batch is undefined when
 * every change applied, else the first whose condition did not hold. Few batches have to be undone, so that savepoints
 * are set only in a second transaction, which a group needs when one of its batches applied in part.
 */
export function applyGroup<C>(
  statement: (sql: string) => StatementSync,
  batches: readonly (readonly Change<C>[])[],
  transact: (applyAll: () => readonly AppliedBatch<C>[]) => readonly AppliedBatch<C>[],
): readonly AppliedBatch<C>[] {
  try {
    return transact(() => batches.map((batch) => applyWhole(statement, batch)))
  } catch (error) {
    if (!(error instanceof PartialBatchError)) throw error
    return transact(() => batches.map((batch) => applyWithSavepoint(statement, batch)))
  }
}

/** Applies a batch inside the transaction of its group. Throws a PartialBatchError where it has to be undone. */
function applyWhole<C>(statement: (sql: string) => StatementSync, batch: readonly Change<C>[]): AppliedBatch<C> {
  for (const [index, change] of batch.entries()) {
    if (applies(statement, change)) continue
    if (index > 0) throw new PartialBatchError()
    return { status: 'fulfilled', value: change }
  }
  return { status: 'fulfilled', value: undefined }
}

function applies<C>(statement: (sql: string) => StatementSync, change: Change<C>): boolean {
  try {
    return applyChange(statement, change)
  } catch (cause) {
    throw new PartialBatchError('a change cannot be applied', { cause })
  }
}

/** Applies a batch inside the transaction of its group, and undoes what it applied when one of its changes does not. */
function applyWithSavepoint<C>(
  statement: (sql: string) => StatementSync,
  batch: readonly Change<C>[],
): AppliedBatch<C> {
  statement('savepoint batch').run()
  try {
    const conflict = batch.find((change) => !applyChange(statement, change))
    if (conflict !== undefined) statement('rollback to batch').run()
    return { status: 'fulfilled', value: conflict }
  } catch (reason) {
    // This throws, and with it the whole group, when SQLite has ended the transaction by itself, as on a full disk.
    statement('rollback to batch').run()
    return { status: 'rejected', reason }
  } finally {
    statement('release batch').run()
  }
}

function applyChange<C>(statement: (sql: string) => StatementSync, change: Change<C>): boolean {
  const [sql, ...values] = statementOf(change)
  return statement(sql).run(...values).changes === 1
}
