/**
 * Sends the transactions that components requested. The commit of a call stores each as a row of the outbox. The engine
 * signs a transaction, and stores its nonce and bytes before it sends them. From then on it sends only the same bytes,
 * until the transaction is included at a block that the engine has reached (`outbox-outcomes.ts`). Nonces are used in
 * order (`outbox-nonces.ts`).
 */
import { ChainError, isAboutOneRequest, type SignedTransaction } from '../chain/chain.ts'
import type { Address } from '../offchain/address.ts'
import { closeGap, selectSignable } from './outbox-gap.ts'
import { createOutboxMemory, type OutboxMemory } from './outbox-memory.ts'
import { type NoncePlan, planNonces } from './outbox-nonces.ts'
import {
  isSigned,
  type OutboxContext,
  type OutboxEffects,
  RESEND_AFTER_MS,
  recordFailure,
  type SignedRow,
  settleRows,
  submit,
} from './outbox-outcomes.ts'
import {
  createOutboxRows,
  type OutboxRows,
  orderFairly,
  type QueuedTransaction,
  type WaitingTransaction,
} from './outbox-rows.ts'
import type { RetryList } from './retry-list.ts'

export interface Outbox extends Pick<OutboxRows, 'load' | 'addStored' | 'invalidate' | 'countUse' | 'getState'> {
  /** Makes the rows for the transactions of a call, which are part of the batch of the call. */
  readonly createRows: OutboxContext['createRows']
  /** Records a reorganisation: nonces that were used may be free again, and are then used first. */
  invalidateNonces(): void
  /**
   * Signs and sends waiting transactions, and looks up the outcomes of sent ones, when the rows or the block changed.
   * `block` is the hash of the newest block that the watcher has seen.
   */
  runRound(block: string | undefined): Promise<void>
}

/** The most transactions that are signed and in no block yet: nodes keep few of an account that wait for a block. */
const MAX_IN_FLIGHT = 16
/** The most attempts to sign of a round, after which what was signed is sent; each asks the node twice. */
const MAX_ATTEMPTS = 32
const MAX_RETRY_PAUSE_MS = 300_000

/** Makes the outbox of an engine. The caller calls `load` first, and then `runRound` again and again. */
export function createOutbox(effects: OutboxEffects): Outbox {
  const { monotonicMs } = effects
  const rows = createOutboxRows(effects.store)
  const createRows = createRowMaker(effects, rows)
  const context = { ...effects, rows, createRows }
  const memory = createOutboxMemory(MAX_RETRY_PAUSE_MS)
  return {
    ...rows,
    createRows,
    addStored: (insertedRows) => {
      rows.addStored(insertedRows)
      if (insertedRows.length > 0) memory.isDirty = true
    },
    invalidateNonces: () => {
      memory.mayFillGap = true
      memory.includedNonce = undefined
    },
    runRound: async (block) => {
      const at = monotonicMs()
      const isSettled = rows.isEmpty() || (block === memory.checkedBlock && at - memory.checkedAt < RESEND_AFTER_MS)
      const isDue = memory.isDirty || !rows.isCurrent() || memory.refusedRows.listDue(at).length > 0
      if (isSettled && !isDue) return
      memory.isDirty = false
      memory.checkedBlock = block
      memory.checkedAt = at
      await processRows(context, memory)
    },
  }
}

/**
 * Makes the function that makes rows; their ids are in the order in which it makes them, and after those of the rows
 * that wait, also when the clock was set back.
 */
function createRowMaker({ now, random }: OutboxEffects, rows: OutboxRows): OutboxContext['createRows'] {
  let serial = 0
  return (contract, transactions) => {
    if (transactions.length === 0) return []
    const createdAt = Math.max(now().getTime(), rows.getNewestTime() + 1)
    return transactions.map(({ payload, gas }) => {
      const order = `${String(createdAt).padStart(15, '0')}.${String(serial++ % 1e9).padStart(9, '0')}`
      const id = `${order}.${Buffer.from(random(9)).toString('base64url')}`
      const value = { contract, payload: Buffer.from(payload).toString('base64'), gas: String(gas), createdAt }
      return { insert: 'outbox', id, value, dueAt: new Date(createdAt) }
    })
  }
}

async function processRows(context: OutboxContext, memory: OutboxMemory): Promise<void> {
  const { rows, log } = context
  try {
    await rows.refresh()
    await settleRows(context, memory)
    await signQueued(context, memory)
    memory.isBlocked = false
  } catch (error) {
    memory.isDirty = true
    if (!(error instanceof ChainError)) throw error
    const line = { event: 'outbox_waits', why: error.message }
    // The line is logged once, and not with every round.
    if (!memory.isBlocked) log.warn(line, 'the chain does not take transactions now')
    memory.isBlocked = true
  }
}

