/**
 * A client of a reader node of Partisia Blockchain: the operations of its published REST interface that this project
 * uses, with validated answers. UNVERIFIED: written from the published OpenAPI description, and tested with answers
 * that were made from it, never with a live node. All operations reject with a ChainError.
 */
import { isObject, type Json, type JsonObject, memberOf, stringMemberOf } from '../../codec/json.ts'
import { malformed, readOrElse } from '../../codec/malformed.ts'
import type { Address } from '../../offchain/address.ts'
import { ChainError } from '../chain.ts'

export interface JsonAnswer {
  readonly status: number
  /** The parsed body; undefined when it is not JSON. */
  readonly body: Json | undefined
}

/** Requests JSON over HTTP; `path` begins with a slash. Rejects when there is no answer. */
export type JsonHttp = (method: 'GET' | 'PUT', path: string, body?: Json) => Promise<JsonAnswer>

export interface ShardBlock {
  readonly shard: string
  readonly identifier: string
  /** The number of the block in its shard. */
  readonly blockTime: number
  /** Milliseconds since 1970. */
  readonly productionTime: number
}

export interface ExecutedTransaction {
  readonly finalized: boolean
  readonly success: boolean
}

export interface ReaderAccount {
  readonly nonce: number
  readonly shard: string
}

export type PartisiaReader = ReturnType<typeof createPartisiaReader>

const MAX_STATE_CHARACTERS = 16 * 1024 * 1024
const NOT_FOUND = 404

/** Makes the client of a reader node. */
export function createPartisiaReader(http: JsonHttp) {
  const ask = async <T>(path: string, read: (body: JsonObject) => T): Promise<T | undefined> => {
    const { status, body } = await sendRequest(http, { method: 'GET', path })
    if (status === NOT_FOUND) return undefined
    return readOrElse(
      () => read(isObject(body) ? body : malformed('it is not an object')),
      (cause) => {
        const problem = `the reader node answers ${path} with what cannot be read: ${cause.message}`
        throw new ChainError(problem, { kind: 'failed', cause })
      },
    )
  }
  return {
    /** Returns the id of the chain, and the names of its shards. */
    fetchChain: () =>
      ask('/chain', (body) => ({ id: readText(body, 'chainId'), shards: readShards(memberOf(body, 'shards')) })),
    fetchLatestBlock: (shard: string) =>
      ask(`/chain/shards/${encodePart(shard)}/blocks`, (body) => readBlock(shard, body)),
    fetchBlock: (shard: string, identifier: string) =>
      ask(`/chain/shards/${encodePart(shard)}/blocks/${encodePart(identifier)}`, (body) => readBlock(shard, body)),
    /** Returns the serialized state of a contract at a block. */
    fetchState: (address: Address, blockTime: number) =>
      ask(`/chain/contracts/${address}?blockTime=${blockTime}`, (body) => readBase64(body, 'serializedContract')),
    /** Returns a value of a tree of a contract. `key` is in hexadecimal. */
    fetchTreeValue: (address: Address, tree: number, key: string) =>
      ask(`/chain/contracts/${address}/avl/${tree}/value/${key}`, (body) => readBase64(body, 'data')),
    fetchAccount: (address: Address) =>
      ask(`/chain/accounts/${address}`, (body): ReaderAccount => {
        return { nonce: readNumber(body, 'nonce'), shard: readText(body, 'shardId') }
      }),
    /**
     * Returns the result of a transaction; undefined when the shard does not know it. A waiting transaction is not
     * finalized.
     */
    fetchTransaction: (shard: string, identifier: string) =>
      ask(`/chain/shards/${encodePart(shard)}/transactions/${encodePart(identifier)}`, readExecution),
    putTransaction: async (payload: string): Promise<void> => {
      await sendRequest(http, { method: 'PUT', path: '/chain/transactions', body: { payload } })
    },
  }
}

interface ReaderRequest {
  readonly method: 'GET' | 'PUT'
  readonly path: string
  readonly body?: Json
}

async function sendRequest(http: JsonHttp, { method, path, body }: ReaderRequest): Promise<JsonAnswer> {
  const answer = await http(method, path, body).catch((error: unknown) => {
    throw new ChainError(`the chain cannot be asked: ${(error as Error).message}`, { cause: error })
  })
  const isExpected = answer.status === 200 || answer.status === 204 || (method === 'GET' && answer.status === NOT_FOUND)
  if (!isExpected)
    throw new ChainError(`the reader node answers ${method} ${path} with status ${answer.status}`, { kind: 'failed' })
  return answer
}

/** Escapes the name of a shard or a digest for a path; the node chooses such names. */
function encodePart(value: string): string {
  return encodeURIComponent(value)
}

function readText(body: JsonObject, name: string): string {
  const value = stringMemberOf(body, name)
  return value !== undefined && value.length <= 200 ? value : malformed(`it has no ${name}`)
}

function readNumber(body: JsonObject, name: string): number {
  const value = memberOf(body, name)
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : malformed(`it has no ${name}`)
}

function readBase64(body: JsonObject, name: string): Uint8Array {
  const value = stringMemberOf(body, name)
  if (value === undefined || value.length > MAX_STATE_CHARACTERS)
    return malformed(`it has no ${name}, or too long a one`)
  return /^[A-Za-z0-9+/]*={0,2}$/.test(value) ? Buffer.from(value, 'base64') : malformed(`its ${name} is not base64`)
}

function readShards(value: Json | undefined): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > 100) return malformed('it has no shards')
  return value.map((shard) => (typeof shard === 'string' ? shard : malformed('a shard has no name')))
}

function readBlock(shard: string, body: JsonObject): ShardBlock {
  const [blockTime, productionTime] = [readNumber(body, 'blockTime'), readNumber(body, 'productionTime')]
  if (Number.isNaN(new Date(productionTime).getTime())) malformed('its productionTime is out of range')
  return { shard, identifier: readText(body, 'identifier'), blockTime, productionTime }
}

function readExecution(body: JsonObject): ExecutedTransaction {
  const status = memberOf(body, 'executionStatus')
  if (!isObject(status)) return { finalized: false, success: false }
  return { finalized: memberOf(status, 'finalized') === true, success: memberOf(status, 'success') === true }
}
