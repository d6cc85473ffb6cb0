/**
 * A local chain: an EVM chain in a directory, without a server, for demonstrations, development and tests. It answers
 * the part of the Ethereum JSON-RPC that wallets and libraries use, so that the adaptor for EVM chains is the only
 * one. What differs from a network: each transaction is a block of its own at once, gas costs nothing, nobody needs
 * money, and every block is kept with its state. The time of a block is the clock's, and never before its parent's; a
 * call at `latest` sees the time of the newest block, and one at `pending` the clock.
 */
import type { JsonRpc } from '../json-rpc.ts'
import type { BlockFiles } from './files.ts'
import { openLedger } from './ledger.ts'
import { answerMethod } from './methods.ts'

/**
 * Returns the chain of these files, begun where there is none. Rejects, in words for an operator, when they are no
 * chain.
 */
export async function localJsonRpc(files: BlockFiles, now: () => Date): Promise<JsonRpc> {
  const ledger = await openLedger(files, now)
  return (method, params) => answerMethod(ledger, method, params)
}
