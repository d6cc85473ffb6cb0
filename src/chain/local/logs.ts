/** `eth_getLogs` of a local chain. */
import { isObject, type Json, memberOf } from '../../codec/json.ts'
import { malformed } from '../../codec/malformed.ts'
import { readHash, writeQuantity } from '../evm/values.ts'
import { JsonRpcError } from '../json-rpc.ts'
import type { Log } from './execute.ts'
import type { Ledger, LedgerEntry } from './ledger.ts'
import { findByHash, findEntry, readAddressText, requireEntry } from './params.ts'

/** The most logs in one answer, as many as nodes return. One block may have more. */
const MAX_LOGS = 10_000
/** The most characters of data in one answer, more than one block can have. */
const MAX_DATA = 8 * 1024 * 1024
const MAX_TOPICS = 4
const MAX_ALTERNATIVES = 1000
const LIMIT_EXCEEDED = -32005

/** The most blocks that are run again for one answer, because their logs are not in memory. */
const MAX_RUN_AGAIN = 100

/**
 * Finds the logs that match a filter. Rejects with a MalformedError when the filter is malformed, and with a
 * JsonRpcError when the answer would be too large, or too many blocks would have to be run again.
 */
export async function findLogs(ledger: Ledger, filter: unknown): Promise<unknown[]> {
  if (!isObject(filter)) return malformed('the filter is not an object')
  const matches = createLogFilter(filter)
  const matchingLogs: unknown[] = []
  let size = 0
  const entries = selectEntries(ledger, filter)
  if (entries.filter((entry) => !ledger.logs.has(entry)).length > MAX_RUN_AGAIN) return refuseOldLogs()
  for (const entry of entries) {
    for (const [index, log] of (await ledger.logs.getLogs(entry)).entries()) {
      if (!matches(log)) continue
      size += log.data.length
      if (matchingLogs.length === MAX_LOGS || size > MAX_DATA) return refuseLargeAnswer()
      matchingLogs.push(logObject(entry, log, index))
    }
  }
  return matchingLogs
}

function refuseLargeAnswer(): never {
  const most = `${MAX_LOGS} logs, or ${MAX_DATA / 2} bytes of data`
  throw new JsonRpcError(LIMIT_EXCEEDED, `the answer is larger than ${most}: ask for fewer blocks, addresses or topics`)
}

function refuseOldLogs(): never {
  throw new JsonRpcError(
    LIMIT_EXCEEDED,
    `the logs of old blocks are not in memory, and no more than ${MAX_RUN_AGAIN} are run again at once: ask for fewer blocks`,
  )
}

function selectEntries(ledger: Ledger, filter: Record<string, Json>): readonly LedgerEntry[] {
  const [hash, first, last] = ['blockHash', 'fromBlock', 'toBlock'].map((name) => memberOf(filter, name) ?? undefined)
  if (hash !== undefined) {
    if (first !== undefined || last !== undefined) return malformed('blockHash goes with neither fromBlock nor toBlock')
    return [findByHash(ledger, hash) ?? malformed('there is no block with this hash')]
  }
  const from = findEntry(ledger, first)
  // A block that does not exist yet is not a mistake: the client may know blocks that this process has not read.
  const to = findEntry(ledger, last) ?? requireEntry(ledger, 'latest')
  if (from === undefined) return []
  if (from.block.number > to.block.number) return malformed('fromBlock is after toBlock')
  return ledger.entries.slice(from.block.number, to.block.number + 1)
}

/**
 * Makes the function that tests whether a log matches a filter, with the rules of geth: an empty list matches any
 * value, and a log must have a topic at every position of the filter, also where any topic matches.
 */
function createLogFilter(filter: Record<string, Json>): (log: Log) => boolean {
  const addresses = readAlternatives(memberOf(filter, 'address') ?? [], readAddressText)
  const topics = listOf(memberOf(filter, 'topics') ?? []).map((topic) =>
    readAlternatives(listOf(topic).includes(null) ? [] : topic, readHash),
  )
  if (topics.length > MAX_TOPICS) return malformed(`a log has no more than ${MAX_TOPICS} topics`)
  return (log) =>
    addresses?.has(log.address) !== false &&
    topics.length <= log.topics.length &&
    topics.every((alternatives, at) => alternatives?.has(log.topics[at] ?? '') !== false)
}

/** Reads the alternatives of a filter at one place; undefined when any value matches. */
function readAlternatives(value: Json, read: (one: Json) => string): ReadonlySet<string> | undefined {
  const values = listOf(value)
  if (values.length > MAX_ALTERNATIVES) return malformed(`ask for no more than ${MAX_ALTERNATIVES} at one place`)
  return values.length === 0 ? undefined : new Set(values.map(read))
}

function listOf(value: Json): readonly Json[] {
  return Array.isArray(value) ? value : [value]
}

/** Makes the object of a log. `index` is its position in the block. */
export function logObject(
  { block, includedTransaction }: LedgerEntry,
  { address, topics, data }: Log,
  index: number,
): unknown {
  return {
    address,
    topics,
    data,
    blockNumber: writeQuantity(block.number),
    blockHash: block.hash,
    transactionHash: includedTransaction?.hash,
    transactionIndex: '0x0',
    logIndex: writeQuantity(index),
    removed: false,
  }
}
