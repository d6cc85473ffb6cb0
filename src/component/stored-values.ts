/**
 * Values that a worker was given by its engine, for the calls that come after: to ask takes two threads that wake each
 * other. They are those of one version of all that a contract has stored, and are forgotten with the first call that
 * is told another.
 */
import type { Address } from '../offchain/address.ts'
import type { CallMessage, HostAnswer, HostQuestion } from './messages.ts'

export interface StoredValues {
  /** Wraps `ask` so that each value of this call's contract is asked for once for each version. */
  remembering(
    call: Pick<CallMessage, 'contract' | 'storageVersion'>,
    ask: (question: HostQuestion) => HostAnswer,
  ): (question: HostQuestion) => HostAnswer
}

interface OfContract {
  readonly version: number
  readonly values: Map<string, Uint8Array | undefined>
}

/** The approximate cost of a value beside its bytes. */
const OVERHEAD = 256

/** Makes a cache of at most `most` bytes of values with their keys; when there would be more, all are forgotten. */
export function cacheStoredValues(most: number): StoredValues {
  const contracts = new Map<Address, OfContract>()
  let held = 0
  const current = (contract: Address, version: number): OfContract => {
    const cached = contracts.get(contract)
    if (cached?.version === version) return cached
    const fresh = { version, values: new Map<string, Uint8Array | undefined>() }
    for (const [name, value] of cached?.values ?? []) held -= sizeOf(name, value)
    contracts.set(contract, fresh)
    return fresh
  }
  const keep = (contract: Address, version: number, name: string, value: Uint8Array | undefined): void => {
    const size = sizeOf(name, value)
    if (held + size > most) {
      contracts.clear()
      held = 0
    }
    if (size > most) return
    current(contract, version).values.set(name, value)
    held += size
  }
  return {
    remembering: ({ contract, storageVersion: version }, ask) => {
      if (version === undefined) return ask
      return (question) => {
        if (question.ask !== 'load') return ask(question)
        const cached = contracts.get(contract)
        const values = cached?.version === version ? cached.values : undefined
        const name = nameOf(question.bucket, question.key)
        if (values?.has(name) === true) return values.get(name)
        const value = ask(question) as Uint8Array | undefined
        keep(contract, version, name, value)
        return value
      }
    },
  }
}

function sizeOf(name: string, value: Uint8Array | undefined): number {
  return OVERHEAD + name.length + (value?.length ?? 0)
}

function nameOf(bucket: Uint8Array, key: Uint8Array): string {
  return `${bucket.length}:${Buffer.from(bucket).toString('latin1')}${Buffer.from(key).toString('latin1')}`
}
