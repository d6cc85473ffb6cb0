/**
 * Watches the chain for the contracts that are served. A poll reads the contracts that may have changed, and all
 * contracts after a reorganisation. Requests are answered at the block of the last successful poll. A contract that
 * cannot be read does not make the poll fail: it is read again later, and is served as it was last read until then.
 */
import type { Logger } from 'pino'
import { createLru, type Lru } from '../async/cache.ts'
import { type Block, type Chain, ChainError } from '../chain/chain.ts'
import type { Address } from '../offchain/address.ts'
import type { EngineConfig } from './config.ts'
import type { ContractEntry } from './contract-entry.ts'
import { findHeadMove, type HeadMove } from './head-move.ts'
import type { Metrics } from './metrics.ts'
import { type ContractReading, readContractsAt } from './read-contracts.ts'
import { uncheckForks } from './reconcile.ts'
import { createRetryList, type RetryList } from './retry-list.ts'
import { serveContract, sortEntries, stopServing } from './served-contracts.ts'
import { createHeadAge, createStandstillLog, type HeadAge, isStandingStill } from './standstill.ts'

export interface Watcher {
  /** Polls the chain once. A chain that cannot be asked is logged, and does not make this reject. */
  readonly pollChain: () => Promise<void>
  /** Returns the block at which requests are answered; undefined until the first poll. */
  getHead(): Block | undefined
  /**
   * Returns the seconds since the last successful poll, or since the start when there was none. For a contract that
   * cannot be read, returns the seconds since its first failed read if these are more.
   */
  unseenSeconds(contract?: Address): number
  /** Returns the age of the newest block of the chain in seconds. */
  headAgeSeconds(): number
  /**
   * Tests whether the chain stands still, or whether the chain or the contract has not been read for `staleSeconds`.
   */
  isStale(contract?: Address): boolean
  /** Returns the number of contracts that the last poll could not read, or did not reach. */
  countUnread(): number
  /**
   * Tests whether contracts may be missing that were served before the start: some are unread, in the hour after it.
   */
  mayLackContracts(): boolean
  findEntry(contract: Address): ContractEntry | undefined
  /** Returns the contracts, ordered by address. */
  entries(): Iterable<ContractEntry>
}

export interface WatcherContext {
  readonly chain: Chain
  readonly engine: Address
  readonly config: EngineConfig
  readonly now: () => Date
  readonly monotonicMs: () => number
  readonly log: Logger
  readonly metrics: Metrics
}

/** The result of one poll. */
interface PollResult {
  readonly candidates: ReadonlySet<Address>
  /** The contracts that may have changed, which the poll tried to read. */
  readonly toRead: readonly Address[]
  /** The results of the contracts that were read in time. */
  readonly results: ReadonlyMap<Address, ContractReading>
}

interface WatchedContracts {
  readonly entries: Map<Address, ContractEntry>
  /** The contracts that could not be read, or not in time. */
  readonly unreadContracts: RetryList
  readonly headAge: HeadAge
  /** The hashes of the heads of the last polls, by their numbers. */
  readonly heads: Lru<number, string>
  /** The block of the last poll; undefined before the first. */
  lastBlock: Block | undefined
  /** The time of the last successful poll, or of the start when there was none, in monotonic milliseconds. */
  lastPollAt: number
}

/** The longest pause before a contract is read again; a contract that cannot be read for long is not served. */
const MAX_RETRY_PAUSE_MS = 15_000
const MAX_HEADS = 256
/** How long after the start contracts are waited for. Later their owners decide whether they can be read. */
const START_MS = 3_600_000

/** Makes the watcher of an engine. The caller calls `pollChain` every `pollMilliseconds`. */
export function createWatcher(context: WatcherContext): Watcher {
  const { config, now, monotonicMs, log, metrics } = context
  const startTime = monotonicMs()
  const entries = new Map<Address, ContractEntry>()
  const unreadContracts = createRetryList(MAX_RETRY_PAUSE_MS)
  const headAge = createHeadAge(now)
  const logStandstill = createStandstillLog(context, headAge)
  const heads = createLru<number, string>(MAX_HEADS)
  const lastPoll = { lastBlock: undefined, lastPollAt: startTime }
  const contracts: WatchedContracts = { entries, unreadContracts, headAge, heads, ...lastPoll }
  let isChainUnseen = false
  const unseenSeconds = (contract?: Address): number => unseenSecondsOf(contracts, monotonicMs(), contract)
  return {
    pollChain: async () => {
      try {
        await pollChain(context, contracts)
        contracts.lastPollAt = monotonicMs()
        logStandstill()
        metrics.polls.inc({ outcome: 'seen' })
        const block = contracts.lastBlock?.number
        if (isChainUnseen) log.info({ event: 'chain_seen', block }, 'the chain can be seen again')
        isChainUnseen = false
      } catch (error) {
        metrics.polls.inc({ outcome: 'failed' })
        if (!isChainUnseen) log.warn({ event: 'chain_not_seen', ...failureMembers(error) }, 'the chain cannot be asked')
        isChainUnseen = true
      }
    },
    getHead: () => contracts.lastBlock,
    unseenSeconds,
    headAgeSeconds: headAge.getSeconds,
    isStale: (contract) => isStandingStill(config, headAge) || unseenSeconds(contract) > config.staleSeconds,
    countUnread: () => unreadContracts.listIds().length,
    mayLackContracts: () => unreadContracts.listIds().length > 0 && monotonicMs() - startTime < START_MS,
    findEntry: (contract) => entries.get(contract),
    entries: () => entries.values(),
  }
}