/**
 * Signs the transactions without a nonce, stores nonces and bytes, and sends them. When nothing can be signed, closes a
 * gap below the transactions in flight.
 */
async function signQueued(context: OutboxContext, memory: OutboxMemory): Promise<void> {
  const { account, rows, monotonicMs } = context
  const { refusedRows } = memory
  const transactions = rows.list()
  const queued = transactions.filter(({ nonce }) => nonce === undefined)
  const ids = new Set(transactions.map(({ id }) => id))
  for (const id of refusedRows.listIds()) if (!ids.has(id)) refusedRows.delete(id)
  if (transactions.length === 0) return
  const inFlight = transactions.filter(({ nonce }) => nonce !== undefined)
  const noncesInFlight = new Set(inFlight.flatMap(({ nonce }) => nonce ?? []))
  const plan = planNonces(memory, await account.fetchNextNonce(), noncesInFlight, monotonicMs())
  const contractsInFlight = new Set(inFlight.map(({ contract }) => contract))
  const waiting = orderFairly(await selectSignable(context, memory, queued), inFlight)
  const unconfirmedCount = inFlight.filter(({ id }) => memory.unconfirmedRows.has(id)).length
  const signedRows = await signInTurns(context, memory, waiting, {
    ...plan,
    inFlight: plan.inFlight - unconfirmedCount,
    contractsInFlight,
  })
  if (signedRows.length === 0) {
    if (plan.missing > 0) await closeGap(context, memory, plan)
    return
  }
  // No node has seen the signed bytes yet. After this commit the rows are signed again only for the reasons of
  // `outbox-outcomes.ts`.
  if (!(await rows.update(signedRows))) return
  for (const row of signedRows) await submit(context, { ...row, version: row.version + 1 }, memory)
}

/**
 * Signs transactions in this order until enough are in flight, without storing them. After {@link MAX_ATTEMPTS} the
 * next round goes on.
 */
async function signInTurns(
  context: OutboxContext,
  memory: OutboxMemory,
  transactions: readonly WaitingTransaction[],
  { noncesInFlight, next, inFlight, contractsInFlight }: NoncePlan & { readonly contractsInFlight: Set<Address> },
): Promise<readonly SignedRow[]> {
  const { refusedRows } = memory
  const signedRows: SignedRow[] = []
  const contractsToSkip = new Set<Address>()
  let nonce = next
  let attempts = 0
  for (const { id, contract } of transactions) {
    if (inFlight + signedRows.length >= MAX_IN_FLIGHT) break
    if (refusedRows.isWaiting(id, context.monotonicMs())) contractsToSkip.add(contract)
    if (contractsToSkip.has(contract)) continue
    const row = await context.rows.read(id)
    if (row === undefined || isSigned(row)) continue
    if (attempts++ >= MAX_ATTEMPTS) {
      memory.isDirty = true
      break
    }
    while (noncesInFlight.has(nonce)) nonce++
    const result = await signTransaction(context, row, {
      nonce,
      hasOthersBefore: contractsInFlight.has(contract),
      refusedRows,
    })
    if ('skipped' in result && result.skipped === 'later') contractsToSkip.add(contract)
    if ('skipped' in result) continue
    signedRows.push({ ...row, value: { ...row.value, signed: result.signed } })
    contractsInFlight.add(contract)
    nonce++
  }
  return signedRows
}

/** A signed transaction, or why there is none: `later`, it is tried again; `failed`, it was given up. */
type SigningResult = { readonly signed: SignedTransaction } | { readonly skipped: 'later' | 'failed' }

interface SigningOptions {
  readonly nonce: number
  /** Whether transactions to the same contract are in flight, on which this one may depend. */
  readonly hasOthersBefore: boolean
  readonly refusedRows: RetryList
}

async function signTransaction(
  context: OutboxContext,
  row: QueuedTransaction,
  { nonce, hasOthersBefore, refusedRows }: SigningOptions,
): Promise<SigningResult> {
  const { contract, payload, gas } = row.value
  try {
    const signed = await context.account.sign(contract, Buffer.from(payload, 'base64'), BigInt(gas), nonce)
    refusedRows.delete(row.id)
    return { signed }
  } catch (error) {
    if (!isAboutOneRequest(error)) throw error
    if (error.kind === 'failed') return retryLater(context, row, refusedRows, error.message)
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
  { monotonicMs, log }: OutboxContext,
  { id, value }: QueuedTransaction,
  refusedRows: RetryList,
  why: string,
): SigningResult {
  const line = { event: 'transaction_waits', contract: value.contract, why }
  // The line is logged once, and not with every attempt.
  if (refusedRows.addFailure(id, monotonicMs()))
    log.warn(line, 'the transaction is not signed now; the chain is asked again')
  return { skipped: 'later' }
}
