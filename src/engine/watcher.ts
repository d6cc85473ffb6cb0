/**
 * Watches the chain for the contracts that are served. A contract is read when it may have changed, and all are when
 * the chain took back the block that was looked at last. Requests are answered at one block: a look that fails changes
 * nothing. A contract that cannot be read is no such failure: the watcher reads it again by itself, and until then the
 * contract is served as it was read last.
 */
import type { Logger } from 'pino'
import { createLru, type Lru } from '../async/lru.ts'
import { type Block, type Chain, ChainError, type OffChainContract } from '../chain/chain.ts'
import type { Address } from '../offchain/address.ts'
import { createCallQueue } from './call-queue.ts'
import type { EngineConfig } from './config.ts'
import type { ContractEntry } from './contract-entry.ts'
import { type HeadAge, headAge } from './head-age.ts'
import type { Metrics } from './metrics.ts'
import { uncheckForks } from './reconcile.ts'
import { createRetryList, type RetryList } from './retry-list.ts'

export interface Watcher {
  /** Looks at the chain once. Never rejects because the chain cannot be asked. */
  readonly look: () => Promise<void>
  /** Returns the block that requests are answered at; undefined until the first look. */
  block(): Block | undefined
  /**
   * Seconds since the last successful look, or since the last that could read `contract`; since the start when none
   * has.
   */
  unseenSeconds(contract?: Address): number
  /** Seconds for which the chain has had no newer block. */
  headAgeSeconds(): number
  /**
   * Tests whether the engine has seen nothing new of the chain, or of the contract, for longer than the operator
   * allows.
   */
  isStale(contract?: Address): boolean
  /** Returns how many contracts the last look could not read, or did not reach. */
  unread(): number
  get(contract: Address): ContractEntry | undefined
  entries(): Iterable<ContractEntry>
}

export interface WatcherContext {
  readonly chain: Chain
  readonly engine: Address
  readonly config: EngineConfig
  readonly now: () => Date
  readonly log: Logger
  readonly metrics: Metrics
}

/** A contract that was read, undefined when it has no component; or the reason why it cannot be read. */
type ReadContract = { readonly contract: OffChainContract | undefined } | { readonly why: string }

/** The result of one look. */
interface LookResult {
  readonly candidates: ReadonlySet<Address>
  /** The contracts that were to be read. The others did not change. */
  readonly toRead: readonly Address[]
  /** The contracts that were read before the time for reading was over. */
  readonly results: ReadonlyMap<Address, ReadContract>
}

interface WatchedContracts {
  readonly entries: Map<Address, ContractEntry>
  /** Contracts that could not be read, or were not reached. */
  readonly unread: RetryList
  readonly age: HeadAge
  /** Hashes of the blocks that were looked at last, by their numbers. */
  readonly heads: Lru<number, string>
}

const READ_AT_ONCE = 16
/**
 * The longest pause before a contract is read again: an engine that cannot read a contract for long does not serve it.
 */
const UNREAD_MS = 15_000
/** The time after which a look reads no more contracts, and leaves them to the next look. */
const READING_MS = 5000
const HEADS_KNOWN = 256
const STANDS_STILL =
  'the chain has no new block: ask its node why, compare the clocks, or set chain.blocksOnDemand if it makes blocks for transactions alone'

export function createWatcher(context: WatcherContext): Watcher {
  const { config, now, log, metrics } = context
  const entries = new Map<Address, ContractEntry>()
  const unread = createRetryList(UNREAD_MS)
  const age = headAge(now)
  const standstill = createStandstillLog(context, age)
  const watched: WatchedContracts = { entries, unread, age, heads: createLru(HEADS_KNOWN) }
  let last: Block | undefined
  let seenAt = now().getTime()
  let isBlind = false
  const unseenSeconds = (contract?: Address): number => {
    const time = now().getTime()
    const since = contract === undefined ? undefined : unread.since(contract)
    return (time - Math.min(seenAt, since ?? time)) / 1000
  }
  return {
    look: async () => {
      try {
        last = await look(context, watched, last)
        seenAt = now().getTime()
        standstill()
        metrics.looks.inc({ outcome: 'seen' })
        if (isBlind) log.info({ event: 'chain_seen', block: last.number }, 'the chain can be seen again')
        isBlind = false
      } catch (error) {
        metrics.looks.inc({ outcome: 'failed' })
        if (!isBlind) log.warn({ event: 'chain_not_seen', why: whyOf(error) }, 'the chain cannot be asked')
        isBlind = true
      }
    },
    block: () => last,
    unseenSeconds,
    headAgeSeconds: age.seconds,
    isStale: (contract) => standsStill(config, age) || unseenSeconds(contract) > config.staleSeconds,
    unread: () => unread.ids().length,
    get: (contract) => entries.get(contract),
    entries: () => entries.values(),
  }
}

