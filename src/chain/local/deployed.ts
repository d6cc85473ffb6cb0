/**
 * Lists the contracts of a local chain that transactions created. Contracts that other contracts created are not
 * listed.
 */
import { type Address, parseAddress } from '../../offchain/address.ts'
import type { Block } from '../chain.ts'
import { writeQuantity } from '../evm/values.ts'
import type { JsonRpc } from '../json-rpc.ts'

/**
 * Makes a function that lists the contracts up to a block. Each block is read once, because the blocks of a local chain
 * never change.
 */
export function createContractLister(rpc: JsonRpc): (block: Block) => Promise<readonly Address[]> {
  const contracts: { readonly address: Address; readonly block: number }[] = []
  let next = 0
  return async ({ number }) => {
    for (; next <= number; next++) {
      const block = (await rpc('eth_getBlockByNumber', [writeQuantity(next), false])) as BlockTransactions | null
      const createdAddresses: string[] = []
      for (const hash of block?.transactions ?? []) {
        const receipt = (await rpc('eth_getTransactionReceipt', [hash])) as Receipt | null
        if (typeof receipt?.contractAddress === 'string' && receipt.status === '0x1')
          createdAddresses.push(receipt.contractAddress)
      }
      contracts.push(...createdAddresses.map((address) => ({ address: parseAddress(address), block: next })))
    }
    return contracts.filter((each) => each.block <= number).map(({ address }) => address)
  }
}

interface BlockTransactions {
  readonly transactions: readonly string[]
}

interface Receipt {
  readonly contractAddress: string | null
  readonly status: string
}
