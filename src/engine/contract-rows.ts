/**
 * A cache of the rows of contracts. The version of a row goes up with every commit of a call (optimistic locking): a
 * call that began with one version may commit only while the row still has that version. With the cache, a call that
 * changes nothing reads only its own values from the database.
 */
import type { Address } from '../offchain/address.ts'
import type { EngineCollections, EngineStore } from './collections.ts'

export interface ContractRow {
  /** The version of the row; undefined when the contract has no row yet. */
  readonly version: number | undefined
  /** The bytes of all stored values of the contract, with their keys. */
  readonly storageBytes: number
  /**
   * The number of transactions in the last day of UTC in which there was one. The row is stored, so that a restart
   * begins no other day.
   */
  readonly dailyTransactions?: EngineCollections['component_state']['asked'] | undefined
  /** The block at which the last change of the contract was computed. */
  readonly block?: EngineCollections['component_state']['block'] | undefined
}

export interface ContractRows {
  get(contract: Address): Promise<ContractRow>
  /** Tests whether the row is current, as far as this process knows; reads the database during a commit. */
  isCurrent(contract: Address, contractRow: ContractRow): Promise<boolean>
  /**
   * Runs `commit`, which may change the row on disk before the cache has it; the caller runs one at a time of a
   * contract.
   */
  runCommit<T>(contract: Address, commit: () => Promise<T>): Promise<T>
  set(contract: Address, row: ContractRow): void
  /** Drops the row when another process has changed it, or may have. */
  forget(contract: Address): void
  listAll(): readonly (readonly [Address, ContractRow])[]
}

export function cacheContractRows(store: EngineStore): ContractRows {
  const rows = new Map<Address, ContractRow>()
  const contractsInCommit = new Set<Address>()
  return {
    get: async (contract) => {
      const cachedRow = rows.get(contract)
      if (cachedRow !== undefined) return cachedRow
      const row = await store.get('component_state', contract)
      const { asked: dailyTransactions, ...value } = row?.value ?? { storageBytes: 0 }
      const storedRow: ContractRow = { ...value, dailyTransactions, version: row?.version }
      // A row that was set during the read is newer.
      const newestRow = rows.get(contract) ?? storedRow
      rows.set(contract, newestRow)
      return newestRow
    },
    isCurrent: async (contract, row) => {
      if (!rows.has(contract) || rows.get(contract)?.version !== row.version) return false
      return !contractsInCommit.has(contract) || (await store.get('component_state', contract))?.version === row.version
    },
    runCommit: async (contract, commit) => {
      contractsInCommit.add(contract)
      try {
        return await commit()
      } finally {
        contractsInCommit.delete(contract)
      }
    },
    set: (contract, row) => rows.set(contract, row),
    forget: (contract) => rows.delete(contract),
    listAll: () => [...rows],
  }
}
