/**
 * Which contracts there are on a local chain: those that a transaction made. What contracts make by themselves is not
 * among them.
 */
import { type Address, parseAddress } from '../../offchain/address.ts'
import type { Block } from '../chain.ts'
import { quantity } from '../evm/values.ts'
import type { JsonRpc } from '../json-rpc.ts'

/**
 * Makes a function that lists the contracts up to a block. Each block is read once, since the blocks of a local chain
 * stay as they are.
 */
export function deployedContracts(rpc: JsonRpc): (block: Block) => Promise<readonly Address[]> {
  const contracts: { readonly address: Address; readonly block: number }[] = []
  let next = 0
  return async ({ number }) => {
    for (; next <= number; next++) {
      const block = (await rpc('eth_getBlockByNumber', [quantity(next), false])) as Shown | null
      const created: string[] = []
      for (const hash of block?.transactions ?? []) {
        const receipt = (await rpc('eth_getTransactionReceipt', [hash])) as Receipt | null
        if (typeof receipt?.contractAddress === 'string' && receipt.status === '0x1')
          created.push(receipt.contractAddress)
      }
      contracts.push(...created.map((address) => ({ address: parseAddress(address), block: next })))
    }
    return contracts.filter((each) => each.block <= number).map(({ address }) => address)
  }
}

interface Shown {
  readonly transactions: readonly string[]
}

interface Receipt {
  readonly contractAddress: string | null
  readonly status: string
}
