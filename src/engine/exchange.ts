/** A request to a component and its answer, on the wire: nothing in between changes what either of them said. */
import { hash } from 'node:crypto'
import { type HttpRequestData, headerValue } from '../offchain/http-data.ts'
import { targetOf } from './call-target.ts'
import type { EngineContext } from './context.ts'
import type { ContractEntry } from './contract-entry.ts'
import { corsHeaders } from './cors.ts'
import { type CallRequest, type CallResult, perform, problemCode } from './perform.ts'
import { type ProblemCode, ProblemError, type ProblemResponse, problem } from './problem.ts'
import { requestHeaders, type WireResponse } from './response.ts'
import { type HeaderPair, type PendingResponse, send, sendProblem } from './send.ts'
import { routeOf, type Target } from './target.ts'

/** A request and its pending response, with the target that its URL names. */
interface Exchange extends PendingResponse {
  readonly target: Target
}

/** Answers a request below `/offchain/`. Never rejects. */
export async function answerRequest(context: EngineContext, exchange: Exchange): Promise<void> {
  const { log, metrics } = context
  try {
    const { status, headers, body } = await componentAnswer(context, exchange)
    send(exchange, status, headers, body)
    metrics.answers.inc({ status: String(exchange.response.statusCode), error: '' })
  } catch (err) {
    const isRefusal = err instanceof ProblemError
    if (!isRefusal) log.error({ event: 'request_failed', request: exchange.id, err }, 'request failed')
    const refusal = isRefusal ? err.problem : problem('server-error')
    metrics.answers.inc({ status: String(refusal.status), error: refusal.code })
    context.tracer?.recordRefusal(exchange.request, refusal.code)
    sendProblem(context, exchange, refusal)
  }
}

/** Returns the answer of the component. Rejects with a ProblemError where the engine answers in its place. */
async function componentAnswer(context: EngineContext, exchange: Exchange): Promise<WireResponse> {
  const entry = entryOf(context, exchange.target)
  const { request } = exchange
  const body = await context.bodyBuffer.read(request, entry.address)
  if ('refusal' in body) refuseWith(body.refusal)
  try {
    const method = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET')
    const { uri } = exchange.target
    const data = { method, uri, headers: requestHeaders(request.rawHeaders), body: body.bytes }
    const call: CallRequest = {
      hook: { kind: 'http', request: data },
      request: exchange.id,
      mode: method === 'GET' ? 'shared' : 'serial',
      isAbandoned: () => exchange.response.destroyed || request.socket.destroyed,
    }
    const run = (): Promise<CallResult> => perform(context, entry, () => targetOf(context, entry), call)
    const performed = await (context.inSpan?.('call component', run) ?? run())
    return signedAnswer(context, entry, { ...data, isHead: request.method === 'HEAD' }, performed)
  } finally {
    body.release()
  }
}

/** Returns the contract, when it can be called. Throws a ProblemError otherwise. */
function entryOf({ watcher }: EngineContext, { contract }: Target): ContractEntry {
  if (contract === undefined) refuseWith('bad-address')
  if (watcher.isStale(contract)) refuseWith('stale-chain')
  if (watcher.block() === undefined) refuseWith('starting')
  const entry = watcher.get(contract)
  if (entry === undefined) refuseWith('unknown-contract')
  if (entry.isOurs === false) refuseWith('not-this-engine')
  const { state } = entry
  if (state.kind === 'failed')
    refuseWith(entry.contract.component === undefined ? 'unknown-contract' : 'component-unavailable')
  if (state.kind === 'starting' || entry.isOurs === undefined) refuseWith('starting')
  if (!state.hooks.includes('off_chain_on_http_request')) refuseWith('no-http-hook')
  return entry
}

function refuseWith(code: ProblemCode): never {
  throw new ProblemError(problem(code))
}

function signedAnswer(
  context: EngineContext,
  entry: ContractEntry,
  request: HttpRequestData & { readonly isHead: boolean },
  performed: CallResult,
): WireResponse {
  if (performed.kind !== 'done') throw new ProblemError(performedProblem(context, entry, performed))
  const { config, signer } = context
  const { response: wire } = performed
  if (wire === undefined) refuseWith('bad-component-response')
  logSigned(context, entry, request, performed)
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
  const own: HeaderPair[] = [
    ['x-engine-block', String(block)],
    ['x-engine-signature', signature],
  ]
  return { ...wire, headers: [...wire.headers, ...own, ...corsHeaders(config.cors)] }
}

function performedProblem(
  context: EngineContext,
  entry: ContractEntry,
  performed: Exclude<CallResult, { kind: 'done' }>,
): ProblemResponse {
  if (performed.kind === 'quota') return quotaProblem(context, performed)
  if (performed.kind === 'reconciling') return reconcilingProblem(context, entry)
  return problem(problemCode(performed))
}

/** Says when the hook runs next, and that it fails, where the contract waits for a hook that failed. */
function reconcilingProblem({ now }: EngineContext, { fork, hook }: ContractEntry): ProblemResponse {
  if (fork.standing !== 'reconciling' || hook.problem === undefined) return problem('reconciling')
  return problem('reconciling', {
    retryAfter: Math.max(1, Math.ceil((hook.notBefore - now().getTime()) / 1000)),
    detail:
      'the chain took back a block that this contract had been served at, and its state change hook, ' +
      `which has to run first, fails (${hook.problem}); the engine tries it again, and its log has the reason`,
  })
}

function quotaProblem({ now }: EngineContext, performed: Extract<CallResult, { kind: 'quota' }>): ProblemResponse {
  const { limit, until } = performed
  return problem(problemCode(performed), {
    retryAfter: until && Math.max(1, Math.ceil((until.getTime() - now().getTime()) / 1000)),
    detail: `the contract is at limits.${limit} of this engine, and nothing of the call was kept`,
  })
}

/** Logs for the audit who signed a request that was accepted, without its body and query. */
function logSigned(
  { log, metrics }: EngineContext,
  { address }: ContractEntry,
  { method, uri }: HttpRequestData,
  { effects, response }: Extract<CallResult, { kind: 'done' }>,
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
