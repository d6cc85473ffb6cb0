/** `eth_getLogs` of a local chain. */
import { isObject, type Json, own } from '../../codec/json.ts'
import { malformed } from '../../codec/malformed.ts'
import { quantity } from '../evm/values.ts'
import type { Log } from './execute.ts'
import type { Entry, Ledger } from './ledger.ts'
import { addressText, byHash, entryAt, entryOrNone, hashText } from './params.ts'

/** Throws a MalformedError when the filter is none. */
export function logsOf(ledger: Ledger, filter: unknown): unknown[] {
  if (!isObject(filter)) return malformed('the filter is no object')
  const fits = fitting(filter)
  return entriesOf(ledger, filter).flatMap((entry) =>
    (entry.done?.result.logs ?? []).flatMap((log, index) => (fits(log) ? [logObject(entry, log, index)] : [])),
  )
}

function entriesOf(ledger: Ledger, filter: Record<string, Json>): readonly Entry[] {
  const hash = own(filter, 'blockHash')
  if (hash !== undefined) {
    const entry = byHash(ledger, hash)
    return entry === undefined ? [] : [entry]
  }
  const from = entryOrNone(ledger, own(filter, 'fromBlock'))
  if (from === undefined) return []
  // What is not there yet is no mistake: whoever asks may know of blocks that this process has not seen.
  const to = entryOrNone(ledger, own(filter, 'toBlock')) ?? entryAt(ledger, 'latest')
  return ledger.entries.slice(from.block.number, to.block.number + 1)
}

function fitting(filter: Record<string, Json>): (log: Log) => boolean {
  const address = own(filter, 'address') ?? undefined
  const addresses = address === undefined ? undefined : new Set(listOf(address).map(addressText))
  const topics = listOf(own(filter, 'topics') ?? []).map((topic) =>
    topic === null ? undefined : new Set(listOf(topic).map(hashText)),
  )
  return (log) =>
    addresses?.has(log.address) !== false && topics.every((wanted, at) => wanted?.has(log.topics[at] ?? '') !== false)
}

function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [value]
}

export function logObject({ block, done }: Entry, { address, topics, data }: Log, index: number): unknown {
  return {
    address,
    topics,
    data,
    blockNumber: quantity(block.number),
    blockHash: block.hash,
    transactionHash: done?.hash,
    transactionIndex: '0x0',
    logIndex: quantity(index),
    removed: false,
  }
}
