/** Passes an HTTP request to a component, and sends its signed answer. */

import { hash } from 'node:crypto'
import { pathOf } from '../codec/url.ts'
import { SMALL_PARTS } from '../http/body-memory.ts'
import { hook as hookNames } from '../offchain/hosted.ts'
import { type HttpRequestData, headerValue } from '../offchain/http-data.ts'
import type { BodyRefusal } from './body.ts'
import { callRefusal } from './call-refusal.ts'
import type { EngineContext } from './context.ts'
import { type ContractEntry, findCallTarget } from './contract-entry.ts'
import { corsHeaders } from './cors.ts'
import { type CallRequest, type CallResult, performCall } from './perform.ts'
import { makeLimitProblem, makeProblem, type ProblemCode, ProblemError } from './problem.ts'
import { requestHeaders, type WireResponse } from './response.ts'
import { type HeaderPair, type PendingResponse, sendProblem, sendResponse } from './send.ts'
import type { RequestTarget } from './target.ts'

/** A request with its pending response and the target of its URL. */
interface Exchange extends PendingResponse {
  readonly target: RequestTarget
}

/**
 * Answers a request below `/offchain/`, with the response of the component or with a problem. Never rejects. Answers
 * nothing when the client disconnected before the call's turn.
 */
export async function answerRequest(context: EngineContext, exchange: Exchange): Promise<void> {
  const { log, metrics } = context
  try {
    const answer = await callComponent(context, exchange)
    if (answer === undefined) return
    const { status, headers, body } = answer
    sendResponse(exchange, status, headers, body)
    metrics.answers.inc({ status: String(exchange.response.statusCode), error: '' })
  } catch (err) {
    const isRefusal = err instanceof ProblemError
    if (!isRefusal) log.error({ event: 'request_failed', request: exchange.id, err }, 'request failed')
    const refusal = isRefusal ? err.problem : makeProblem('server-error')
    metrics.answers.inc({ status: String(refusal.status), error: refusal.code })
    context.tracer?.recordRefusal(exchange.request, refusal.code)
    sendProblem(context, exchange, refusal)
  }
}

/**
 * Runs the HTTP hook of the component, and returns the signed response; undefined when the client has disconnected.
 * Rejects with a ProblemError when the engine has to answer instead.
 */
async function callComponent(context: EngineContext, exchange: Exchange): Promise<WireResponse | undefined> {
  const entry = requireServedContract(context, exchange.target)
  const { request } = exchange
  const body = await context.bodyBuffer.read(request, entry.address)
  if ('refusal' in body) refuseBody(context, body.refusal)
  try {
    const isHead = request.method === 'HEAD'
    const method = isHead ? 'GET' : (request.method ?? 'GET')
    const { uri } = exchange.target
    const data = { method, uri, headers: requestHeaders(request.rawHeaders), body: body.bytes }
    const hook = { kind: 'http', request: data, isHead } as const
    const call: CallRequest = {
      hook,
      requestId: exchange.id,
      mode: method === 'GET' ? 'shared' : 'serial',
      isAbandoned: () => exchange.response.destroyed || request.socket.destroyed,
    }
    const runCall = (): Promise<CallResult> => performCall(context, entry, () => findCallTarget(context, entry), call)
    const result = await (context.inSpan?.('call component', runCall) ?? runCall())
    return result.kind === 'abandoned' ? undefined : signAnswer(context, entry, hook, result)
  } finally {
    body.release()
  }
}

/** Returns the contract of a target. Throws a ProblemError when the contract cannot be called. */
function requireServedContract({ watcher }: EngineContext, { address }: RequestTarget): ContractEntry {
  if (address === undefined) refuseWith('bad-address')
  if (watcher.isStale(address)) refuseWith('stale-chain')
  if (watcher.getHead() === undefined) refuseWith('starting')
  const entry = watcher.findEntry(address)
  if (entry === undefined) refuseWith('unknown-contract')
  if (entry.listsThisEngine === false) refuseWith('not-this-engine')
  const { state } = entry
  if (state.kind === 'failed')
    refuseWith(entry.contract.component === undefined ? 'unknown-contract' : 'component-unavailable')
  if (state.kind === 'starting' || entry.listsThisEngine === undefined) refuseWith('starting')
  if (!state.hooks.includes(hookNames.httpRequest)) refuseWith('no-http-hook')
  return entry
}

function refuseWith(code: ProblemCode): never {
  throw new ProblemError(makeProblem(code))
}

function refuseBody({ config: { limits } }: EngineContext, refusal: BodyRefusal['refusal']): never {
  if (refusal === 'body-too-large') throw new ProblemError(makeLimitProblem(refusal, limits.bodyBytes))
  if (refusal === 'body-in-tiny-parts') throw new ProblemError(makeProblem('bad-request', { detail: SMALL_PARTS }))
  return refuseWith(refusal)
}

/**
 * Returns the response of a call with the headers and the signature of the engine. Throws a ProblemError for a call
 * that is not `done`.
 */
function signAnswer(
  context: EngineContext,
  entry: ContractEntry,
  { request, isHead }: { readonly request: HttpRequestData; readonly isHead: boolean },
  result: Exclude<CallResult, { kind: 'abandoned' }>,
): WireResponse {
  if (result.kind !== 'done') throw new ProblemError(callRefusal(context, entry, result))
  const { config, signer } = context
  const { response: wire } = result
  if (wire === undefined) refuseWith('bad-component-response')
  logSignedRequest(context, entry, request, result)
  const block = result.block.number
  const contentType = wire.headers.find(([name]) => name === 'content-type')?.[1] ?? ''
  const signature = signer.sign({
    contract: entry.address,
    request: {
      method: isHead ? 'HEAD' : request.method,
      uri: request.uri,
      authorization: headerValue(request, 'authorization') ?? '',
      bodyDigest: digest(request.body),
    },
    response: { status: wire.status, contentType, bodyDigest: digest(isHead ? new Uint8Array() : wire.body) },
    block,
  })
  const ownHeaders: HeaderPair[] = [
    ['x-engine-block', String(block)],
    ['x-engine-signature', signature],
  ]
  return { ...wire, headers: [...wire.headers, ...ownHeaders, ...corsHeaders(config.cors)] }
}

/** Logs the signers of an accepted request, for audits, without its body and query, which may contain personal data. */
function logSignedRequest(
  { log, metrics }: EngineContext,
  { address }: ContractEntry,
  { method, uri }: HttpRequestData,
  { effects, response }: Extract<CallResult, { kind: 'done' }>,
): void {
  const { signers } = effects
  if (signers.length === 0 && effects.spentRequests.length === 0) return
  metrics.signed.inc()
  const line = { event: 'signed_request', contract: address, method, route: pathOf(uri), status: response?.status }
  log.info({ ...line, signers, ids: effects.spentRequests.map(({ id }) => id) }, 'a signed request was accepted')
}

const DIGEST_OF_NOTHING = hash('sha256', '', 'buffer')

function digest(bytes: Uint8Array): Uint8Array {
  return bytes.length === 0 ? DIGEST_OF_NOTHING : hash('sha256', bytes, 'buffer')
}
