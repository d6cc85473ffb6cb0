/** A request to a component and its answer, on the wire: nothing in between changes what either of them said. */
import { hash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { toBase64url } from '../codec/base64url.ts'
import { type HttpRequestData, headerValue } from '../offchain/http-data.ts'
import { targetOf } from './call-target.ts'
import type { Quota } from './commit.ts'
import type { EngineContext } from './context.ts'
import type { Entry } from './contract-entry.ts'
import { corsHeaders } from './cors.ts'
import { type Performed, perform } from './perform.ts'
import { type Problem, type ProblemCode, problem } from './problem.ts'
import { requestHeaders, type WireResponse } from './response.ts'
import { routeOf, type Target } from './target.ts'

/** One exchange. `target` is what its address says. */
export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly target: Target
  readonly id: string
}

type Header = readonly [name: string, value: string]

/** Answers a request below `/offchain/`. Never rejects. */
export async function exchange(context: EngineContext, asked: Exchange): Promise<void> {
  const { log, metrics } = context
  try {
    const answer = await answerOf(context, asked)
    const isOurs = 'code' in answer
    if (isOurs) sendProblem(context, asked, answer)
    else send(asked, answer.status, answer.headers, answer.body)
    metrics.answers.inc({ status: String(asked.response.statusCode), error: isOurs ? answer.code : '' })
  } catch (err) {
    log.error({ event: 'request_failed', request: asked.id, err }, 'request failed')
    metrics.answers.inc({ status: '500', error: 'server-error' })
    sendProblem(context, asked, problem('server-error'))
  }
}

/** The answer of the component, or the engine's own. */
async function answerOf(context: EngineContext, asked: Exchange): Promise<WireResponse | Problem> {
  const entry = entryOf(context, asked.target)
  if (typeof entry === 'string') return problem(entry)
  const { request } = asked
  const body = await context.bodies.read(request, entry.address)
  if (typeof body === 'string') return problem(body)
  try {
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET')
    const { uri } = asked.target
    const data = { method, uri, headers: requestHeaders(request.rawHeaders), body: body.bytes }
    const performed = await perform(context, entry, () => targetOf(context, entry), {
      hook: { kind: 'http', request: data },
      mode: method === 'GET' ? 'shared' : 'serial',
      isAbandoned: () => asked.response.destroyed || request.socket.destroyed,
    })
    return componentAnswer(context, entry, { ...data, isHead: request.method === 'HEAD' }, performed)
  } finally {
    body.release()
  }
}

/** The contract, when it can be called, or which of the engine's own answers it is. */
function entryOf({ watcher, config }: EngineContext, { contract }: Target): Entry | ProblemCode {
  if (contract === undefined) return 'bad-address'
  if (watcher.unseenSeconds() > config.staleSeconds) return 'stale-chain'
  if (watcher.block() === undefined) return 'starting'
  const entry = watcher.get(contract)
  if (entry === undefined) return 'unknown-contract'
  if (entry.isOurs === false) return 'not-this-engine'
  const { state } = entry
  if (state.kind === 'failed')
    return entry.contract.component === undefined ? 'unknown-contract' : 'component-unavailable'
  if (state.kind === 'starting' || entry.isOurs === undefined) return 'starting'
  return state.hooks.includes('off_chain_on_http_request') ? entry : 'no-http-hook'
}

const PROBLEM_OF: Readonly<Record<Exclude<Performed['kind'], 'done' | 'quota'>, ProblemCode>> = {
  trap: 'component-trap',
  'bad-response': 'bad-component-response',
  deadline: 'deadline',
  overloaded: 'overloaded',
  // It was stopped, or changed its component, while this waited.
  unavailable: 'starting',
}

function componentAnswer(
  context: EngineContext,
  entry: Entry,
  request: HttpRequestData & { readonly isHead: boolean },
  performed: Performed,
): WireResponse | Problem {
  if (performed.kind === 'quota') return quotaProblem(context, performed)
  if (performed.kind !== 'done') return problem(PROBLEM_OF[performed.kind])
  const { config, signer } = context
  const { response: wire } = performed
  if (wire === undefined) return problem('bad-component-response')
  noteSigned(context, entry, request, performed)
  const block = performed.block.number
  const contentType = wire.headers.find(([name]) => name === 'content-type')?.[1] ?? ''
  const signature = signer.sign({
    contract: entry.address,
    request: {
      method: request.isHead ? 'HEAD' : request.method,
      uri: request.uri,
      authorization: headerValue(request, 'authorization') ?? '',
      bodyDigest: digest(request.body),
    },
    response: { status: wire.status, contentType, bodyDigest: digest(request.isHead ? new Uint8Array() : wire.body) },
    block,
  })
  const own: Header[] = [
    ['x-engine-block', String(block)],
    ['x-engine-signature', signature],
  ]
  return { ...wire, headers: [...wire.headers, ...own, ...corsHeaders(config.cors)] }
}

