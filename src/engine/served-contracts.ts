/** Keeps the entries of the contracts that the operator's filter admits, as the watcher reads them from the chain. */
import type { Logger } from 'pino'
import type { OffChainContract } from '../chain/chain.ts'
import type { Address } from '../offchain/address.ts'
import { createCallQueue } from './call-queue.ts'
import type { EngineConfig } from './config.ts'
import { type ContractEntry, createHookState, requestHookRun } from './contract-entry.ts'

interface ServingContext {
  readonly engine: Address
  readonly config: EngineConfig
  readonly log: Logger
}

/** Deletes the entry of a contract. Does nothing when the contract has none. */
export function stopServing({ log }: ServingContext, entries: Map<Address, ContractEntry>, contract: Address): void {
  if (entries.delete(contract)) log.info({ event: 'contract_stopped', contract }, 'the contract is no longer served')
}

/** Makes the entry of a contract, or updates it to what the chain says now. */
export function serveContract(
  context: ServingContext,
  entries: Map<Address, ContractEntry>,
  contractOnChain: OffChainContract,
): void {
  const contract = addOverride(contractOnChain, context.config)
  const before = entries.get(contract.address)
  if (before === undefined) entries.set(contract.address, createEntry(context, contract))
  else updateEntry(context, before, contract)
}

/** Adds the component that the operator configured to a contract that names none. */
function addOverride(contract: OffChainContract, { components }: EngineConfig): OffChainContract {
  const sha256 = components.get(contract.address)
  return contract.component !== undefined || sha256 === undefined
    ? contract
    : { ...contract, component: { sha256, uri: '' } }
}

function createEntry({ config: { limits }, engine, log }: ServingContext, contract: OffChainContract): ContractEntry {
  const entry: ContractEntry = {
    address: contract.address,
    contract,
    listsThisEngine: listsEngine(contract, engine),
    state: { kind: 'starting' },
    stateChange: createHookState(),
    fork: { number: 0, standing: 'unchecked' },
    queue: createCallQueue(limits),
    retry: { at: 0, attempts: 0 },
  }
  log.info(
    { event: 'contract_found', contract: contract.address, ours: entry.listsThisEngine },
    'the filter admits a contract',
  )
  return entry
}

function updateEntry({ engine, log }: ServingContext, entry: ContractEntry, contract: OffChainContract): void {
  const { component: before } = entry.contract
  const { component: after } = contract
  entry.contract = contract
  const listsThisEngine = listsEngine(contract, engine)
  if (listsThisEngine !== entry.listsThisEngine && listsThisEngine !== undefined) {
    log.info(
      { event: listsThisEngine ? 'contract_joined' : 'contract_left', contract: contract.address },
      'the engines of the contract changed',
    )
  }
  // When only the component can list the engines, this engine stays listed until the component is asked again.
  if (listsThisEngine !== undefined || entry.listsThisEngine === false) entry.listsThisEngine = listsThisEngine
  if (before?.sha256 !== after?.sha256 || before?.uri !== after?.uri) {
    entry.state = { kind: 'starting' }
    entry.retry = { at: 0, attempts: 0 }
    log.info(
      { event: 'component_changed', contract: contract.address, component: after?.sha256 },
      'the contract names another component',
    )
  }
  requestHookRun(entry)
}

function listsEngine({ engines }: OffChainContract, engine: Address): boolean | undefined {
  return engines?.some(({ address }) => address === engine)
}

/** Puts the entries in the order of their addresses, in which they are listed. */
export function sortEntries(entries: Map<Address, ContractEntry>): void {
  const sortedEntries = [...entries].sort(([one], [other]) => (one < other ? -1 : 1))
  entries.clear()
  for (const [address, entry] of sortedEntries) entries.set(address, entry)
}
