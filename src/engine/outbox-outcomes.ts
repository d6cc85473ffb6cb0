/**
 * Sends signed transactions, looks up what became of them, and records those that failed. `outbox.ts` signs them.
 */
import type { Logger } from 'pino'
import type { Account, SignedTransaction, TransactionOutcome } from '../chain/chain.ts'
import { isAboutOneRequest } from '../chain/chain.ts'
import type { CallEffects } from '../component/runtime.ts'
import type { Address } from '../offchain/address.ts'
import type { EngineStore, FailedTransaction } from './collections.ts'
import type { Metrics } from './metrics.ts'
import type { OutboxMemory } from './outbox-memory.ts'
import { recordIncludedNonce } from './outbox-nonces.ts'
import type { OutboxInsert, OutboxRows, QueuedTransaction } from './outbox-rows.ts'

export interface OutboxEffects {
  readonly store: EngineStore
  readonly account: Account
  readonly now: () => Date
  /** Returns the milliseconds since some moment. The patience of the outbox is measured in them. */
  readonly monotonicMs: () => number
  readonly random: (bytes: number) => Uint8Array
  readonly log: Logger
  readonly metrics: Metrics
}

export interface OutboxContext extends OutboxEffects {
  readonly rows: OutboxRows
  /** Makes the rows for transactions to a contract. */
  readonly createRows: (contract: Address, transactions: CallEffects['transactions']) => readonly OutboxInsert[]
}

/** A transaction that has its nonce and its bytes. */
export type SignedRow = QueuedTransaction & { readonly value: { readonly signed: SignedTransaction } }

export const RESEND_AFTER_MS = 30_000
/** The number of transactions in unconfirmed blocks that are looked up at once, since nodes limit requests. */
const UNCONFIRMED_AT_ONCE = 16
/**
 * How long a node must say that a transaction is lost or has expired before the engine believes it: the nodes behind
 * one address may be some blocks apart, and make the receipts of a block later than the block.
 */
const GONE_AFTER_MS = 120_000
const KEEP_FAILURE_MS = 30 * 86_400_000
/**
 * The number of times that a transaction may be signed. The outcomes after which it is signed again are what a node
 * says, which may lie, and each signature may cost the engine the price of a transaction.
 */
const MAX_SIGNATURES = 3

/** Why a transaction is signed again with another nonce. `unreachable`: the account never reached its nonce. */
type ReasonToSignAgain = 'exhausted' | 'lost' | 'unreachable'

const SIGN_AGAIN_TEXTS: Readonly<Record<ReasonToSignAgain, string>> = {
  exhausted: 'the transaction needed more gas than was estimated; it is signed again',
  lost: 'another transaction used the nonce of this transaction; it is signed again',
  unreachable:
    'no transaction has the nonces before the nonce of this transaction; it is signed again with a lower nonce, and a node that kept its former bytes may include these too once the account reaches that nonce',
}

const GIVE_UP_TEXTS: Readonly<Record<ReasonToSignAgain, string>> = {
  exhausted: 'it ran out of its gas',
  lost: 'it was signed three times, and the node says that another transaction used its nonce; it may have been included',
  unreachable: 'it was signed three times, and the account did not reach its nonce',
}

/** Returns the entry of `failed_transaction` for a transaction that was given up at this time. */
export function failedTransactionInsert(id: string, value: FailedTransaction) {
  return { insert: 'failed_transaction', id, value, dueAt: new Date(value.at + KEEP_FAILURE_MS) } as const
}

