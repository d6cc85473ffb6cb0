/**
 * Sends the transactions that components requested. The commit of a call stores each as a row of the outbox. The engine
 * signs a transaction, and stores its nonce and bytes before it sends them. From then on it sends only the same bytes,
 * until the transaction is included at a block that the engine has reached (`outbox-outcomes.ts`). Nonces are used in
 * order.
 */
import { ChainError, type SignedTransaction } from '../chain/chain.ts'
import type { CallEffects } from '../component/runtime.ts'
import type { Address } from '../offchain/address.ts'
import { createOutboxMemory, type OutboxMemory } from './outbox-memory.ts'
import {
  isSigned,
  isTransactionError,
  type OutboxContext,
  recordFailure,
  type SignedRow,
  settleRows,
  submit,
} from './outbox-outcomes.ts'
import {
  createOutboxRows,
  type OutboxInsert,
  type OutboxRows,
  orderFairly,
  type QueuedTransaction,
} from './outbox-rows.ts'
import type { RetryList } from './retry-list.ts'

export interface Outbox extends Pick<OutboxRows, 'load' | 'addStored' | 'count' | 'getState'> {
  /** Makes the rows for the transactions of a call, which are part of the batch of the call. */
  createRows(contract: Address, transactions: CallEffects['transactions']): readonly OutboxInsert[]
  /** Makes the next round read the rows again, because the rows on disk may differ from those in memory. */
  invalidate(): void
  /** Records a reorganisation: nonces that were used may be free again, and are then used first. */
  invalidateNonces(): void
  /**
   * Signs and sends waiting transactions, and looks up the outcomes of sent ones, when the rows or the block changed.
   * `block` is the hash of the newest block that the watcher has seen.
   */
  runRound(block: string | undefined): Promise<void>
}

/** The most transactions that are signed and not included yet. */
const MAX_IN_FLIGHT = 16
const MAX_RETRY_PAUSE_MS = 300_000

/** Makes the outbox of an engine. The caller calls `load` first, and then `runRound` again and again. */
export function createOutbox(context: OutboxContext): Outbox {
  const { now, random } = context
  const rows = createOutboxRows(context.store)
  const memory = createOutboxMemory(rows, MAX_RETRY_PAUSE_MS)
  const invalidate = (): void => {
    memory.isDirty = true
  }
  let serial = 0
  return {
    ...rows,
    createRows: (contract, transactions) =>
      transactions.map(({ payload, gas }) => {
        const createdAt = now().getTime()
        const order = `${String(createdAt).padStart(15, '0')}.${String(serial++ % 1e9).padStart(9, '0')}`
        const id = `${order}.${Buffer.from(random(9)).toString('base64url')}`
        const value = { contract, payload: Buffer.from(payload).toString('base64'), gas: String(gas), createdAt }
        return { insert: 'outbox', id, value, dueAt: new Date(createdAt) }
      }),
    addStored: (insertedRows) => {
      rows.addStored(insertedRows)
      if (insertedRows.length > 0) invalidate()
    },
    invalidate,
    invalidateNonces: () => {
      memory.hasGaps = true
    },
    runRound: async (block) => {
      const isDue = memory.refusedRows.listDue(now().getTime()).length > 0
      if (!memory.isDirty && !isDue && (rows.isEmpty() || block === memory.checkedBlock)) return
      memory.isDirty = false
      memory.checkedBlock = block
      await processRows(context, memory)
    },
  }
}

async function processRows(context: OutboxContext, memory: OutboxMemory): Promise<void> {
  const { log } = context
  const { rows, sentAt } = memory
  try {
    await settleRows(context, (await rows.read()).filter(isSigned), sentAt)
    if (await signQueued(context, await rows.read(), memory)) memory.isDirty = true
    memory.isBlocked = false
  } catch (error) {
    memory.isDirty = true
    if (!(error instanceof ChainError)) throw error
    const line = { event: 'outbox_waits', why: error.message }
    // The line is logged once, and not with every round.
    if (!memory.isBlocked) log.warn(line, 'the chain does not take transactions now')
    memory.isBlocked = true
  } finally {
    await rows.read()
  }
}

