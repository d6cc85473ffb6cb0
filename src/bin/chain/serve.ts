/**
 * `vouchsafe chain serve`: serves a chain as JSON-RPC over HTTP on loopback, for wallets, Hardhat, Foundry and similar
 * tools.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type JsonRpc, JsonRpcError } from '../../chain/json-rpc.ts'
import { isObject, type Json, memberOf, parseJson } from '../../codec/json.ts'
import { readOrUndefined } from '../../codec/malformed.ts'
import { parseInternationalUrl } from '../../codec/url.ts'
import { isLoopback } from '../../protocol/private-host.ts'
import { endFailedRequest, reportError } from '../network/failed-request.ts'
import { closeServer, listenOnLoopback } from '../network/network.ts'
import { MAX_ANSWER_BYTES } from './answer-size.ts'

const MAX_CONNECTIONS = 1000
const REQUEST_TIMEOUT_MS = 30_000
/** The time after which an inactive connection is closed. */
const IDLE_TIMEOUT_MS = 70_000
const MAX_BODY_BYTES = 2 * 1024 * 1024
const MAX_BATCH = 1000
/** The maximum memory for all request bodies and unread responses. */
const MAX_USED_BYTES = 256 * 1024 * 1024
/** The size up to which a response is always sent. Methods that change the chain have such short responses. */
const SHORT_ANSWER = 1024
const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const INTERNAL_ERROR = -32603
const TOO_LARGE = -32003
/** The headers of the answer to a preflight, which a browser sends before it lets a page of another port ask. */
const PREFLIGHT = { 'access-control-allow-methods': 'POST', 'access-control-allow-headers': 'content-type' }
const FAILURE = 'The chain failed to answer a request'

/** Serves the chain on loopback until the process ends. Resolves when the server listens. */
export async function serveChain(rpc: JsonRpc, port: number): Promise<void> {
  const server = createChainServer(rpc)
  const actualPort = await listenOnLoopback(server, port)
  process.stdout.write(`The chain answers at http://127.0.0.1:${actualPort}\n`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => void closeServer(server))
  }
}

/** Creates the server. The caller makes it listen. */
export function createChainServer(rpc: JsonRpc): Server {
  const usedMemory: UsedMemory = { bytes: 0 }
  const server = createServer({ requestTimeout: REQUEST_TIMEOUT_MS }, (request, response) => {
    answerHttp(rpc, createAllowanceFor(usedMemory, response), request, response).catch((error: unknown) => {
      endFailedRequest(FAILURE, error, response)
    })
  })
  return Object.assign(server, { maxConnections: MAX_CONNECTIONS, timeout: IDLE_TIMEOUT_MS })
}

/** The memory in use for request bodies and unread responses. */
interface UsedMemory {
  bytes: number
}

/** The memory that one request may use. */
interface MemoryAllowance {
  readonly countFreeBytes: () => number
  /** Reserves bytes until the request ends. */
  readonly reserve: (bytes: number) => void
}

function createAllowanceFor(usedMemory: UsedMemory, response: ServerResponse): MemoryAllowance {
  let takenBytes = 0
  let isOver = false
  response.once('close', () => {
    usedMemory.bytes -= takenBytes
    isOver = true
  })
  return {
    countFreeBytes: () => (isOver ? 0 : MAX_USED_BYTES - usedMemory.bytes),
    reserve: (bytes) => {
      if (isOver) return
      takenBytes += bytes
      usedMemory.bytes += bytes
    },
  }
}

async function answerHttp(
  rpc: JsonRpc,
  allowance: MemoryAllowance,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { origin } = request.headers
  if (origin !== undefined && isAllowedOrigin(origin)) {
    response.setHeader('access-control-allow-origin', origin).setHeader('vary', 'origin')
  }
  if (request.method === 'OPTIONS' && refusalOf(request) === undefined) {
    response.writeHead(204, PREFLIGHT).end()
    return
  }
  const text = await readRequest(request, allowance, (status, why) => {
    const headers = { connection: 'close', 'content-type': 'text/plain', ...(status === 405 ? { allow: 'POST' } : {}) }
    response.writeHead(status, headers).end(`${why}\n`)
  })
  if (text === undefined) return
  const answer = await answerText(rpc, allowance, text)
  if (answer === undefined) response.writeHead(204).end()
  else response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
}

type Refuse = (status: number, why: string) => void

