/**
 * The row of a contract, whose version goes up with every commit of a call (optimistic locking): a call that saw one
 * version may commit only while that is the version. The rows are cached, so that a call that changes nothing reads
 * nothing but its own values.
 */
import type { Address } from '../offchain/address.ts'
import type { EngineCollections, EngineStore } from './collections.ts'

export interface ContractRow {
  /** Undefined: there is no row yet. */
  readonly version: number | undefined
  /** Bytes of all stored values of the contract, with their keys. */
  readonly storageBytes: number
  /**
   * The number of transactions in the last day of UTC in which there was one. The row is stored, so that a restart
   * begins no other day.
   */
  readonly counted?: EngineCollections['component_state']['asked'] | undefined
  /** The block that its last change was computed at. */
  readonly block?: EngineCollections['component_state']['block'] | undefined
}

export interface ContractRows {
  get(contract: Address): Promise<ContractRow>
  /** Tests whether the row is current, as far as this process knows; reads the database during a commit. */
  isCurrent(contract: Address, contractRow: ContractRow): Promise<boolean>
  /** Runs `commit`, which may change the row on disk before the cache does. One at a time of each contract. */
  whileCommitting<T>(contract: Address, commit: () => Promise<T>): Promise<T>
  set(contract: Address, row: ContractRow): void
  /** Drops the row when another process has changed it, or may have. */
  forget(contract: Address): void
  all(): readonly (readonly [Address, ContractRow])[]
}

export function cacheContractRows(store: EngineStore): ContractRows {
  const rows = new Map<Address, ContractRow>()
  const committing = new Set<Address>()
  return {
    get: async (contract) => {
      const cached = rows.get(contract)
      if (cached !== undefined) return cached
      const row = await store.get('component_state', contract)
      const read: ContractRow = { storageBytes: 0, ...row?.value, version: row?.version }
      // A row that was set during the read is newer.
      const current = rows.get(contract) ?? read
      rows.set(contract, current)
      return current
    },
    isCurrent: async (contract, row) => {
      if (!rows.has(contract) || rows.get(contract)?.version !== row.version) return false
      return !committing.has(contract) || (await store.get('component_state', contract))?.version === row.version
    },
    whileCommitting: async (contract, commit) => {
      committing.add(contract)
      try {
        return await commit()
      } finally {
        committing.delete(contract)
      }
    },
    set: (contract, row) => rows.set(contract, row),
    forget: (contract) => rows.delete(contract),
    all: () => [...rows],
  }
}
