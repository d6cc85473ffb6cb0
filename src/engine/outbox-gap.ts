/** Closes a gap in the nonces of the transactions in flight that does not close by itself (`outbox-nonces.ts`). */
import type { OutboxMemory } from './outbox-memory.ts'
import type { NoncePlan } from './outbox-nonces.ts'
import { discardSignature, isSigned, type OutboxContext } from './outbox-outcomes.ts'
import type { WaitingTransaction } from './outbox-rows.ts'

/** The most nonces that are filled by empty transactions, which cost the engine the least gas of a transaction each. */
const MAX_FILLED_NONCES = 16

const FILL_TEXT =
  'no transaction has the next nonces of the account of this engine; empty transactions of the account to itself fill them'
const LOWER_TEXT =
  'the transactions in flight have nonces that the account of this engine does not reach; they are signed again with lower ones'

/**
 * Fills a short gap with empty transactions. Signs the transactions above a long one again, since a number that is
 * wrong by so much is a mistake of a node. `next` of the plan is the first nonce that is missing.
 */
export async function closeGap(
  context: OutboxContext,
  memory: OutboxMemory,
  { missing, next }: NoncePlan,
): Promise<void> {
  const { account, log, monotonicMs } = context
  const canFill = account.canFillNonces && missing <= MAX_FILLED_NONCES
  log.warn({ event: 'nonces_have_gap', nonce: next, missing }, canFill ? FILL_TEXT : LOWER_TEXT)
  // The next attempt comes when the gap is still there after the same time.
  memory.gap = { nonce: next, since: monotonicMs() }
  memory.mayFillGap = true
  memory.isDirty = true
  if (canFill) await fillNonces(context, missing)
  else await takeSignatures(context, memory, next)
}

async function fillNonces({ account, rows, store, createRows }: OutboxContext, missing: number): Promise<void> {
  const waiting = rows.list().filter(({ contract, nonce }) => contract === account.address && nonce === undefined)
  const emptyTransactions = Array.from({ length: Math.max(0, missing - waiting.length) }, () => {
    return { payload: new Uint8Array(), gas: 0n }
  })
  const inserts = createRows(account.address, emptyTransactions)
  try {
    if ((await store.commit(inserts)) === undefined) rows.addStored(inserts)
    else rows.invalidate()
  } catch (error) {
    // The rows may be on disk although the commit failed.
    rows.invalidate()
    throw error
  }
}

/**
 * Selects the transactions that may be signed now: empty ones only while there is a gap that they may fill. Deletes the
 * empty ones when there is none any more.
 */
export async function selectSignable(
  { account, rows }: OutboxContext,
  memory: OutboxMemory,
  queued: readonly WaitingTransaction[],
): Promise<readonly WaitingTransaction[]> {
  if (memory.mayFillGap) return queued
  const others = queued.filter(({ contract }) => contract !== account.address)
  if (memory.gap !== undefined) return others
  for (const { id, contract } of queued) {
    if (contract !== account.address) continue
    const row = await rows.read(id)
    if (row !== undefined && !isSigned(row)) await rows.remove(row)
  }
  return others
}

async function takeSignatures(context: OutboxContext, memory: OutboxMemory, gapNonce: number): Promise<void> {
  const { rows } = context
  for (const { id, nonce } of rows.list()) {
    if (nonce === undefined || nonce < gapNonce) continue
    const row = await rows.read(id)
    if (row === undefined || !isSigned(row)) continue
    memory.sentAt.delete(id)
    memory.goneSince.delete(id)
    memory.unconfirmedRows.delete(id)
    await discardSignature(context, row, 'unreachable')
  }
}
