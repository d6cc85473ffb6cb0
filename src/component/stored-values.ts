/**
 * Caches loaded values in a worker, because every request to the engine wakes two threads. The cached values of a
 * contract belong to one version of its storage, and are dropped when a value of another version is cached.
 */
import type { Address } from '../offchain/address.ts'
import { entryName } from './effects.ts'
import type { CallMessage, HostRequest, HostResponse } from './messages.ts'

export interface StoredValues {
  /**
   * Wraps `ask` so that each value of the call's contract is loaded from the engine once for each version. Caches
   * nothing when the version is undefined.
   */
  wrapAsk(
    call: Pick<CallMessage, 'contract' | 'storageVersion'>,
    ask: (hostRequest: HostRequest) => HostResponse,
  ): (hostRequest: HostRequest) => HostResponse
}

interface ContractValues {
  readonly version: number
  readonly values: Map<string, Uint8Array | undefined>
}

/** The approximate memory of a value beside its bytes. */
const OVERHEAD = 256

/** Makes a cache of at most `most` bytes of values and keys. It is emptied when the next value would exceed them. */
export function cacheStoredValues(most: number): StoredValues {
  const contracts = new Map<Address, ContractValues>()
  let heldBytes = 0
  const valuesOf = (contract: Address, version: number): ContractValues => {
    const cachedValues = contracts.get(contract)
    if (cachedValues?.version === version) return cachedValues
    const newValues = { version, values: new Map<string, Uint8Array | undefined>() }
    for (const [name, value] of cachedValues?.values ?? []) heldBytes -= sizeOf(name, value)
    contracts.set(contract, newValues)
    return newValues
  }
  const addValue = (contract: Address, version: number, name: string, value: Uint8Array | undefined): void => {
    const size = sizeOf(name, value)
    if (heldBytes + size > most) {
      contracts.clear()
      heldBytes = 0
    }
    if (size > most) return
    valuesOf(contract, version).values.set(name, value)
    heldBytes += size
  }
  return {
    wrapAsk: ({ contract, storageVersion: version }, ask) => {
      if (version === undefined) return ask
      return (hostRequest) => {
        if (hostRequest.ask !== 'load') return ask(hostRequest)
        const cachedValues = contracts.get(contract)
        const values = cachedValues?.version === version ? cachedValues.values : undefined
        const name = entryName(...hostRequest.args)
        if (values?.has(name) === true) return values.get(name)
        const value = ask(hostRequest) as Uint8Array | undefined
        addValue(contract, version, name, value)
        return value
      }
    },
  }
}

function sizeOf(name: string, value: Uint8Array | undefined): number {
  return OVERHEAD + name.length + (value?.length ?? 0)
}
