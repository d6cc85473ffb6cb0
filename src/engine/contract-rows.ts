/**
 * The fence of a contract: a row whose version goes up with everything that a call changes. A call that saw one version may
 * commit only while it stands. Kept in memory, so that a call which changes nothing asks the database for what it reads alone.
 */
import type { Address } from '../offchain/address.ts'
import type { EngineCollections, EngineStore } from './collections.ts'

export interface ContractRow {
  /** Undefined: there is no row yet. */
  readonly version: number | undefined
  /** Of all values of the contract, with their keys. */
  readonly storageBytes: number
  /** Transactions in the last day of UTC in which there was one. Stored, so that a restart begins no other day. */
  readonly asked?: EngineCollections['component_state']['asked'] | undefined
  /** The block that its last change was computed at. */
  readonly block?: EngineCollections['component_state']['block'] | undefined
}

export interface ContractRows {
  get(contract: Address): Promise<ContractRow>
  /** Whether it is still the one, as far as this process knows; on disk, while it is `moving`. */
  isCurrent(contract: Address, fence: ContractRow): Promise<boolean>
  /** `commit` may move it, on disk before anybody here knows. One at a time of each contract. */
  whileCommitting<T>(contract: Address, commit: () => Promise<T>): Promise<T>
  set(contract: Address, fence: ContractRow): void
  /** Somebody else has moved it, or may have. */
  forget(contract: Address): void
  all(): readonly (readonly [Address, ContractRow])[]
}

export function cacheContractRows(store: EngineStore): ContractRows {
  const known = new Map<Address, ContractRow>()
  const moving = new Set<Address>()
  return {
    get: async (contract) => {
      const cached = known.get(contract)
      if (cached !== undefined) return cached
      const row = await store.get('component_state', contract)
      const read: ContractRow = { storageBytes: 0, ...row?.value, version: row?.version }
      // What was set while this was read is newer.
      const current = known.get(contract) ?? read
      known.set(contract, current)
      return current
    },
    isCurrent: async (contract, fence) => {
      if (!known.has(contract) || known.get(contract)?.version !== fence.version) return false
      return !moving.has(contract) || (await store.get('component_state', contract))?.version === fence.version
    },
    whileCommitting: async (contract, commit) => {
      moving.add(contract)
      try {
        return await commit()
      } finally {
        moving.delete(contract)
      }
    },
    set: (contract, fence) => known.set(contract, fence),
    forget: (contract) => known.delete(contract),
    all: () => [...known],
  }
}