/** Returns the body; undefined if the request was refused. */
async function readRequest(
  request: IncomingMessage,
  allowance: MemoryAllowance,
  refuse: Refuse,
): Promise<Uint8Array | undefined> {
  const refusal = refusalOf(request)
  if (refusal !== undefined) {
    refuse(...refusal)
    return undefined
  }
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length
    if (size > MAX_BODY_BYTES || part.length > allowance.countFreeBytes()) {
      if (size > MAX_BODY_BYTES) refuse(413, `The request is larger than ${MAX_BODY_BYTES} bytes: ask for less.`)
      else refuse(503, 'Too much is asked at once: ask again.')
      return undefined
    }
    allowance.reserve(part.length)
    parts.push(part)
  }
  return Buffer.concat(parts)
}

/**
 * Returns the refusal of a request from a web page of another site, by its `Host` (DNS rebinding) and its `Origin`;
 * undefined if the request is allowed.
 */
function refusalOf({ method, headers }: IncomingMessage): Parameters<Refuse> | undefined {
  const { host = '', origin, 'content-type': type = '' } = headers
  if (!isLoopback(parseInternationalUrl(`http://${host}`)?.hostname ?? ''))
    return [403, 'Ask at http://127.0.0.1 or http://localhost: other hosts are not answered.']
  if (origin !== undefined && !isAllowedOrigin(origin))
    return [403, 'Pages are answered from http://localhost alone, and extensions of the browser.']
  if (method === 'OPTIONS' && origin !== undefined) return undefined
  if (method !== 'POST') return [405, 'Ask by POST.']
  if (!/^application\/json *(;|$)/i.test(type)) return [415, 'Ask with the header content-type: application/json.']
  return undefined
}

/** Tests whether pages of an origin are allowed. The origin `null`, which is no URL, is one that any page can have. */
function isAllowedOrigin(origin: string): boolean {
  const url = parseInternationalUrl(origin)
  return url !== undefined && (isLoopback(url.hostname) || !['http:', 'https:'].includes(url.protocol))
}

/** Answers a request or a batch; undefined if there is no response. */
async function answerText(rpc: JsonRpc, allowance: MemoryAllowance, json: Uint8Array): Promise<string | undefined> {
  const body = readOrUndefined(() => parseJson(json))
  if (body === undefined) return errorText(null, PARSE_ERROR, 'it is not JSON')
  const answerNext = createBatchAnswerer(rpc, allowance)
  if (!Array.isArray(body)) return answerNext(body)
  if (body.length === 0 || body.length > MAX_BATCH)
    return errorText(null, INVALID_REQUEST, `a batch has from 1 to ${MAX_BATCH} requests`)
  const answers: string[] = []
  for (const request of body) {
    const answer = await answerNext(request)
    if (answer !== undefined) answers.push(answer)
  }
  return answers.length === 0 ? undefined : `[${answers.join(',')}]`
}

/**
 * Creates the function that answers the requests of a batch one by one. After a response over the limit, the others are
 * refused.
 */
function createBatchAnswerer(rpc: JsonRpc, allowance: MemoryAllowance): (request: Json) => Promise<string | undefined> {
  // The response to a batch is no larger than an engine reads.
  let remainingBytes = MAX_ANSWER_BYTES
  const countAllowedBytes = (): number => Math.min(remainingBytes, allowance.countFreeBytes())
  return async (request) => {
    const question = readQuestion(request)
    if (question === undefined) return errorText(null, INVALID_REQUEST, 'it is not a request')
    const { id } = question
    const answer = countAllowedBytes() > 0 ? await answerOne(rpc, question) : undefined
    if (id === undefined) return undefined
    if (answer === undefined || answer.length > Math.max(countAllowedBytes(), SHORT_ANSWER)) {
      remainingBytes = 0
      return errorText(id, TOO_LARGE, 'response too large: ask for less at once')
    }
    remainingBytes -= answer.length
    allowance.reserve(answer.length)
    return answer
  }
}

interface Question {
  /** The id; undefined for a notification, which has no response. */
  readonly id: string | number | null | undefined
  readonly method: string
  readonly params: readonly unknown[]
}

function readQuestion(request: Json): Question | undefined {
  if (!isObject(request)) return undefined
  const [id, method, params] = [memberOf(request, 'id'), memberOf(request, 'method'), memberOf(request, 'params') ?? []]
  if (typeof method !== 'string' || !Array.isArray(params)) return undefined
  return typeof id === 'boolean' || (typeof id === 'object' && id !== null) ? undefined : { id, method, params }
}

async function answerOne(rpc: JsonRpc, { id = null, method, params }: Question): Promise<string> {
  try {
    return JSON.stringify({ jsonrpc: '2.0', id, result: await rpc(method, params) })
  } catch (error) {
    if (error instanceof JsonRpcError) return errorText(id, error.code, error.message, error.data)
    reportError(FAILURE, error)
    return errorText(id, INTERNAL_ERROR, (error as Error).message)
  }
}

function errorText(id: Question['id'], code: number, message: string, data?: unknown): string {
  return JSON.stringify({ jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } })
}
