/**
 * A cache of the rows of contracts. The version of a row increases with every commit of a call that writes (optimistic
 * locking): a call that read one version may commit only while the row still has that version. With the cache, a call
 * that writes nothing reads only its own values from the database.
 */
import type { Address } from '../offchain/address.ts'
import type { EngineCollections, EngineStore } from './collections.ts'

export interface ContractRow {
  /** The version of the row; undefined when the contract has no row yet. */
  readonly version: number | undefined
  /** The number of bytes of all stored values of the contract, with their keys and {@link ROW_BYTES} for each. */
  readonly storageBytes: number
  /**
   * The number of transactions on the last day (UTC) on which the contract requested one. It is stored, so that a
   * restart does not reset the count.
   */
  readonly dailyTransactions?: EngineCollections['component_state']['asked'] | undefined
  /** The block at which the last change of the contract was computed. */
  readonly block?: EngineCollections['component_state']['block'] | undefined
}

export interface ContractRows {
  get(contract: Address): Promise<ContractRow>
  /**
   * Tests whether the row still has this version, as far as this process knows. Reads the database only during a
   * commit.
   */
  isCurrent(contract: Address, contractRow: ContractRow): Promise<boolean>
  /**
   * Runs `commit`. Meanwhile the row on disk may be newer than the cached row. The caller runs one commit of a contract
   * at a time.
   */
  runCommit<T>(contract: Address, commit: () => Promise<T>): Promise<T>
  set(contract: Address, row: ContractRow): void
  /** Drops the cached row, because another process has changed the row on disk, or may have. */
  forget(contract: Address): void
  listAll(): readonly (readonly [Address, ContractRow])[]
}

/** Makes the cache of this process. */
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
