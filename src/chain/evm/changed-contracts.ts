/**
 * Finds the contracts that changed on an EVM: those that emitted logs. Several nodes may answer behind one address, and
 * one that lacks the newest blocks answers that they have no logs. Later searches therefore include the blocks of the
 * last minute again, in the same request.
 */
import type { Address } from '../../offchain/address.ts'
import { type Block, ChainError } from '../chain.ts'
import type { EmittedLog, EvmNode } from './node.ts'

/** Finds those of the addresses that may have changed, as {@link Chain.listChanged} does. */
export type ChangeFinder = (addresses: readonly Address[], from: Block, to: Block) => Promise<readonly Address[]>

interface Blocks {
  readonly from: number
  readonly to: number
}

/** A search of logs. `isNews` tells whether the caller does not know yet of the change that a log shows. */
interface Search {
  readonly node: EvmNode
  readonly addresses: readonly Address[]
  readonly isNews: (log: EmittedLog) => boolean
}

interface SearchMemory {
  /**
   * The blocks at which earlier searches began, oldest first: those of the last minute, and at least that of the search
   * before. The last element is the block at which the present search begins.
   */
  readonly heads: Block[]
  /** The blocks at which the caller read the contracts last, as far as their logs tell. */
  readonly readAt: Map<Address, number>
  /** The last search; the caller has read `changed` when the next search begins at `to`. */
  last: { readonly to: Block; readonly changed: readonly Address[] } | undefined
  /** The time of the chain until which only the blocks of one search are searched again. */
  narrowUntil: Date | undefined
}

/** The most blocks in one request for logs; requests are halved where the node refuses so many. */
const LOG_BLOCKS = 1000
const LOG_ADDRESSES = 100
/**
 * The number of blocks above which every contract counts as changed: searching the logs would take longer than running
 * every hook.
 */
const MAX_LOG_BLOCKS = 20_000
/** The time for which a block is searched again, by the times of blocks. */
const SEARCH_AGAIN_MS = 60_000
/** How long only the blocks of one search are searched again after a node refused to search more. */
const NARROW_MS = 600_000

/**
 * Makes a finder for one caller, whose next search begins where the last one ended, unless the caller failed after it
 * or has read every contract since. With `isSingleNode`, no block is searched again.
 */
export function createChangeFinder(node: EvmNode, isSingleNode: boolean): ChangeFinder {
  const memory: SearchMemory = { heads: [], readAt: new Map(), last: undefined, narrowUntil: undefined }
  return async (addresses, from, to) => {
    if (addresses.length === 0 || to.number <= from.number) return []
    if (to.number - from.number > MAX_LOG_BLOCKS) return addresses
    beginSearch(memory, addresses, from)
    const { readAt } = memory
    const isNews = ({ address, block }: EmittedLog): boolean => block > (readAt.get(address) ?? from.number)
    const search = { node, addresses, isNews }
    const emitters = isSingleNode
      ? await findEmitters(search, { from: from.number + 1, to: to.number }, fetchInHalves)
      : await searchAgain(memory, search, from, to)
    const changed = addresses.filter((address) => emitters.has(address))
    memory.last = { to, changed }
    return changed
  }
}

/** Takes into the memory what the caller has read since the last search. */
function beginSearch(memory: SearchMemory, addresses: readonly Address[], from: Block): void {
  const { heads, readAt, last } = memory
  if (last?.to.hash === from.hash) {
    for (const address of last.changed) readAt.set(address, from.number)
    heads.push(from)
  } else if (heads.at(-1)?.hash !== from.hash) {
    // The caller has read every contract at this block, as after its start or a reorganisation.
    heads.splice(0, heads.length, from)
    readAt.clear()
  }
  memory.last = undefined
  const searchedAddresses = new Set(addresses)
  for (const address of readAt.keys()) if (!searchedAddresses.has(address)) readAt.delete(address)
  for (const address of addresses) if (!readAt.has(address)) readAt.set(address, from.number)
}

/** Searches the blocks after `from`, and earlier ones again as far as one request has them. */
async function searchAgain(
  memory: SearchMemory,
  search: Search,
  from: Block,
  to: Block,
): Promise<ReadonlySet<Address>> {
  const { heads, narrowUntil } = memory
  while (heads.length > 2 && to.time.getTime() - (heads[1]?.time.getTime() ?? 0) > SEARCH_AGAIN_MS) heads.shift()
  const blocksAfter = (block: Block | undefined): Blocks => ({
    from: Math.min(from.number, Math.max(block?.number ?? 0, to.number - LOG_BLOCKS)) + 1,
    to: to.number,
  })
  const blocks = blocksAfter(heads[0])
  const narrowBlocks = blocksAfter(heads.at(-2) ?? from)
  if (blocks.from < narrowBlocks.from && !(narrowUntil !== undefined && to.time < narrowUntil)) {
    try {
      return await findEmitters(search, blocks, fetchEmitters)
    } catch (error) {
      if (!isFailed(error)) throw error
      memory.narrowUntil = new Date(to.time.getTime() + NARROW_MS)
    }
  }
  return findEmitters(search, narrowBlocks, fetchInHalves)
}

async function findEmitters(
  search: Search,
  blocks: Blocks,
  fetchAddresses: (search: Search, blocks: Blocks) => Promise<readonly Address[]>,
): Promise<ReadonlySet<Address>> {
  const emitters = new Set<Address>()
  for (let at = 0; at < search.addresses.length; at += LOG_ADDRESSES) {
    const addresses = search.addresses.slice(at, at + LOG_ADDRESSES)
    for (let from = blocks.from; from <= blocks.to; from += LOG_BLOCKS) {
      const to = Math.min(blocks.to, from + LOG_BLOCKS - 1)
      for (const address of await fetchAddresses({ ...search, addresses }, { from, to })) emitters.add(address)
      if (addresses.every((address) => emitters.has(address))) break
    }
  }
  return emitters
}

/** Finds the addresses with logs in the blocks that are news. */
async function fetchEmitters({ node, addresses, isNews }: Search, { from, to }: Blocks): Promise<readonly Address[]> {
  const logs = await node.fetchLogs(addresses, from, to)
  return [...new Set(logs.filter(isNews).map(({ address }) => address))]
}

/**
 * Finds the addresses like {@link fetchEmitters}. When the node refuses so many blocks, or its answer is too large,
 * searches each half of the blocks. When that fails for a single block, returns all of the addresses, so that one
 * contract cannot hide the logs of others.
 */
async function fetchInHalves(search: Search, { from, to }: Blocks): Promise<readonly Address[]> {
  const { addresses } = search
  try {
    return await fetchEmitters(search, { from, to })
  } catch (error) {
    if (!isFailed(error)) throw error
    if (from === to) return addresses
    const middle = Math.floor((from + to) / 2)
    const firstHalf = await fetchInHalves(search, { from, to: middle })
    // When the first half returned all addresses, the second half cannot add any.
    return firstHalf === addresses
      ? addresses
      : [...firstHalf, ...(await fetchInHalves(search, { from: middle + 1, to }))]
  }
}

function isFailed(error: unknown): boolean {
  return error instanceof ChainError && error.kind === 'failed'
}