function unseenSecondsOf(
  { unreadContracts, lastPollAt }: WatchedContracts,
  time: number,
  contract: Address | undefined,
): number {
  const since = contract === undefined ? undefined : unreadContracts.getFirstFailure(contract)
  return (time - Math.min(lastPollAt, since ?? time)) / 1000
}

/**
 * Polls the chain, and reads the contracts that may have changed. The new head is then the block of the last poll,
 * unless the chain has no newer one.
 */
async function pollChain(context: WatcherContext, contracts: WatchedContracts): Promise<void> {
  const { chain, monotonicMs, log, metrics } = context
  const head = await chain.fetchHead()
  const move = await findHeadMove(chain, contracts.heads, head, contracts.lastBlock)
  contracts.headAge.noteHead(head.newest, move.kind === 'reorganised')
  if (move.kind === 'lagging') return
  if (move.kind === 'none' && contracts.unreadContracts.listDue(monotonicMs()).length === 0) return
  if (move.kind === 'reorganised') {
    metrics.reorganisations.inc()
    uncheckForks(contracts.entries.values())
    log.warn({ event: 'reorganised', block: move.from.number }, 'the chain took back a block; everything is read again')
  }
  applyPoll(context, contracts, await findChanges(context, contracts, head, move))
  contracts.heads.set(head.number, head.hash)
  contracts.lastBlock = head
  // Calls that began during the poll ran at the block that the chain took back. After a pause longer than
  // the node keeps blocks, each contract looks up the block of its own last commit.
  if (move.kind === 'reorganised' || move.kind === 'first') uncheckForks(contracts.entries.values())
}

/** Reads the contracts that may have changed with the move of the head, and those whose next attempt is due. */
async function findChanges(
  context: WatcherContext,
  { entries, unreadContracts }: WatchedContracts,
  head: Block,
  move: HeadMove,
): Promise<PollResult> {
  const { chain, config, monotonicMs } = context
  const dueContracts = unreadContracts.listDue(monotonicMs())
  if (move.kind === 'none') {
    const candidates = new Set([...entries.keys(), ...unreadContracts.listIds()])
    return { candidates, toRead: dueContracts, results: await readContractsAt(context, dueContracts, head) }
  }
  const { contractFilter: filter } = config
  const listedContracts =
    filter !== 'all' && 'addresses' in filter ? filter.addresses : ((await chain.listContracts?.(head)) ?? [])
  const candidates = new Set(listedContracts)
  const servedContracts = [...candidates].filter((address) => entries.has(address))
  const changedContracts =
    move.kind === 'forward' ? await chain.listChanged(servedContracts, move.from, head) : servedContracts
  // Contracts that are not served yet are read at every block, since their creation may leave no log.
  const newContracts = [...candidates].filter((address) => !entries.has(address))
  const isServed = (address: Address): boolean => entries.has(address)
  const due = dueContracts.filter((address) => candidates.has(address))
  const changed = [...changedContracts, ...newContracts].filter((address) => !unreadContracts.has(address))
  const addresses = new Set([...due, ...changed])
  // Strangers may add addresses to a registry, and those that are served must not wait for theirs.
  const toRead = takeInTurns(
    [...addresses].filter(isServed),
    [...addresses].filter((address) => !isServed(address)),
  )
  return { candidates, toRead, results: await readContractsAt(context, toRead, head) }
}

/** Returns the elements of both lists, one of each in turn. */
function takeInTurns<T>(ones: readonly T[], others: readonly T[]): readonly T[] {
  const [long, short] = ones.length > others.length ? [ones, others] : [others, ones]
  return long.flatMap((each, at) => [each, ...short.slice(at, at + 1)])
}

/** Returns the members of a log line about an error: only the message of a ChainError, the whole of any other error. */
function failureMembers(error: unknown) {
  return error instanceof ChainError ? { why: error.message } : { err: error }
}

function applyPoll(
  context: WatcherContext,
  { entries, unreadContracts }: WatchedContracts,
  { candidates, toRead, results }: PollResult,
): void {
  for (const address of unreadContracts.listIds()) if (!candidates.has(address)) unreadContracts.delete(address)
  for (const address of entries.keys()) if (!candidates.has(address)) stopServing(context, entries, address)
  let hasNew = false
  for (const address of toRead) {
    const answer = results.get(address)
    if (answer === undefined) unreadContracts.postpone(address, context.monotonicMs())
    else if ('error' in answer) recordFailure(context, unreadContracts, address, answer.error)
    else {
      unreadContracts.delete(address)
      hasNew ||= answer.contract !== undefined && !entries.has(address)
      if (answer.contract === undefined) stopServing(context, entries, address)
      else serveContract(context, entries, answer.contract)
    }
  }
  if (hasNew) sortEntries(entries)
}

function recordFailure(
  { monotonicMs, log }: WatcherContext,
  unreadContracts: RetryList,
  contract: Address,
  error: unknown,
): void {
  if (!unreadContracts.addFailure(contract, monotonicMs())) return
  log.warn(
    { event: 'contract_not_read', contract, ...failureMembers(error) },
    'the contract cannot be read; it is tried again',
  )
}
