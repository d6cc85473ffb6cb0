/** The functions of the engine that a component can call while it runs. */
import { isRefused } from '../chain/chain.ts'
import type { Host } from '../component/runtime.ts'
import { Trap } from '../component/trap.ts'
import { describeErrorForLog } from '../http/logged-error.ts'
import { type HttpClientRequest, type HttpClientResponse, OutboundError } from '../http/outbound.ts'
import type { Address } from '../offchain/address.ts'
import type { HttpRequestData, HttpResponseData } from '../offchain/http-data.ts'
import { getCurrentGeneration } from '../store/generation.ts'
import { partOf } from '../store/store.ts'
import type { StorageReads } from './commit.ts'
import type { EngineContext } from './context.ts'
import type { CallTarget } from './contract-entry.ts'
import { isAllowed } from './outbound-hosts.ts'
import { HOP_BY_HOP_FIELDS } from './response.ts'

/** Makes the host of a call. It records in `storageReads` each value that the call loads; the commit checks them. */
export function createHost(
  context: EngineContext,
  { entry, contract, block }: CallTarget,
  storageReads: StorageReads,
): Host {
  const { store, now, random, retryOnConflict, config, timers, metrics, storageIdOf } = context
  const { address } = entry
  return {
    load: async (bucket, key) => {
      const id = storageIdOf(address, bucket, key)
      const row = await store.get('component_storage', id)
      storageReads.set(id, row && { version: row.version, bytes: row.value.bytes })
      return row && new Uint8Array(Buffer.from(row.value.value, 'base64'))
    },
    readContract: (input) => context.readContract(contract.address, input, block).catch(trapIfRefused),
    send: (request) => sendRequest(context, address, request),
    getConfiguration: (key) => config.configuration.get(key),
    listTimers: () => Promise.resolve(timers.list(address)),
    getGeneration: () => getCurrentGeneration({ store: partOf(store), now, random, retryOnConflict }),
    isSpent: async (id) => {
      const isSpent = (await store.get('spent_request', id)) !== undefined
      if (isSpent) metrics.replays.inc()
      return isSpent
    },
  }
}

/** Throws a Trap for the refusal of a contract, and any other error again. */
function trapIfRefused(error: unknown): never {
  if (isRefused(error)) throw new Trap(error.message, { cause: error })
  throw error
}

/**
 * The status for a request that failed on the network; the public off-chain interface uses statuses from 600 for this.
 */
const NO_ANSWER = 600
/**
 * The header fields that a component may not set, because the HTTP client sets them. `host` could reach another virtual
 * host.
 */
const CLIENT_FIELDS: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP_FIELDS,
  'host',
  'content-length',
  'expect',
  'accept-encoding',
  'proxy-authorization',
])
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

async function sendRequest(
  { config, outbound, metrics, log }: EngineContext,
  contract: Address,
  request: HttpRequestData,
): Promise<HttpResponseData> {
  const { allow, allowPrivateAddresses } = config.outbound
  const refuse = (reason: string): HttpResponseData => {
    metrics.outbound.inc({ outcome: 'refused' })
    return noAnswerResponse(reason)
  }
  if (!isAllowed(request.uri, allow)) return refuse('the operator of this engine does not allow requests to this host')
  const method = request.method.toUpperCase()
  if (!METHODS.has(method)) return refuse('requests with this method are not sent')
  const { outboundSeconds, outboundBytes } = config.limits
  const bounds = { timeoutMs: outboundSeconds * 1000, maxBytes: outboundBytes, allowPrivateAddresses }
  try {
    const response = await outbound({ ...outboundRequestOf(request, method), ...bounds })
    metrics.outbound.inc({ outcome: 'answered' })
    return responseOf(response)
  } catch (error) {
    metrics.outbound.inc({ outcome: 'failed' })
    if (error instanceof OutboundError) return noAnswerResponse(error.message)
    const line = { event: 'outbound_threw', contract, error: describeErrorForLog(error) }
    log.error(line, 'a request of a component to another host threw an error')
    return noAnswerResponse('the request failed by a mistake of this engine, whose log has the error')
  }
}

function outboundRequestOf(
  { uri, headers, body }: HttpRequestData,
  method: string,
): Pick<HttpClientRequest, 'url' | 'method' | 'headers' | 'bytes'> {
  const ownHeaders = headers.filter(({ name }) => !CLIENT_FIELDS.has(name.toLowerCase()))
  const request = {
    url: uri,
    method,
    headers: Object.fromEntries(ownHeaders.map(({ name, values }) => [name.toLowerCase(), values.join(', ')])),
  }
  return body.length === 0 && (method === 'GET' || method === 'HEAD') ? request : { ...request, bytes: body }
}

function responseOf({ status, headers, body }: HttpClientResponse): HttpResponseData {
  // Both fields describe the bytes on the wire, and not the decoded body.
  const passedHeaders = Object.entries(headers).filter(
    ([name]) => name !== 'content-encoding' && name !== 'content-length',
  )
  return { status, headers: passedHeaders.map(([name, value]) => ({ name, values: [value] })), body }
}

function noAnswerResponse(reason: string): HttpResponseData {
  return { status: NO_ANSWER, headers: [], body: Buffer.from(reason) }
}
