/** Reads contracts from the chain for one poll of the watcher. */
import type { Block, Chain, OffChainContract } from '../chain/chain.ts'
import type { Address } from '../offchain/address.ts'

/** The result of reading a contract: the contract, or undefined when it has no component, or the error. */
export type ContractReading = { readonly contract: OffChainContract | undefined } | { readonly error: unknown }

const READ_AT_ONCE = 16
/** The time after which a poll reads no more contracts; the next poll reads the rest. */
const MAX_READING_MS = 5000

/**
 * Reads contracts at the block `head`, some at once. Stops when the time is up; the contracts that were not reached
 * have no result.
 */
export async function readContractsAt(
  { chain, monotonicMs }: { readonly chain: Chain; readonly monotonicMs: () => number },
  addresses: readonly Address[],
  head: Block,
): Promise<ReadonlyMap<Address, ContractReading>> {
  const results = new Map<Address, ContractReading>()
  const endTime = monotonicMs() + MAX_READING_MS
  for (let at = 0; at < addresses.length && monotonicMs() < endTime; at += READ_AT_ONCE) {
    const batch = addresses.slice(at, at + READ_AT_ONCE)
    const answers = await Promise.all(batch.map((address) => readContract(chain, address, head)))
    for (const [index, address] of batch.entries()) results.set(address, answers[index] as ContractReading)
  }
  return results
}

async function readContract(chain: Chain, address: Address, head: Block): Promise<ContractReading> {
  try {
    return { contract: await chain.fetchContract(address, head) }
  } catch (error) {
    return { error }
  }
}