function standsStill({ chain, staleSeconds }: EngineConfig, age: HeadAge): boolean {
  return !chain.blocksOnDemand && age.seconds() > staleSeconds
}

/**
 * Makes a function to be called after each look, which logs once that the chain stands still, and once that it moves
 * again.
 */
function createStandstillLog({ config, log }: WatcherContext, age: HeadAge): () => void {
  let wasStill = false
  return () => {
    const isStill = standsStill(config, age)
    if (isStill === wasStill) return
    wasStill = isStill
    if (isStill) log.warn({ event: 'chain_stands_still', seconds: age.seconds() }, STANDS_STILL)
    else log.info({ event: 'chain_moves' }, 'the chain has new blocks again')
  }
}

/**
 * Looks at the chain and reads what changed. Returns the block that was looked at: `last`, when there is nothing new.
 */
async function look(context: WatcherContext, watched: WatchedContracts, last: Block | undefined): Promise<Block> {
  const { chain, now, log, metrics } = context
  const head = await chain.head()
  const isSame = head.hash === last?.hash
  // A node that is behind has not taken anything back, though it lacks the newest blocks.
  const isBehind = last !== undefined && head.number < last.number && watched.heads.get(head.number) === head.hash
  const isTakenBack = !isSame && !isBehind && last !== undefined && !(await chain.has(last))
  watched.age.see(head.newest, isTakenBack)
  if (isSame && watched.unread.due(now().getTime()).length === 0) return last
  // A node that is behind the one that was asked before.
  if (last !== undefined && !isTakenBack && head.hash !== last.hash && head.number <= last.number) return last
  if (isTakenBack) {
    metrics.reorganisations.inc()
    uncheckForks(watched.entries.values())
    log.warn({ event: 'reorganised', block: last.number }, 'the chain took back a block; everything is read again')
  }
  apply(context, watched, await findChanges(context, watched, head, isTakenBack ? undefined : last))
  watched.heads.set(head.number, head.hash)
  return head
}

/** Reads the contracts that changed after `from`, or all when `from` is undefined. */
async function findChanges(
  context: WatcherContext,
  { entries, unread }: WatchedContracts,
  head: Block,
  from: Block | undefined,
): Promise<LookResult> {
  const { chain, config, now } = context
  const due = unread.due(now().getTime())
  if (head.hash === from?.hash) {
    const candidates = new Set([...entries.keys(), ...unread.ids()])
    return { candidates, toRead: due, results: await readContracts(context, due, head) }
  }
  const { contractFilter: filter } = config
  const listed = filter !== 'all' && 'addresses' in filter ? filter.addresses : ((await chain.contracts?.(head)) ?? [])
  const candidates = new Set(listed)
  const served = [...candidates].filter((address) => entries.has(address))
  const changed = from === undefined ? served : await chain.changed(served, from, head)
  // Contracts without a component are read at every block: their creation need not be an event.
  const fresh = [...candidates].filter((address) => !entries.has(address))
  const toRead = [
    ...due.filter((address) => candidates.has(address)),
    ...new Set([...changed, ...fresh].filter((address) => !unread.has(address))),
  ]
  return { candidates, toRead, results: await readContracts(context, toRead, head) }
}

async function readContracts(
  { chain, now }: WatcherContext,
  addresses: readonly Address[],
  head: Block,
): Promise<ReadonlyMap<Address, ReadContract>> {
  const results = new Map<Address, ReadContract>()
  const until = now().getTime() + READING_MS
  for (let at = 0; at < addresses.length && now().getTime() < until; at += READ_AT_ONCE) {
    const some = addresses.slice(at, at + READ_AT_ONCE)
    const answers = await Promise.all(some.map((address) => read(chain, address, head)))
    for (const [index, address] of some.entries()) results.set(address, answers[index] as ReadContract)
  }
  return results
}