const QUOTA_PROBLEM: Readonly<Record<Quota['limit'], ProblemCode>> = {
  storageBytes: 'storage-quota',
  timers: 'storage-quota',
  outboxTransactions: 'transaction-quota',
  transactionsPerDay: 'transaction-quota',
}

function quotaProblem({ now }: EngineContext, { limit, until }: Quota): Problem {
  return problem(QUOTA_PROBLEM[limit], {
    retryAfter: until && Math.max(1, Math.ceil((until.getTime() - now().getTime()) / 1000)),
    detail: `the contract is at limits.${limit} of this engine, and nothing of the call was kept`,
  })
}

/** The audit log: who was believed to have signed what. Bodies and queries are not in it. */
function noteSigned(
  { log, metrics }: EngineContext,
  { address }: Entry,
  { method, uri }: HttpRequestData,
  { effects, response }: Extract<Performed, { kind: 'done' }>,
): void {
  const { signers } = effects
  if (signers.length === 0 && effects.spent.length === 0) return
  metrics.signed.inc()
  const line = { event: 'signed_request', contract: address, method, route: routeOf(uri), status: response?.status }
  log.info({ ...line, signers, ids: effects.spent.map(({ id }) => id) }, 'a signed request was accepted')
}

const DIGEST_OF_NOTHING = hash('sha256', '', 'buffer')

function digest(bytes: Uint8Array): Uint8Array {
  return bytes.length === 0 ? DIGEST_OF_NOTHING : hash('sha256', bytes, 'buffer')
}

export function sendProblem(
  context: Pick<EngineContext, 'watcher' | 'config'>,
  asked: Omit<Exchange, 'target'>,
  { status, headers, body }: Problem,
): void {
  const block = context.watcher.block()
  const all: Header[] = [
    ...Object.entries(headers),
    ...(block === undefined ? [] : [['x-engine-block', String(block.number)] as const]),
    ...corsHeaders(context.config.cors),
  ]
  send(asked, status, all, body)
}

const LINGER_MS = 1000

function send(asked: Omit<Exchange, 'target'>, status: number, headers: readonly Header[], body: Uint8Array): void {
  const { request, response, id } = asked
  if (response.headersSent || response.destroyed) return
  const isUnread = hasMore(request)
  const hasLength = status !== 204 && status !== 304
  const fields = fieldsOf([['x-request-id', id], ['x-content-type-options', 'nosniff'], ...headers])
  if (hasLength) fields.set('content-length', String(body.length))
  if (isUnread) fields.set('connection', 'close')
  // Not one by one, each of which Node would keep and look at again.
  response.writeHead(status, [...fields].flat(1))
  const sent = hasLength && request.method !== 'HEAD' ? body : undefined
  if (isUnread) linger(asked, sent)
  else response.end(sent)
}

/** Each name once, with all its values. */
function fieldsOf(headers: readonly Header[]): Map<string, string | string[]> {
  const fields = new Map<string, string | string[]>()
  for (const [name, value] of headers) {
    const before = fields.get(name)
    fields.set(name, before === undefined ? value : [before, value].flat())
  }
  return fields
}

/** Whether the client may still be sending. */
function hasMore({ complete, readableEnded, headers }: IncomingMessage): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': coding } = headers
  return !complete && !readableEnded && (coding !== undefined || Number(length) > 0)
}

/** What the client still sends is read and let go for a moment, so that it comes to read the answer. */
function linger({ request, response }: Omit<Exchange, 'target'>, body: Uint8Array | undefined): void {
  if (body !== undefined) response.write(body)
  const end = (): void => {
    clearTimeout(timer)
    response.end()
  }
  const timer = setTimeout(end, LINGER_MS)
  request.once('end', end).once('close', end).resume()
}

export function requestId(random: (bytes: number) => Uint8Array): string {
  return toBase64url(random(12))
}
