/** `vouchsafe chain serve`: a chain as JSON-RPC over HTTP on this machine, for wallets, Hardhat, Foundry and the like. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type JsonRpc, JsonRpcError } from '../../chain/json-rpc.ts'
import { isObject, type Json, own, parseJson } from '../../codec/json.ts'

const MAX_BODY_BYTES = 2 * 1024 * 1024
const MAX_BATCH = 1000
const PARSE_ERROR = -32700
const INVALID_REQUEST = -32600
const INTERNAL_ERROR = -32603

/** Resolves once it listens, on loopback; then it answers until the process ends. */
export async function serveChain(rpc: JsonRpc, port: number): Promise<void> {
  const server = createServer((request, response) => {
    answerHttp(rpc, request, response).catch(() => response.destroy())
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  process.stdout.write(`The chain answers at http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      server.close()
      server.closeAllConnections()
    })
  }
}

async function answerHttp(rpc: JsonRpc, request: IncomingMessage, response: ServerResponse): Promise<void> {
  if (request.method !== 'POST') {
    response.writeHead(405, { allow: 'POST' }).end()
    return
  }
  const parts: Buffer[] = []
  let size = 0
  for await (const part of request as AsyncIterable<Buffer>) {
    size += part.length
    if (size > MAX_BODY_BYTES) {
      response.writeHead(413, { connection: 'close' }).end()
      return
    }
    parts.push(part)
  }
  const answer = JSON.stringify(await answerText(rpc, Buffer.concat(parts).toString('utf8')))
  response.writeHead(200, { 'content-type': 'application/json' }).end(answer)
}

async function answerText(rpc: JsonRpc, text: string): Promise<unknown> {
  let asked: Json
  try {
    asked = parseJson(text)
  } catch {
    return failure(null, PARSE_ERROR, 'it is not JSON')
  }
  if (!Array.isArray(asked)) return answerOne(rpc, asked)
  if (asked.length === 0 || asked.length > MAX_BATCH) return failure(null, INVALID_REQUEST, 'none, or too many at once')
  const answers: unknown[] = []
  for (const one of asked) answers.push(await answerOne(rpc, one))
  return answers
}

async function answerOne(rpc: JsonRpc, asked: Json): Promise<unknown> {
  const [id, method, params] = isObject(asked)
    ? [own(asked, 'id') ?? null, own(asked, 'method'), own(asked, 'params') ?? []]
    : [null, undefined, []]
  if (typeof method !== 'string' || !Array.isArray(params)) return failure(id, INVALID_REQUEST, 'it is no request')
  try {
    return { jsonrpc: '2.0', id, result: await rpc(method, params) }
  } catch (error) {
    if (error instanceof JsonRpcError) return failure(id, error.code, error.message, error.data)
    return failure(id, INTERNAL_ERROR, (error as Error).message)
  }
}

function failure(id: Json, code: number, message: string, data?: unknown): unknown {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } }
}