async function read(chain: Chain, address: Address, head: Block): Promise<ReadContract> {
  try {
    return { contract: await chain.contract(address, head) }
  } catch (error) {
    return { why: whyOf(error) }
  }
}

function whyOf(error: unknown): string {
  return error instanceof ChainError ? error.message : String(error)
}

function apply(context: WatcherContext, watched: WatchedContracts, lookResult: LookResult): void {
  const { entries, unread } = watched
  const { candidates, toRead, results } = lookResult
  for (const address of unread.ids()) if (!candidates.has(address)) unread.delete(address)
  for (const address of entries.keys()) if (!candidates.has(address)) stop(context, entries, address)
  for (const address of toRead) {
    const answer = results.get(address)
    if (answer === undefined) unread.postpone(address, context.now().getTime())
    else if ('why' in answer) recordFailure(context, unread, address, answer.why)
    else {
      unread.delete(address)
      if (answer.contract === undefined) stop(context, entries, address)
      else serve(context, entries, answer.contract)
    }
  }
}

function recordFailure({ now, log }: WatcherContext, unread: RetryList, contract: Address, why: string): void {
  if (!unread.addFailure(contract, now().getTime())) return
  log.warn({ event: 'contract_not_read', contract, why }, 'the contract cannot be read; it is tried again')
}

function stop({ log }: WatcherContext, entries: Map<Address, ContractEntry>, contract: Address): void {
  if (entries.delete(contract)) log.info({ event: 'contract_stopped', contract }, 'no longer served')
}

function serve(context: WatcherContext, entries: Map<Address, ContractEntry>, read: OffChainContract): void {
  const contract = addOverride(read, context.config)
  const before = entries.get(contract.address)
  if (before === undefined) entries.set(contract.address, newEntry(context, contract))
  else update(context, before, contract)
}

/** Adds the component that the operator configured to a contract that names none. */
function addOverride(contract: OffChainContract, { components }: EngineConfig): OffChainContract {
  const sha256 = components.get(contract.address)
  return contract.component !== undefined || sha256 === undefined
    ? contract
    : { ...contract, component: { sha256, uri: '' } }
}

function newEntry({ config: { limits }, engine, log }: WatcherContext, contract: OffChainContract): ContractEntry {
  const entry: ContractEntry = {
    address: contract.address,
    contract,
    isOurs: listsEngine(contract, engine),
    state: { kind: 'starting' },
    hook: { pending: true, running: false, attempts: 0, dead: false, notBefore: 0, problem: undefined },
    fork: { number: 0, standing: 'unchecked' },
    queue: createCallQueue(limits),
    retry: { at: 0, attempts: 0 },
  }
  log.info({ event: 'contract_found', contract: contract.address, ours: entry.isOurs }, 'the filter admits a contract')
  return entry
}

function update({ engine, log }: WatcherContext, entry: ContractEntry, contract: OffChainContract): void {
  const { component: before } = entry.contract
  const { component: after } = contract
  entry.contract = contract
  const isOurs = listsEngine(contract, engine)
  if (isOurs !== entry.isOurs && isOurs !== undefined) {
    log.info({ event: isOurs ? 'contract_joined' : 'contract_left', contract: contract.address }, 'its engines changed')
  }
  // Where its component says who its engines are, it is asked again.
  if (isOurs !== undefined || entry.isOurs === false) entry.isOurs = isOurs
  if (before?.sha256 !== after?.sha256 || before?.uri !== after?.uri) {
    entry.state = { kind: 'starting' }
    entry.retry = { at: 0, attempts: 0 }
    log.info(
      { event: 'component_changed', contract: contract.address, component: after?.sha256 },
      'the contract names another component',
    )
  }
  Object.assign(entry.hook, { pending: true, attempts: 0, dead: false, notBefore: 0 })
}

function listsEngine({ engines }: OffChainContract, engine: Address): boolean | undefined {
  return engines?.some(({ address }) => address === engine)
}