/**
 * Signs the transactions without a nonce, stores nonces and bytes, and sends them. Returns true when another process
 * changed a row before the commit, so that the next round must read all rows again.
 */
async function signQueued(
  context: OutboxContext,
  rows: readonly QueuedTransaction[],
  memory: OutboxMemory,
): Promise<boolean> {
  const { account, store } = context
  const { refusedRows, sentAt } = memory
  const queuedRows = rows.filter((row) => !isSigned(row))
  const ids = new Set(queuedRows.map(({ id }) => id))
  for (const id of refusedRows.listIds()) if (!ids.has(id)) refusedRows.delete(id)
  if (queuedRows.length === 0) return false
  const usedNonces = new Set(rows.filter(isSigned).map(({ value }) => value.signed.nonce))
  let inFlight = usedNonces.size
  if (inFlight === 0) memory.hasGaps = false
  let nonce = await account.fetchNextNonce()
  if (!memory.hasGaps) nonce = Math.max(nonce, ...[...usedNonces].map((each) => each + 1))
  const signedRows: SignedRow[] = []
  const contractsToSkip = new Set<Address>()
  for (const row of orderFairly(queuedRows, rows.filter(isSigned))) {
    if (inFlight >= MAX_IN_FLIGHT) break
    if (contractsToSkip.has(row.value.contract)) continue
    while (usedNonces.has(nonce)) nonce++
    const result = await signTransaction(context, row, { nonce, hasOthersBefore: inFlight > 0, refusedRows })
    if ('skipped' in result && result.skipped === 'later') contractsToSkip.add(row.value.contract)
    if ('skipped' in result) continue
    signedRows.push({ ...row, value: { ...row.value, signed: result.signed } })
    nonce++
    inFlight++
  }
  if (signedRows.length === 0) return false
  // No node has seen the signed bytes yet. After this commit the rows are never signed again with other bytes.
  const changes = signedRows.map(({ id, version, value }) => ({ update: 'outbox', id, version, value }) as const)
  if ((await store.commit(changes)) !== undefined) return true
  for (const row of signedRows) await submit(context, { ...row, version: row.version + 1 }, sentAt)
  return false
}

/** A signed transaction, or why there is none: `later`, it is tried again; `failed`, it was given up. */
type SigningResult = { readonly signed: SignedTransaction } | { readonly skipped: 'later' | 'failed' }

interface SigningOptions {
  readonly nonce: number
  readonly hasOthersBefore: boolean
  readonly refusedRows: RetryList
}

async function signTransaction(
  context: OutboxContext,
  row: QueuedTransaction,
  { nonce, hasOthersBefore, refusedRows }: SigningOptions,
): Promise<SigningResult> {
  const { contract, payload, gas } = row.value
  if (refusedRows.isWaiting(row.id, context.now().getTime())) return { skipped: 'later' }
  try {
    const signed = await context.account.sign(contract, Buffer.from(payload, 'base64'), BigInt(gas), nonce)
    refusedRows.delete(row.id)
    return { signed }
  } catch (error) {
    if (!isTransactionError(error)) throw error
    if (!error.reverted) return retryLater(context, row, refusedRows, error.message)
    refusedRows.delete(row.id)
    // The transaction may succeed once the transactions before it are included.
    if (hasOthersBefore) return { skipped: 'later' }
    context.metrics.transactions.inc({ outcome: 'failed' })
    await recordFailure(context, row, error.message)
    return { skipped: 'failed' }
  }
}

/** Schedules another attempt to sign, and logs the reason once. Transactions of other contracts do not wait. */
function retryLater(
  { now, log }: OutboxContext,
  { id, value }: QueuedTransaction,
  refusedRows: RetryList,
  why: string,
): SigningResult {
  const line = { event: 'transaction_waits', contract: value.contract, why }
  // The line is logged once, and not with every attempt.
  if (refusedRows.addFailure(id, now().getTime()))
    log.warn(line, 'the transaction is not signed now; the chain is asked again')
  return { skipped: 'later' }
}
