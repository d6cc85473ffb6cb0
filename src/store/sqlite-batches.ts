/**
 * Batches of statements, applied in one transaction of SQLite: each whole or not at all.
 */
import { type ErrorProperties, readErrorProperties } from '../thread/error-properties.ts'
import type { Prepare } from './sqlite-transaction.ts'
import type { BoundStatement } from './statements.ts'

/** The error that ends a transaction in which a batch has applied in part, and is to be undone. */
class PartialBatchError extends Error {}

/** The result of a batch: the position of its first statement that did not apply, undefined when all did. */
export type BatchResult = { readonly conflict: number | undefined } | { readonly error: ErrorProperties }

/**
 * Applies the batches in one transaction, each whole or not at all. Few batches have to be undone, so that savepoints
 * are set only in a second transaction, which is needed when a batch applied in part.
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

/** Applies a batch inside the transaction of all. Throws a PartialBatchError where the batch has to be undone. */
function applyWhole(prepare: Prepare, batch: readonly BoundStatement[]): BatchResult {
  for (const [index, statement] of batch.entries()) {
    if (applyOrUndoBatch(prepare, statement)) continue
    if (index > 0) throw new PartialBatchError()
    return { conflict: index }
  }
  return { conflict: undefined }
}

function applyOrUndoBatch(prepare: Prepare, statement: BoundStatement): boolean {
  try {
    return applyStatement(prepare, statement)
  } catch (cause) {
    throw new PartialBatchError('a change cannot be applied', { cause })
  }
}

/** Applies a batch inside the transaction of all, and undoes what was applied when one of the statements does not. */
function applyWithSavepoint(prepare: Prepare, batch: readonly BoundStatement[]): BatchResult {
  prepare('savepoint batch').run()
  try {
    const conflict = batch.findIndex((statement) => !applyStatement(prepare, statement))
    if (conflict === -1) return { conflict: undefined }
    prepare('rollback to batch').run()
    return { conflict }
  } catch (error) {
    // This throws, and with it the whole transaction, when SQLite has ended that by itself, as on a full disk.
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
