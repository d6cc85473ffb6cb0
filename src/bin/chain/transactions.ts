/** Sends transactions for commands, and waits until they are included. */
import { askDespiteOutages, type Clock } from '../../../sdk/client/outage.ts'
import { ChainError, isOutage, isOutOfReach, isRefused, type SignedTransaction } from '../../chain/chain.ts'
import type { EvmAccount } from '../../chain/evm/account.ts'
import { createdAddress } from '../../chain/evm/created-address.ts'
import type { Receipt } from '../../chain/evm/node.ts'
import { type Address, evmAddress } from '../../offchain/address.ts'
import { now, sleep } from '../effects.ts'
import type { Connection } from './connection.ts'

const MAX_MS = 120_000
const POLL_MS = 500

export interface SentTransaction {
  readonly transaction: string
  readonly block: number
  readonly created: Address | undefined
}

const SYSTEM_CLOCK: Clock = { now, wait: sleep }

/**
 * Sends a transaction; with `to` undefined it creates a contract. Rejects with a message for the user if it fails, or
 * is not included within two minutes. Once the transaction is signed, each message names it: it may be included later.
 */
export async function transact(
  { node, chain, readAccountKey, limits }: Connection,
  to: Address | undefined,
  payload: Uint8Array,
  clock = SYSTEM_CLOCK,
): Promise<SentTransaction> {
  const account = chain.createAccount(readAccountKey(), limits)
  const transaction = await signTransaction(account, to, payload)
  const { hash, nonce } = transaction
  const created = to === undefined ? evmAddress(createdAddress(account.address, nonce)) : undefined
  const name = `The transaction ${hash}${created === undefined ? '' : `, which creates the contract ${created},`}`
  await submitTransaction(account, transaction, { name, clock })
  const receipt = await waitForReceipt(node, hash, { name, clock })
  if (!receipt.succeeded)
    throw new Error(`${name} from ${evmAddress(account.address)} failed in block ${receipt.block}.`)
  return { transaction: hash, block: receipt.block, created: receipt.created }
}

/**
 * Signs a transaction. Rejects with a message for the user if the contract would revert, usually because the sender is
 * not allowed.
 */
async function signTransaction(
  account: EvmAccount,
  to: Address | undefined,
  payload: Uint8Array,
): Promise<SignedTransaction> {
  try {
    return await account.sign(to, payload, 0n, await account.fetchNextNonce())
  } catch (error) {
    if (!isRefused(error)) throw error
    const from = evmAddress(account.address)
    const message = `${error.message}. Nothing was sent, from ${from}; another account is named by --key FILE`
    throw new Error(message, { cause: error })
  }
}

interface Sending {
  /** The name of the transaction at the beginning of a message. */
  readonly name: string
  readonly clock: Clock
}

/** Submits a transaction, and the same bytes again while the node cannot be reached, which may have taken them. */
async function submitTransaction(
  account: EvmAccount,
  transaction: SignedTransaction,
  { name, clock }: Sending,
): Promise<void> {
  const end = clock.now().getTime() + MAX_MS
  try {
    await askDespiteOutages(clock, end, () => account.submit(transaction), isOutOfReach)
  } catch (error) {
    if (!(error instanceof ChainError)) throw error
    const outcome = isOutOfReach(error) ? 'may have been sent: look for it before you send another' : 'was not taken'
    throw new Error(`${name} ${outcome}: ${error.message}`, { cause: error })
  }
}

async function waitForReceipt(node: Connection['node'], hash: string, { name, clock }: Sending): Promise<Receipt> {
  const end = clock.now().getTime() + MAX_MS
  try {
    for (;;) {
      const receipt = await askDespiteOutages(clock, end, () => node.fetchReceipt(hash))
      if (receipt !== undefined) return receipt
      if (clock.now().getTime() >= end) break
      await clock.wait(POLL_MS)
    }
  } catch (error) {
    if (!isOutage(error)) throw error
    throw new Error(`${name} was sent, and nobody says what became of it: ${error.message}`, { cause: error })
  }
  throw new Error(`${name} was sent, and is in no block yet.`)
}
