/** The engine's answers to what a component asks in the middle of a call. */
import type { Host } from '../component/runtime.ts'
import { type HttpClientRequest, type HttpClientResponse, OutboundError } from '../http/outbound.ts'
import type { HttpRequestData, HttpResponseData } from '../offchain/http-data.ts'
import { currentGeneration } from '../store/generation.ts'
import { partOf } from '../store/store.ts'
import type { Seen } from './commit.ts'
import type { EngineContext } from './context.ts'
import type { CallTarget } from './contract-entry.ts'
import { isAllowed } from './outbound-hosts.ts'

/** Makes the host of a call, which notes in `seen` what was read from storage, for the commit. */
export function hostOf(context: EngineContext, { entry, contract, block }: CallTarget, seen: Seen): Host {
  const { store, now, random, retryOnConflict, config, timers, metrics, storageIdOf } = context
  const { address } = entry
  return {
    load: async (bucket, key) => {
      const id = storageIdOf(address, bucket, key)
      const row = await store.get('component_storage', id)
      seen.set(id, row && { version: row.version, bytes: row.value.bytes })
      return row && new Uint8Array(Buffer.from(row.value.value, 'base64'))
    },
    readContract: (input) => context.readContract(contract.address, input, block),
    send: (request) => sendFor(context, request),
    configuration: (key) => config.configuration.get(key),
    timers: () => Promise.resolve(timers.of(address)),
    generation: () => currentGeneration({ store: partOf(store), now, random, retryOnConflict }),
    spent: async (id) => {
      const isSpent = (await store.get('spent_request', id)) !== undefined
      if (isSpent) metrics.replays.inc()
      return isSpent
    },
  }
}

/** Network errors have statuses from 600 up, by the public off-chain interface. */
const NO_ANSWER = 600
/** Header fields that the connection sets itself. `host` would lead to other servers at the same address. */
const OURS = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'accept-encoding',
  'proxy-authorization',
  'proxy-connection',
])
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

async function sendFor(
  { config, outbound, metrics }: EngineContext,
  request: HttpRequestData,
): Promise<HttpResponseData> {
  const { allow, allowPrivateAddresses } = config.outbound
  const refuse = (why: string): HttpResponseData => {
    metrics.outbound.inc({ outcome: 'refused' })
    return noAnswer(why)
  }
  if (!isAllowed(request.uri, allow)) return refuse('the operator of this engine does not allow requests to this host')
  const method = request.method.toUpperCase()
  if (!METHODS.has(method)) return refuse('requests with this method are not sent')
  const { outboundSeconds, outboundBytes } = config.limits
  const bounds = { timeoutMs: outboundSeconds * 1000, maxBytes: outboundBytes, allowPrivateAddresses }
  try {
    const response = await outbound({ ...outboundOf(request, method), ...bounds })
    metrics.outbound.inc({ outcome: 'answered' })
    return responseOf(response)
  } catch (error) {
    metrics.outbound.inc({ outcome: 'failed' })
    return noAnswer(error instanceof OutboundError ? error.message : 'the request could not be sent')
  }
}

function outboundOf(
  { uri, headers, body }: HttpRequestData,
  method: string,
): Pick<HttpClientRequest, 'url' | 'method' | 'headers' | 'bytes'> {
  const own = headers.filter(({ name }) => !OURS.has(name.toLowerCase()))
  const outgoing = {
    url: uri,
    method,
    headers: Object.fromEntries(own.map(({ name, values }) => [name.toLowerCase(), values.join(', ')])),
  }
  return body.length === 0 && (method === 'GET' || method === 'HEAD') ? outgoing : { ...outgoing, bytes: body }
}

function responseOf({ status, headers, body }: HttpClientResponse): HttpResponseData {
  // Both fields are of the bytes on the wire.
  const kept = Object.entries(headers).filter(([name]) => name !== 'content-encoding' && name !== 'content-length')
  return { status, headers: kept.map(([name, value]) => ({ name, values: [value] })), body }
}

function noAnswer(why: string): HttpResponseData {
  return { status: NO_ANSWER, headers: [], body: Buffer.from(why) }
}
