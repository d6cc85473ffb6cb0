/**
 * Sends one request to one engine: signed for it, bounded in time and size, never redirected; and its answer, with who
 * signed it.
 */
import type { ListedEngine } from '../../src/chain/chain.ts'
import { type Address, evmAddress } from '../../src/offchain/address.ts'
import type { Recipient } from '../../src/offchain/authentication/signed-request.ts'
import type { HttpRequestData } from '../../src/offchain/http-data.ts'
import { readBounded } from './bounded.ts'
import { EngineError, systemCode } from './errors.ts'
import { isSignedByEngine, type ResponseKeys } from './response-keys.ts'
import type { RequestSigner, SigningInputs } from './signers.ts'

export interface EngineRequest {
  readonly method: string
  /** The part of the target after the contract's address: from its slash on, with its query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** The signer of the request; without one the request is not signed. */
  readonly signer?: RequestSigner
}

export interface EngineAnswer {
  readonly engine: ListedEngine
  readonly status: number
  readonly headers: Headers
  readonly body: Uint8Array
  /** The block at which the engine answered; undefined when the engine does not say. */
  readonly block: number | undefined
  /** Whether this engine can be held to its answer. A wrong signature is an error. */
  readonly signed: boolean
}

export interface CallLimits {
  /** The time limit for each engine, its whole answer included. */
  readonly deadlineMs: number
  readonly maxBytes: number
  readonly requireSignature: boolean
}

/** The context of a request: the way to send it, and the contract that it is for. */
export interface CallContext {
  readonly fetch: typeof fetch
  readonly now: () => Date
  readonly random: SigningInputs['random']
  readonly keys: ResponseKeys
  readonly limits: CallLimits
  readonly contract: Address
  readonly chain: Recipient['chain']
}

/** Calls an engine. Rejects with an {@link EngineError}, and with the reason of `signal` when that ends the call. */
export async function callEngine(
  context: CallContext,
  engine: ListedEngine,
  wantedRequest: EngineRequest,
  signal?: AbortSignal,
): Promise<EngineAnswer> {
  // Some methods are sent in upper case however they are written, and what is signed must be what is sent.
  const request = { ...wantedRequest, method: wantedRequest.method.toUpperCase() }
  refuseUnlessEndpoint(engine)
  const { url, uri } = target(context, engine, request.path)
  const recipient = { engine: engine.address, contract: context.contract, chain: context.chain }
  const headers = new Headers({ ...request.headers })
  const data = requestOf(request, uri, headers)
  const { signer } = request
  const inputs = { now: context.now(), random: context.random }
  if (signer !== undefined) headers.set('authorization', await signer.authorize(data, recipient, inputs))
  const deadline = AbortSignal.timeout(context.limits.deadlineMs)
  const until = signal === undefined ? deadline : AbortSignal.any([deadline, signal])
  const signedBy = { ...recipient, authorization: headers.get('authorization') ?? '' }
  const run = async (): Promise<EngineAnswer> => {
    const answer = await exchange(context, engine, new Request(url, initOf(request, headers, until)), until)
    return {
      ...answer,
      signed: await isSignedByEngine(context, { engine, request: data, recipient: signedBy, answer, until }),
    }
  }
  const answer = await run().catch((error: unknown) => {
    if (error instanceof EngineError) throw error
    signal?.throwIfAborted()
    throw deadline.aborted ? new EngineError(engine, 'deadline') : unreachable(engine, error)
  })
  // The engine signs the answers of components alone, and no problem of its own.
  const isProblem = answer.headers.has('x-engine-error')
  if (!answer.signed && !isProblem && context.limits.requireSignature) throw new EngineError(engine, 'no-signature')
  return answer
}

function initOf({ method, body }: EngineRequest, headers: Headers, signal: AbortSignal): RequestInit {
  // A copy with a buffer of its own, which is what fetch takes.
  const sent = body === undefined ? {} : { body: new Uint8Array(body) }
  return { method, headers, signal, redirect: 'manual', credentials: 'omit', cache: 'no-store', ...sent }
}

function requestOf({ method, body }: EngineRequest, uri: string, headers: Headers): HttpRequestData {
  const list = [...headers].map(([name, value]) => ({ name, values: [value] }))
  return { method, uri, headers: list, body: body ?? new Uint8Array() }
}

/** Refuses an engine whose endpoint no path can follow. */
function refuseUnlessEndpoint(engine: ListedEngine): void {
  const { endpoint } = engine
  if (endpoint === '') throw new EngineError(engine, 'no-endpoint')
  if (!/^https?:[^?#]+$/i.test(endpoint) || !URL.canParse(endpoint)) {
    const message = 'what the contract names for it is not a URL over HTTP without query and fragment'
    throw new EngineError(engine, 'no-endpoint', { message })
  }
}

/** Returns the target as it will be sent, so that just that is signed. */
function target({ contract, chain }: CallContext, { endpoint }: ListedEngine, path: string): { url: URL; uri: string } {
  const base = `${endpoint}/offchain/${chain.addresses === 'evm' ? evmAddress(contract) : contract}`
  const [url, prefix] = [new URL(base + path), new URL(base).pathname]
  if (!path.startsWith('/') || !url.pathname.startsWith(`${prefix}/`) || url.hash !== '') {
    throw new TypeError('a path begins with a slash, stays below its contract and has no fragment')
  }
  return { url, uri: `${url.pathname}${url.search}`.slice(prefix.length) }
}

type UnsignedAnswer = Omit<EngineAnswer, 'signed'>

async function exchange(
  { fetch, limits }: CallContext,
  engine: ListedEngine,
  request: Request,
  signal: AbortSignal,
): Promise<UnsignedAnswer> {
  const response = await fetch(request)
  if (
    response.type === 'opaqueredirect' ||
    (response.status >= 300 && response.status < 400 && response.status !== 304)
  ) {
    await response.body?.cancel()
    throw new EngineError(engine, 'redirected')
  }
  const body = await readBounded(response, limits.maxBytes, signal)
  if (body === undefined) throw new EngineError(engine, 'answer-too-large')
  const { status, headers } = response
  const block = /^\d{1,15}$/.exec(headers.get('x-engine-block') ?? '')?.[0]
  return { engine, status, headers, body, block: block === undefined ? undefined : Number(block) }
}

function unreachable(engine: ListedEngine, error: unknown): EngineError {
  return new EngineError(engine, 'unreachable', { message: `it could not be reached${systemCode(error)}` })
}

export function componentRefused({ engine, status }: EngineAnswer): EngineError {
  return new EngineError(engine, 'component-refused', { status, message: `its component refused (${status})` })
}
