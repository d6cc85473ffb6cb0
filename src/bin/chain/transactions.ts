/** Sends transactions for commands, and waits until they are included. */
import { setTimeout as sleep } from 'node:timers/promises'
import { isRefused, type SignedTransaction } from '../../chain/chain.ts'
import type { EvmAccount } from '../../chain/evm/account.ts'
import type { Receipt } from '../../chain/evm/node.ts'
import { type Address, evmAddress } from '../../offchain/address.ts'
import type { Connection } from './connection.ts'

const MAX_MS = 120_000
const POLL_MS = 500

export interface SentTransaction {
  readonly transaction: string
  readonly block: number
  readonly created: Address | undefined
}

/**
 * Sends a transaction; with `to` undefined it creates a contract. Rejects with a message for the user if it fails, or
 * is not included within two minutes.
 */
export async function transact(
  { node, chain, readAccountKey }: Connection,
  to: Address | undefined,
  payload: Uint8Array,
): Promise<SentTransaction> {
  const account = chain.createAccount(readAccountKey())
  const transaction = await signTransaction(account, to, payload)
  await account.submit(transaction)
  const receipt = await waitForReceipt(node, transaction.hash)
  if (!receipt.succeeded) {
    const from = evmAddress(account.address)
    throw new Error(`The transaction ${transaction.hash} from ${from} failed in block ${receipt.block}.`)
  }
  return { transaction: transaction.hash, block: receipt.block, created: receipt.created }
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

async function waitForReceipt(node: Connection['node'], hash: string): Promise<Receipt> {
  for (let waitedMs = 0; waitedMs < MAX_MS; waitedMs += POLL_MS) {
    const receipt = await node.fetchReceipt(hash)
    if (receipt !== undefined) return receipt
    await sleep(POLL_MS)
  }
  throw new Error(`The transaction ${hash} was sent, and is in no block yet.`)
}
