/**
 * Transactions that components asked for. Each is a row from the commit of its call on. The engine signs a transaction
 * and stores its nonce and its bytes before it is sent; from then on the same bytes are sent, whatever happens in
 * between, until the chain has them at the block that this engine looks at. Nonces are given out one after another.
 */
import type { Logger } from 'pino'
import type { Account, SignedTransaction, TransactionOutcome } from '../chain/chain.ts'
import { ChainError, ChainRefusal } from '../chain/chain.ts'
import type { CallEffects } from '../component/runtime.ts'
import type { Address } from '../offchain/address.ts'
import type { EngineStore } from './collections.ts'
import type { Metrics } from './metrics.ts'
import { createOutboxMemory, type OutboxMemory } from './outbox-memory.ts'
import { createOutboxRows, type Insert, type OutboxRows, orderFairly, type QueuedTransaction } from './outbox-rows.ts'
import type { RetryList } from './retry-list.ts'

export interface Outbox extends Pick<OutboxRows, 'load' | 'added' | 'count' | 'state'> {
  /** Makes the rows of transactions, for the batch of the call that asked for them. */
  rows(contract: Address, transactions: CallEffects['transactions']): readonly Insert[]
  /** Has the next round read the rows again, when those on disk may differ from those in memory. */
  doubt(): void
  /**
   * Notes that the chain took back blocks: nonces of what was included in them are free again, and are to be used
   * first.
   */
  doubtNonces(): void
  /**
   * Sends transactions that are to be sent, and looks up the others. `block` is the newest that the watcher has seen.
   */
  round(block: string | undefined): Promise<void>
}

export interface OutboxContext {
  readonly store: EngineStore
  readonly account: Account
  readonly now: () => Date
  readonly random: (bytes: number) => Uint8Array
  readonly log: Logger
  readonly metrics: Metrics
}

type SignedRow = QueuedTransaction & { readonly value: { readonly signed: SignedTransaction } }

/** The most transactions that are signed and not yet included. */
const MOST_IN_FLIGHT = 16
const SENT_AGAIN_AFTER_MS = 30_000
const REFUSED_MS = 300_000
const FAILURE_KEPT_MS = 30 * 86_400_000
/** The number of times that a transaction may run out of its estimated gas before it is given up. */
const MOST_EXHAUSTED = 3
const SIGNED_AGAIN = {
  exhausted: 'the contract needed more gas than it seemed to; it is signed again',
  lost: 'its nonce was used by another transaction; it is signed again',
} as const

export function createOutbox(context: OutboxContext): Outbox {
  const { now, random } = context
  const rows = createOutboxRows(context.store)
  const memory = createOutboxMemory(rows, REFUSED_MS)
  const doubt = (): void => {
    memory.isDirty = true
  }
  let serial = 0
  return {
    ...rows,
    rows: (contract, transactions) =>
      transactions.map(({ payload, gas }) => {
        const createdAt = now().getTime()
        const order = `${String(createdAt).padStart(15, '0')}.${String(serial++ % 1e9).padStart(9, '0')}`
        const id = `${order}.${Buffer.from(random(9)).toString('base64url')}`
        const value = { contract, payload: Buffer.from(payload).toString('base64'), gas: String(gas), createdAt }
        return { insert: 'outbox', id, value, dueAt: new Date(createdAt) }
      }),
    added: (inserted) => {
      rows.added(inserted)
      if (inserted.length > 0) doubt()
    },
    doubt,
    doubtNonces: () => {
      memory.hasGaps = true
    },
    round: async (block) => {
      const isDue = memory.refused.due(now().getTime()).length > 0
      if (!memory.isDirty && !isDue && (rows.isEmpty() || block === memory.lookedAt)) return
      memory.isDirty = false
      memory.lookedAt = block
      await roundOf(context, memory)
    },
  }
}

