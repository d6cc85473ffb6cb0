/**
 * Sends signed transactions, looks up what became of them, and records those that failed. `outbox.ts` signs them.
 */
import type { Logger } from 'pino'
import type { Account, SignedTransaction, TransactionOutcome } from '../chain/chain.ts'
import { ChainError, ChainRefusal } from '../chain/chain.ts'
import type { EngineStore } from './collections.ts'
import type { Metrics } from './metrics.ts'
import type { QueuedTransaction } from './outbox-rows.ts'

export interface OutboxContext {
  readonly store: EngineStore
  readonly account: Account
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly log: Logger
  readonly metrics: Metrics
}

/** A transaction that has its nonce and its bytes. */
export type SignedRow = QueuedTransaction & { readonly value: { readonly signed: SignedTransaction } }

const RESEND_AFTER_MS = 30_000
const KEEP_FAILURE_MS = 30 * 86_400_000
/** The number of times that a transaction may run out of its estimated gas before it is given up. */
const MAX_EXHAUSTED = 3
const SIGN_AGAIN_TEXTS = {
  exhausted: 'the transaction needed more gas than was estimated; it is signed again',
  lost: 'another transaction used the nonce of this transaction; it is signed again',
} as const

/** Tests whether a transaction of the outbox has its nonce and its bytes. */
export function isSigned(row: QueuedTransaction): row is SignedRow {
  return row.value.signed !== undefined
}

/** Looks up the outcomes of signed transactions, and sends those again that have been pending for long. */
export async function settleRows(
  context: OutboxContext,
  rows: readonly SignedRow[],
  sentAt: Map<string, number>,
): Promise<void> {
  const { account, now } = context
  // The lookups run at once, so that the store writes the outcomes together.
  const results = await Promise.allSettled(
    rows.map(async (row) => {
      const outcome = await account.fetchOutcome(row.value.signed)
      if (outcome !== 'pending') await recordOutcome(context, row, outcome, sentAt)
      return outcome
    }),
  )
  for (const result of results) if (result.status === 'rejected') throw result.reason
  for (const [index, row] of rows.entries()) {
    const { value: outcome } = results[index] as PromiseFulfilledResult<TransactionOutcome>
    const lastSentAt = sentAt.get(row.id)
    if (outcome === 'pending' && (lastSentAt === undefined || now().getTime() - lastSentAt > RESEND_AFTER_MS)) {
      await submit(context, row, sentAt)
    }
  }
}

async function recordOutcome(
  context: OutboxContext,
  row: SignedRow,
  outcome: Exclude<TransactionOutcome, 'pending'>,
  sentAt: Map<string, number>,
): Promise<void> {
  const { store, log, metrics } = context
  const { signed, contract } = row.value
  const line = { contract, transaction: signed.hash }
  metrics.transactions.inc({ outcome })
  sentAt.delete(row.id)
  if (outcome === 'included') {
    await store.commit([{ delete: 'outbox', id: row.id, version: row.version, erases: true }])
    log.info({ event: 'transaction_included', ...line }, 'transaction included')
  } else if (outcome === 'failed') {
    await recordFailure(context, row, 'the contract refused it', signed.hash)
  } else {
    const { payload, gas, createdAt, exhausted = 0 } = row.value
    const times = outcome === 'exhausted' ? exhausted + 1 : exhausted
    // The engine does not raise the gas that a component chose.
    if (outcome === 'exhausted' && (gas !== '0' || times === MAX_EXHAUSTED)) {
      await recordFailure(context, row, 'it ran out of its gas', signed.hash)
      return
    }
    const value = { contract, payload, gas, createdAt, exhausted: times }
    await store.commit([{ update: 'outbox', id: row.id, version: row.version, value }])
    log.warn({ event: `transaction_${outcome}`, ...line }, SIGN_AGAIN_TEXTS[outcome])
  }
}

/** Sends a signed transaction. A chain that does not take it now gets it again later. */
export async function submit(
  { account, log, now }: OutboxContext,
  row: SignedRow,
  sentAt: Map<string, number>,
): Promise<void> {
  const { signed, contract } = row.value
  try {
    await account.submit(signed)
    sentAt.set(row.id, now().getTime())
  } catch (error) {
    if (!isTransactionError(error)) throw error
    // Another node may have taken the transaction, or this one will later; the outcome is looked up in the blocks.
    sentAt.set(row.id, now().getTime())
    log.warn(
      { event: 'transaction_refused', contract, transaction: signed.hash, why: error.message },
      'the chain does not take the transaction now; it is sent again later',
    )
  }
}

/** Tests whether the error is about one transaction only, so that the engine can process others. */
export function isTransactionError(error: unknown): error is ChainError {
  return error instanceof ChainRefusal || (error instanceof ChainError && error.reverted)
}

/** Gives a transaction up: replaces its row by one that says why. */
export async function recordFailure(
  { store, log, now }: OutboxContext,
  { id, version, value: { contract } }: QueuedTransaction,
  why: string,
  hash?: string,
): Promise<void> {
  const at = now().getTime()
  const value = { contract, why, at, ...(hash === undefined ? {} : { hash }) }
  await store.commit([
    { delete: 'outbox', id, version, erases: true },
    { insert: 'failed_transaction', id, value, dueAt: new Date(at + KEEP_FAILURE_MS) },
  ])
  log.error({ event: 'transaction_failed', contract, transaction: hash, why }, 'the transaction was given up')
}
