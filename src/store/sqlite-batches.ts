/** Applies several batches of statements in one transaction of SQLite, each batch completely or not at all. */
import { type ErrorProperties, readErrorProperties } from '../thread/error-properties.ts'
import type { Prepare } from './sqlite-transaction.ts'
import type { BoundStatement } from './statements.ts'

/** The error that rolls a transaction back because one batch applied only in part. */
class PartialBatchError extends Error {}

/**
 * The result of a batch: the index of the first statement that did not apply (undefined when all did), or the error of
 * a statement.
 */
export type BatchResult = { readonly conflict: number | undefined } | { readonly error: ErrorProperties }

/**
 * Applies the batches in one transaction, each completely or not at all. Batches that apply in part are rare, so the
 * first transaction sets no savepoints. When a batch applies in part, that transaction is rolled back, and a second one
 * sets a savepoint for each batch.
 */
export function applyBatches(
  prepare: Prepare,
  batches: readonly (readonly BoundStatement[])[],
  transact: (applyAll: () => readonly BatchResult[]) => readonly BatchResult[],
): readonly BatchResult[] {
  try {
    return transact(() => batches.map((batch) => applyWhole(prepare, batch)))
  } catch (error) {
    if (!(error instanceof PartialBatchError)) throw error
    return transact(() => batches.map((batch) => applyWithSavepoint(prepare, batch)))
  }
}

/**
 * Applies a batch without a savepoint. Throws a PartialBatchError when a statement fails, or does not apply after
 * others of the batch did.
 */
function applyWhole(prepare: Prepare, batch: readonly BoundStatement[]): BatchResult {
  for (const [index, statement] of batch.entries()) {
    if (applyBatch(prepare, statement)) continue
    if (index > 0) throw new PartialBatchError()
    return { conflict: index }
  }
  return { conflict: undefined }
}

/** Applies a statement. Throws a PartialBatchError when the statement fails. */
function applyBatch(prepare: Prepare, statement: BoundStatement): boolean {
  try {
    return applyStatement(prepare, statement)
  } catch (cause) {
    throw new PartialBatchError('a change cannot be applied', { cause })
  }
}

/** Applies a batch after a savepoint, and rolls back to the savepoint when a statement fails or does not apply. */
function applyWithSavepoint(prepare: Prepare, batch: readonly BoundStatement[]): BatchResult {
  prepare('savepoint batch').run()
  try {
    const conflict = batch.findIndex((statement) => !applyStatement(prepare, statement))
    if (conflict === -1) return { conflict: undefined }
    prepare('rollback to batch').run()
    return { conflict }
  } catch (error) {
    // When SQLite has ended the transaction by itself, as on a full disk, this throws, and the whole transaction fails.
    prepare('rollback to batch').run()
    return { error: readErrorProperties(error) }
  } finally {
    prepare('release batch').run()
  }
}

/** Tests whether a statement applied to its row. */
function applyStatement(prepare: Prepare, [sql, ...values]: BoundStatement): boolean {
  return prepare(sql).run(...values).changes === 1
}