async function roundOf(context: OutboxContext, memory: OutboxMemory): Promise<void> {
  const { log } = context
  const { rows, sent } = memory
  try {
    await settle(context, (await rows.read()).filter(isSigned), sent)
    if (await signQueued(context, await rows.read(), memory)) memory.isDirty = true
    memory.isBlocked = false
  } catch (error) {
    memory.isDirty = true
    if (!(error instanceof ChainError)) throw error
    const line = { event: 'outbox_waits', why: error.message }
    // Said once, and not with every round.
    if (!memory.isBlocked) log.warn(line, 'the chain does not take transactions now')
    memory.isBlocked = true
  } finally {
    await rows.read()
  }
}

function isSigned(row: QueuedTransaction): row is SignedRow {
  return row.value.signed !== undefined
}

/** Looks up the outcome of transactions, and sends them again, in the order of their nonces, where that may help. */
async function settle(context: OutboxContext, rows: readonly SignedRow[], sent: Map<string, number>): Promise<void> {
  const { account, now } = context
  // At once, so that what is over is written together.
  const settled = await Promise.allSettled(
    rows.map(async (row) => {
      const outcome = await account.outcome(row.value.signed)
      if (outcome !== 'pending') await conclude(context, row, outcome, sent)
      return outcome
    }),
  )
  for (const result of settled) if (result.status === 'rejected') throw result.reason
  for (const [index, row] of rows.entries()) {
    const { value: outcome } = settled[index] as PromiseFulfilledResult<TransactionOutcome>
    const at = sent.get(row.id)
    if (outcome === 'pending' && (at === undefined || now().getTime() - at > SENT_AGAIN_AFTER_MS)) {
      await submit(context, row, sent)
    }
  }
}

async function conclude(
  context: OutboxContext,
  row: SignedRow,
  outcome: Exclude<TransactionOutcome, 'pending'>,
  sent: Map<string, number>,
): Promise<void> {
  const { store, log, metrics } = context
  const { signed, contract } = row.value
  const line = { contract, transaction: signed.hash }
  metrics.transactions.inc({ outcome })
  sent.delete(row.id)
  if (outcome === 'included') {
    await store.commit([{ delete: 'outbox', id: row.id, version: row.version, erases: true }])
    log.info({ event: 'transaction_included', ...line }, 'transaction included')
  } else if (outcome === 'failed') {
    await recordFailure(context, row, 'the contract refused it', signed.hash)
  } else {
    const { payload, gas, createdAt, exhausted = 0 } = row.value
    const times = outcome === 'exhausted' ? exhausted + 1 : exhausted
    // The engine does not raise gas that the component named.
    if (outcome === 'exhausted' && (gas !== '0' || times === MOST_EXHAUSTED)) {
      await recordFailure(context, row, 'it ran out of its gas', signed.hash)
      return
    }
    const value = { contract, payload, gas, createdAt, exhausted: times }
    await store.commit([{ update: 'outbox', id: row.id, version: row.version, value }])
    log.warn({ event: `transaction_${outcome}`, ...line }, SIGNED_AGAIN[outcome])
  }
}

async function submit({ account, log, now }: OutboxContext, row: SignedRow, sent: Map<string, number>): Promise<void> {
  const { signed, contract } = row.value
  try {
    await account.submit(signed)
    sent.set(row.id, now().getTime())
  } catch (error) {
    if (!isOfItAlone(error)) throw error
    // A node that refuses it now: it is asked again, and what became of it is seen in the blocks.
    sent.set(row.id, now().getTime())
    log.warn(
      { event: 'transaction_refused', contract, transaction: signed.hash, why: error.message },
      'sent again later',
    )
  }
}

/** Tests whether the error is about this transaction alone, so that the chain can be asked about others. */
function isOfItAlone(error: unknown): error is ChainError {
  return error instanceof ChainRefusal || (error instanceof ChainError && error.reverted)
}

/**
 * Signs the transactions without a nonce one after another, stores and sends them. Returns whether another process was
 * first with a row, so that all rows are to be read again.
 */