/** Looks up the outcomes of signed transactions, and sends those again that have been pending for long. */
export async function settleRows(context: OutboxContext, memory: OutboxMemory): Promise<void> {
  const { rows, monotonicMs } = context
  const signedIds = rows
    .list()
    .flatMap(({ id, nonce }) => (nonce === undefined ? [] : [{ id, nonce }]))
    .toSorted((one, other) => one.nonce - other.nonce)
    .map(({ id }) => id)
  const ids = signedIds.filter((id) => !memory.refusedRows.isWaiting(id, monotonicMs()))
  const unconfirmedIds = ids.filter((id) => memory.unconfirmedRows.has(id))
  const otherIds = ids.filter((id) => !memory.unconfirmedRows.has(id))
  const pendingRows = [...(await settleTogether(context, memory, otherIds))]
  // Blocks have the nonces of an account in order, so that no row is confirmed before those with lower nonces.
  for (let at = 0; at < unconfirmedIds.length; at += UNCONFIRMED_AT_ONCE) {
    const nextIds = unconfirmedIds.slice(at, at + UNCONFIRMED_AT_ONCE)
    pendingRows.push(...(await settleTogether(context, memory, nextIds)))
    if (nextIds.some((id) => memory.unconfirmedRows.has(id))) break
  }
  for (const row of pendingRows) {
    const lastSentAt = memory.sentAt.get(row.id)
    if (lastSentAt === undefined || monotonicMs() - lastSentAt > RESEND_AFTER_MS) await submit(context, row, memory)
  }
}

/** Looks up the outcomes at once, so that the store writes them together. Returns the rows that may have to be sent. */
async function settleTogether(
  context: OutboxContext,
  memory: OutboxMemory,
  ids: readonly string[],
): Promise<readonly SignedRow[]> {
  const results = await Promise.allSettled(ids.map((id) => settleRow(context, memory, id)))
  return results.flatMap((result) => {
    if (result.status === 'rejected') throw result.reason
    return result.value ?? []
  })
}

/**
 * Looks up the outcome of one transaction and records it. Returns the row when the transaction may have to be sent. A
 * transaction whose outcome the chain does not say keeps no other waiting, and is looked up again later.
 */
async function settleRow(context: OutboxContext, memory: OutboxMemory, id: string): Promise<SignedRow | undefined> {
  const { rows, log, monotonicMs } = context
  const row = await rows.read(id)
  if (row === undefined || !isSigned(row)) return undefined
  try {
    const pendingRow = await settleSigned(context, memory, row)
    memory.refusedRows.delete(id)
    return pendingRow
  } catch (error) {
    if (!isAboutOneRequest(error)) throw error
    const { contract, signed } = row.value
    const line = { event: 'transaction_unread', contract, transaction: signed.hash, why: error.message }
    // The line is logged once, and not with every attempt.
    if (memory.refusedRows.addFailure(id, monotonicMs()))
      log.warn(line, 'the chain does not say what became of the transaction; it is asked again')
    return undefined
  }
}

async function settleSigned(
  context: OutboxContext,
  memory: OutboxMemory,
  row: SignedRow,
): Promise<SignedRow | undefined> {
  const { id } = row
  const outcome = await context.account.fetchOutcome(row.value.signed)
  if ((outcome === 'lost' || outcome === 'expired') && !isGoneForLong(context, memory, id)) return undefined
  memory.goneSince.delete(id)
  memory.unconfirmedRows.delete(id)
  if (outcome === 'pending') return row
  if (outcome === 'unconfirmed') {
    memory.unconfirmedRows.add(id)
    return undefined
  }
  memory.sentAt.delete(id)
  context.metrics.transactions.inc({ outcome })
  if (outcome === 'expired') return signExpired(context, row)
  if (outcome !== 'lost') recordIncludedNonce(memory, row.value.signed.nonce, context.monotonicMs())
  await recordOutcome(context, row, outcome)
  return undefined
}

function isGoneForLong({ monotonicMs }: OutboxContext, { goneSince }: OutboxMemory, id: string): boolean {
  const since = goneSince.get(id) ?? monotonicMs()
  goneSince.set(id, since)
  return monotonicMs() - since >= GONE_AFTER_MS
}

/** Tests whether a transaction of the outbox has its nonce and its bytes. */
export function isSigned(row: QueuedTransaction): row is SignedRow {
  return row.value.signed !== undefined
}

