/** Transactions of commands: sent, and waited for. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Receipt } from '../../chain/evm/node.ts'
import type { Address } from '../../offchain/address.ts'
import type { Connection } from './connection.ts'

const LONGEST_MS = 120_000
const POLL_MS = 500

export interface Done {
  readonly transaction: string
  readonly block: number
  readonly created: Address | undefined
}

/** Without a contract to send it to, it creates one. Rejects, in words, when it fails or is not included for two minutes. */
export async function transact(
  { node, chain, key }: Connection,
  to: Address | undefined,
  payload: Uint8Array,
): Promise<Done> {
  const account = chain.account(key())
  const transaction = await account.sign(to, payload, 0n, await account.nextNonce())
  await account.submit(transaction)
  const receipt = await receiptOf(node, transaction.hash)
  if (!receipt.succeeded) throw new Error(`The transaction ${transaction.hash} failed in block ${receipt.block}.`)
  return { transaction: transaction.hash, block: receipt.block, created: receipt.created }
}

async function receiptOf(node: Connection['node'], hash: string): Promise<Receipt> {
  for (let waited = 0; waited < LONGEST_MS; waited += POLL_MS) {
    const receipt = await node.receipt(hash)
    if (receipt !== undefined) return receipt
    await sleep(POLL_MS)
  }
  throw new Error(`The transaction ${hash} was sent, and is in no block yet.`)
}
