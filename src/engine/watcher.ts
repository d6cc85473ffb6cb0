/**
 * Which contracts are served: looked up on the chain, again and again. What a contract says is read when it may have changed,
 * and everything is when the chain took back the block that was looked at last. Each look succeeds as a whole, or changes
 * nothing: requests are answered at one block.
 */
import type { Logger } from 'pino'
import { type Block, type Chain, ChainError, type OffChainContract } from '../chain/chain.ts'
import type { Address } from '../offchain/address.ts'
import type { EngineConfig } from './config.ts'
import type { Entry } from './contract-entry.ts'
import { lane } from './lane.ts'
import type { Metrics } from './metrics.ts'

export interface Watcher {
  /** One look. Never rejects because the chain cannot be asked. */
  readonly look: () => Promise<void>
  /** The block that requests are answered at; undefined until the first look. */
  block(): Block | undefined
  /** Seconds since the last look that succeeded; since the start, when none has. */
  unseenSeconds(): number
  get(contract: Address): Entry | undefined
  entries(): Iterable<Entry>
}

export interface WatcherContext {
  readonly chain: Chain
  readonly engine: Address
  readonly config: EngineConfig
  readonly now: () => Date
  readonly log: Logger
  readonly metrics: Metrics
}

/** What one look found. */
interface Found {
  readonly head: Block
  /** By address: what a contract says, or that it has no component. Those that did not change are not there. */
  readonly read: ReadonlyMap<Address, OffChainContract | undefined>
  readonly candidates: ReadonlySet<Address>
}

const READ_AT_ONCE = 16

export function createWatcher(context: WatcherContext): Watcher {
  const { chain, now, log, metrics } = context
  const entries = new Map<Address, Entry>()
  let last: Block | undefined
  let seenAt = now().getTime()
  let isBlind = false
  const look = async (): Promise<void> => {
    const head = await chain.head()
    if (last !== undefined && head.hash === last.hash) return
    const isTakenBack = last !== undefined && !(await chain.has(last))
    // A node that is behind the one that was asked before.
    if (last !== undefined && !isTakenBack && head.number <= last.number) return
    if (isTakenBack) {
      metrics.reorganisations.inc()
      log.warn({ event: 'reorganised', block: last?.number }, 'the chain took back a block; everything is read again')
    }
    const found = await findChanges(context, head, isTakenBack ? undefined : last, entries)
    apply(context, entries, found)
    last = head
  }
  return {
    look: async () => {
      try {
        await look()
        seenAt = now().getTime()
        metrics.looks.inc({ outcome: 'seen' })
        if (isBlind) log.info({ event: 'chain_seen', block: last?.number }, 'the chain can be seen again')
        isBlind = false
      } catch (error) {
        metrics.looks.inc({ outcome: 'failed' })
        const why = error instanceof ChainError ? error.message : String(error)
        if (!isBlind) log.warn({ event: 'chain_not_seen', why }, 'the chain cannot be asked')
        isBlind = true
      }
    },
    block: () => last,
    unseenSeconds: () => (now().getTime() - seenAt) / 1000,
    get: (contract) => entries.get(contract),
    entries: () => entries.values(),
  }
}

/** `from` undefined: everything is read. */
async function findChanges(
  { chain, config }: WatcherContext,
  head: Block,
  from: Block | undefined,
  entries: ReadonlyMap<Address, Entry>,
): Promise<Found> {
  const { contractFilter: filter } = config
  const listed = filter !== 'all' && 'addresses' in filter ? filter.addresses : ((await chain.contracts?.(head)) ?? [])
  const candidates = new Set(listed)
  const known = [...candidates].filter((address) => entries.has(address))
  const changed = from === undefined ? known : await chain.changed(known, from, head)
  // Those that had nothing to say are asked at every block: to come into being need not be an event.
  const fresh = [...candidates].filter((address) => !entries.has(address))
  const asked = [...new Set([...changed, ...fresh])]
  const read = new Map<Address, OffChainContract | undefined>()
  for (let at = 0; at < asked.length; at += READ_AT_ONCE) {
    const some = asked.slice(at, at + READ_AT_ONCE)
    const said = await Promise.all(some.map((address) => chain.contract(address, head)))
    for (const [index, address] of some.entries()) read.set(address, said[index])
  }
  return { head, read, candidates }
}

function apply(context: WatcherContext, entries: Map<Address, Entry>, { read, candidates }: Found): void {
  const { log } = context
  for (const address of [...entries.keys()]) {
    const isGone = read.has(address) && read.get(address) === undefined
    if (candidates.has(address) && !isGone) continue
    entries.delete(address)
    log.info({ event: 'contract_stopped', contract: address }, 'no longer served')
  }
  for (const [address, said] of read) {
    if (said === undefined) continue
    const contract = withOverride(said, context.config)
    const before = entries.get(address)
    if (before === undefined) entries.set(address, newEntry(context, contract))
    else update(context, before, contract)
  }
}

/** The operator says which component it is where the contract does not. */
function withOverride(said: OffChainContract, { components }: EngineConfig): OffChainContract {
  const sha256 = components.get(said.address)
  return said.component !== undefined || sha256 === undefined ? said : { ...said, component: { sha256, uri: '' } }
}

function newEntry({ config: { limits }, engine, log, now }: WatcherContext, contract: OffChainContract): Entry {
  const entry: Entry = {
    address: contract.address,
    contract,
    isOurs: listsEngine(contract, engine),
    state: { kind: 'starting' },
    hook: { pending: true, running: false, attempts: 0, dead: false, notBefore: 0 },
    lane: lane(limits, now),
    retry: { at: 0, attempts: 0 },
  }
  log.info({ event: 'contract_found', contract: contract.address, ours: entry.isOurs }, 'a contract of the filter')
  return entry
}

function update({ engine, log }: WatcherContext, entry: Entry, contract: OffChainContract): void {
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
    log.info({ event: 'component_changed', contract: contract.address, component: after?.sha256 }, 'another component')
  }
  Object.assign(entry.hook, { pending: true, attempts: 0, dead: false, notBefore: 0 })
}

function listsEngine({ engines }: OffChainContract, engine: Address): boolean | undefined {
  return engines?.some(({ address }) => address === engine)
}