async function recordOutcome(
  context: OutboxContext,
  row: SignedRow,
  outcome: Exclude<TransactionOutcome, 'pending' | 'unconfirmed' | 'expired'>,
): Promise<void> {
  const { rows, log } = context
  const { signed, contract } = row.value
  if (outcome === 'included') {
    await rows.remove(row)
    log.info({ event: 'transaction_included', contract, transaction: signed.hash }, 'transaction included')
  } else if (outcome === 'failed') {
    await recordFailure(context, row, 'the contract refused it', signed.hash)
  } else {
    await discardSignature(context, row, outcome)
  }
}

/**
 * Signs a transaction again whose time is over. It keeps its nonce, so that the chain can include one of both at most,
 * whatever the node says. Returns the row with the new bytes; undefined when another process changed it.
 */
async function signExpired({ account, rows, log }: OutboxContext, row: SignedRow): Promise<SignedRow | undefined> {
  const { contract, payload, gas, signed: expired } = row.value
  const signed = await account.sign(contract, Buffer.from(payload, 'base64'), BigInt(gas), expired.nonce)
  const signedRow = { ...row, value: { ...row.value, signed } }
  if (!(await rows.update([signedRow]))) return undefined
  log.warn(
    { event: 'transaction_expired', contract, transaction: expired.hash },
    'no block included the transaction in its time; it is signed again with the same nonce',
  )
  return { ...signedRow, version: row.version + 1 }
}

/** Takes the signature from a transaction, so that it is signed again, or gives the transaction up. */
export async function discardSignature(
  context: OutboxContext,
  row: SignedRow,
  reason: ReasonToSignAgain,
): Promise<void> {
  const { signed, ...value } = row.value
  // An empty transaction that did not fill its nonce is not needed any more.
  if (value.contract === context.account.address) {
    await context.rows.remove(row)
    return
  }
  const { exhausted = 0, lost = 0 } = value
  const isLast = exhausted + lost + 1 >= MAX_SIGNATURES
  // The engine does not raise the gas that a component chose.
  if (isLast || (reason === 'exhausted' && value.gas !== '0')) {
    await recordFailure(context, row, GIVE_UP_TEXTS[reason], signed.hash)
    return
  }
  const counted = reason === 'exhausted' ? { exhausted: exhausted + 1 } : { lost: lost + 1 }
  await context.rows.update([{ ...row, value: { ...value, ...counted } }])
  const line = { event: `transaction_${reason}`, contract: value.contract, transaction: signed.hash }
  context.log.warn(line, SIGN_AGAIN_TEXTS[reason])
}

/** Sends a signed transaction. A chain that does not take it now gets it again later. */
export async function submit(
  { account, log, monotonicMs }: OutboxContext,
  row: SignedRow,
  { sentAt }: OutboxMemory,
): Promise<void> {
  const { signed, contract } = row.value
  try {
    await account.submit(signed)
    sentAt.set(row.id, monotonicMs())
  } catch (error) {
    if (!isAboutOneRequest(error)) throw error
    // Another node may have taken the transaction, or this one will later; the outcome is looked up in the blocks.
    sentAt.set(row.id, monotonicMs())
    log.warn(
      { event: 'transaction_refused', contract, transaction: signed.hash, why: error.message },
      'the chain does not take the transaction now; it is sent again later',
    )
  }
}

/** Gives a transaction up: replaces its row by one that says why. */
export async function recordFailure(
  { rows, log, now }: OutboxContext,
  { id, version, value: { contract } }: QueuedTransaction,
  why: string,
  hash?: string,
): Promise<void> {
  const value = { contract, why, at: now().getTime(), ...(hash === undefined ? {} : { hash }) }
  await rows.remove({ id, version }, failedTransactionInsert(id, value))
  log.error({ event: 'transaction_failed', contract, transaction: hash, why }, 'the transaction was given up')
}
