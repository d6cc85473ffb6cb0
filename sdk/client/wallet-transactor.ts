/** A sender of transactions to the contract that asks a wallet, which shows its owner what is sent. */
import { type Chain, ChainError } from '../../src/chain/chain.ts'
import { readQuantity, writeData, writeQuantity } from '../../src/chain/evm/values.ts'
import { isObject, memberOf } from '../../src/codec/json.ts'
import { readOrUndefined } from '../../src/codec/malformed.ts'
import { evmAddress, parseAddress } from '../../src/offchain/address.ts'
import { ClientError, printable, refuseByChain } from './errors.ts'
import { type Patience, waitForInclusion } from './inclusion.ts'
import type { Eip1193Provider } from './signers.ts'
import type { Transactor } from './transactor.ts'

/**
 * Makes a transactor for `account`, one of those that the wallet gives by `eth_requestAccounts`. A transaction counts
 * as included when the head of `chain`, which the client reads, has reached it. While the wallet is on another chain,
 * `send` rejects with a {@link ClientError} `other-chain`, and sends nothing.
 */
export function walletTransactor(
  provider: Eip1193Provider,
  account: string,
  chain: Pick<Chain, 'fetchHead' | 'id'>,
  patience: Patience,
): Transactor {
  const address = parseAddress(account)
  return {
    address,
    send: async (to, payload) => {
      await refuseOtherChain(provider, chain.id)
      // A wallet that has changed to another chain since then refuses a call that names this one.
      const chainId = writeQuantity(BigInt(chain.id))
      const call = { chainId, from: evmAddress(address), to: evmAddress(to), data: writeData(payload) }
      const hash = printable(String(await provider.request({ method: 'eth_sendTransaction', params: [call] })))
      await waitForInclusion(patience, hash, async () => {
        const receipt = await provider
          .request({ method: 'eth_getTransactionReceipt', params: [hash] })
          .catch((cause: unknown) => throwUnasked(cause))
        if (!isObject(receipt)) return 'pending'
        if (memberOf(receipt, 'status') !== '0x1') refuseByChain(`the transaction ${hash} was refused by the contract`)
        const { number } = await chain.fetchHead()
        return Number(memberOf(receipt, 'blockNumber')) <= number ? 'included' : 'unconfirmed'
      })
    },
  }
}

/** Rejects with a {@link ClientError} `other-chain` unless the wallet is on the chain of this decimal id. */
async function refuseOtherChain(provider: Eip1193Provider, id: string): Promise<void> {
  const answer = await provider.request({ method: 'eth_chainId' })
  const walletChain = readOrUndefined(() => readQuantity(answer))
  if (walletChain?.toString() === id) return
  const reason =
    walletChain === undefined
      ? `the wallet does not say on which chain it is, and the contract is on chain ${id}`
      : `the wallet is on chain ${walletChain}, and the contract on chain ${id}: let the wallet change to that`
  throw new ClientError('other-chain', `${reason}. Nothing was sent`)
}

/** Throws that the wallet could not ask its node, which says nothing of a transaction that was sent. */
function throwUnasked(cause: unknown): never {
  throw new ChainError('the wallet cannot ask its node', { cause })
}