async function signQueued(
  context: OutboxContext,
  rows: readonly QueuedTransaction[],
  memory: OutboxMemory,
): Promise<boolean> {
  const { account, store, now } = context
  const { refused, sent } = memory
  const queued = rows.filter((row) => !isSigned(row))
  const ids = new Set(queued.map(({ id }) => id))
  for (const id of refused.ids()) if (!ids.has(id)) refused.delete(id)
  if (queued.length === 0) return false
  const used = new Set(rows.filter(isSigned).map(({ value }) => value.signed.nonce))
  let inFlight = used.size
  if (inFlight === 0) memory.hasGaps = false
  let nonce = await account.nextNonce()
  if (!memory.hasGaps) nonce = Math.max(nonce, ...[...used].map((each) => each + 1))
  const ready: SignedRow[] = []
  const later = new Set<Address>()
  for (const row of orderFairly(queued, rows.filter(isSigned))) {
    if (inFlight >= MOST_IN_FLIGHT) break
    if (later.has(row.value.contract)) continue
    while (used.has(nonce)) nonce++
    const isWaiting = refused.isWaiting(row.id, now().getTime())
    const signed = isWaiting ? 'later' : await signOne(context, row, { nonce, hasOthersBefore: inFlight > 0, refused })
    if (signed === 'later') later.add(row.value.contract)
    if (signed === 'later' || signed === 'failed') continue
    ready.push({ ...row, value: { ...row.value, signed } })
    nonce++
    inFlight++
  }
  if (ready.length === 0) return false
  // No node has seen the signed bytes yet. From this commit on no others are signed for these rows.
  const changes = ready.map(({ id, version, value }) => ({ update: 'outbox', id, version, value }) as const)
  if ((await store.commit(changes)) !== undefined) return true
  for (const row of ready) await submit(context, { ...row, version: row.version + 1 }, sent)
  return false
}

interface Signing {
  readonly nonce: number
  readonly hasOthersBefore: boolean
  readonly refused: RetryList
}

async function signOne(
  context: OutboxContext,
  row: QueuedTransaction,
  { nonce, hasOthersBefore, refused }: Signing,
): Promise<SignedTransaction | 'later' | 'failed'> {
  const { contract, payload, gas } = row.value
  try {
    const signed = await context.account.sign(contract, Buffer.from(payload, 'base64'), BigInt(gas), nonce)
    refused.delete(row.id)
    return signed
  } catch (error) {
    if (!isOfItAlone(error)) throw error
    if (!error.reverted) return askLater(context, row, refused, error.message)
    refused.delete(row.id)
    // The transaction may depend on those on their way.
    if (hasOthersBefore) return 'later'
    context.metrics.transactions.inc({ outcome: 'failed' })
    await recordFailure(context, row, error.message)
    return 'failed'
  }
}

/** Has a transaction asked about again later, while the other contracts go on, and logs the first time why. */
function askLater(
  { now, log }: OutboxContext,
  { id, value }: QueuedTransaction,
  refused: RetryList,
  why: string,
): 'later' {
  const line = { event: 'transaction_waits', contract: value.contract, why }
  // Said once, and not with every attempt.
  if (refused.addFailure(id, now().getTime()))
    log.warn(line, 'the chain does not say what it would take; it is asked again')
  return 'later'
}

async function recordFailure(
  { store, log, now }: OutboxContext,
  { id, version, value: { contract } }: QueuedTransaction,
  why: string,
  hash?: string,
): Promise<void> {
  const at = now().getTime()
  const value = { contract, why, at, ...(hash === undefined ? {} : { hash }) }
  await store.commit([
    { delete: 'outbox', id, version, erases: true },
    { insert: 'failed_transaction', id, value, dueAt: new Date(at + FAILURE_KEPT_MS) },
  ])
  log.error({ event: 'transaction_failed', contract, transaction: hash, why }, 'failed, not sent again')
}
