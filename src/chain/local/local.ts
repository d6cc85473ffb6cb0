/**
 * A local chain: an EVM chain in a directory, without a server, for demonstrations, development and tests. It answers
 * the methods of the Ethereum JSON-RPC that wallets and libraries use, so that the adaptor for EVM chains serves it
 * too. It differs from a network in this: each transaction at once becomes a block of its own, gas costs nothing,
 * accounts need no balance, and the state of every block is kept. The time of a block is that of the clock, and not
 * before that of its parent. A call at `latest` sees the time of the newest block, and a call at `pending` that of the
 * clock.
 */
import type { JsonRpc } from '../json-rpc.ts'
import type { BlockFiles } from './files.ts'
import { openLedger } from './ledger.ts'
import { answerMethod } from './methods.ts'

/**
 * Opens the chain of these files, and begins one when there is none. Rejects with a message for the operator when the
 * files are not a chain.
 */
export async function localJsonRpc(files: BlockFiles, now: () => Date): Promise<JsonRpc> {
  const ledger = await openLedger(files, now)
  return (method, params) => answerMethod(ledger, method, params)
}
