/**
 * Asking an engine again: when it may only be behind the chain, or busy, or out of reach for a moment. A person who
 * signs is asked as seldom as possible.
 */
import type { ListedEngine } from '../../src/chain/chain.ts'
import { componentRefused, type EngineAnswer, type EngineRequest } from './call.ts'
import { EngineError } from './errors.ts'
import type { RequestSigner } from './signers.ts'

/** Asks an engine once, whose error is a value. Rejects with any other error. */
type Attempt = () => Promise<EngineAnswer | EngineError>

/** The part of a client that asks an engine, and waits. */
interface Asking {
  call(engine: ListedEngine, request: EngineRequest, signal?: AbortSignal): Promise<EngineAnswer>
  readonly now: () => Date
  readonly wait: (ms: number) => Promise<void>
}

export interface RetryTimeout {
  /** The time to wait, which begins anew whenever the engine has reached a later block. */
  readonly patienceMs: number
  /** The longest time to wait for an engine that reaches later blocks; a quarter of an hour when absent. */
  readonly mostMs?: number
  readonly signal?: AbortSignal
}

export interface RetryTerms extends RetryTimeout {
  /** The block that has the client's transaction: an engine that answers by an older one does not know of it yet. */
  readonly block: number
}

/** The number of times that an engine is asked when it cannot be reached. */
const ATTEMPTS = 3
const FIRST_DELAY_MS = 200
const MAX_DELAY_MS = 2000
/**
 * The longest time to wait for an engine whose blocks come nearer, when the patience ends sooner: as long as 64
 * confirmations of 12 seconds take, and a little longer.
 */
const MAX_RISING_MS = 900_000

/** The time before its end from which an authorization is not sent any more. */
const LAST_MS = 20_000
/** The problems of an engine whose component fails at one request, and may not at another. */
const COMPONENT_PROBLEMS: readonly (string | undefined)[] = ['component-trap', 'bad-component-response']

/**
 * Returns the answer of a component, below 300; each attempt is signed anew, unless a person signs. Rejects with the
 * last {@link EngineError}.
 */
export async function askUntilAccepted(
  client: Asking,
  engine: ListedEngine,
  request: EngineRequest,
  terms: RetryTerms,
): Promise<EngineAnswer> {
  const answer = await askForFinalAnswer(client, engine, request, terms)
  if (answer.status >= 300) throw componentRefused(answer)
  return answer
}

/** Asks an engine like {@link askUntilAccepted}, and returns the last answer also where the component refuses. */
export async function askForFinalAnswer(
  client: Asking,
  engine: ListedEngine,
  request: EngineRequest,
  { block, ...patience }: RetryTerms,
): Promise<EngineAnswer> {
  const isPersonal = request.signer?.personalLifeMs !== undefined
  if (isPersonal) await waitForBlock(client, engine, request.path, { block, ...patience })
  return repeatAttempt(client, attemptOf(client, engine, request, patience.signal), patience, (result, attempts) => {
    if (result instanceof EngineError) return mayPass(result, attempts)
    if (result.status < 300) return false
    const isBehind = !isPersonal && (result.block === undefined || result.block < block)
    return isBehind || (result.status >= 500 && attempts < ATTEMPTS)
  })
}

/** Makes any request, and again only where the engine itself says that it did nothing. */
export function askWhenReady(
  client: Asking,
  engine: ListedEngine,
  request: EngineRequest,
  patience: RetryTimeout,
): Promise<EngineAnswer> {
  const attempt = attemptOf(client, engine, request, patience.signal)
  return repeatAttempt(client, attempt, patience, (result) => result instanceof EngineError && isNotReady(result))
}

/**
 * Waits until an engine answers by `block`, or by a later one, what nobody has signed. Rejects with an
 * {@link EngineError} where it does not answer; resolves where its component fails, or the patience ends.
 */
export async function waitForBlock(
  client: Asking,
  engine: ListedEngine,
  path: string,
  { block, ...patience }: RetryTerms,
): Promise<void> {
  try {
    const attempt = attemptOf(client, engine, { method: 'GET', path }, patience.signal)
    await repeatAttempt(client, attempt, patience, (result, attempts) =>
      result instanceof EngineError ? mayPass(result, attempts) : result.block !== undefined && result.block < block,
    )
  } catch (error) {
    if (!(error instanceof EngineError && COMPONENT_PROBLEMS.includes(error.problem))) throw error
  }
}

/** Makes the function that asks the engine once more, and keeps what a person has signed where that may be. */
function attemptOf(
  client: Asking,
  engine: ListedEngine,
  { signer, ...request }: EngineRequest,
  signal: AbortSignal | undefined,
): Attempt {
  const keeper = signer?.personalLifeMs === undefined ? undefined : keepAuthorization(signer, signer.personalLifeMs)
  const signedRequest = signer === undefined ? request : { ...request, signer: keeper?.signer ?? signer }
  return async () => {
    const result = await catchEngineError(client.call(engine, signedRequest, signal))
    // An engine that did something may have taken the authorization, which is good once.
    if (!(result instanceof EngineError && isNotReady(result))) keeper?.forget()
    return result
  }
}

interface AuthorizationKeeper {
  readonly signer: RequestSigner
  /** Makes the signer ask for the next authorization. */
  readonly forget: () => void
}

/** Makes a signer for one request that gives the authorization of a person again until shortly before its end. */
function keepAuthorization(signer: RequestSigner, lifeMs: number): AuthorizationKeeper {
  const { address } = signer
  let kept: { readonly authorization: string; readonly until: number } | undefined
  const authorize: RequestSigner['authorize'] = async (request, recipient, inputs) => {
    const time = inputs.now.getTime()
    if (kept !== undefined && time < kept.until) return kept.authorization
    const authorization = await signer.authorize(request, recipient, inputs)
    kept = { authorization, until: time + lifeMs - LAST_MS }
    return authorization
  }
  return {
    signer: { address, authorize },
    forget: () => {
      kept = undefined
    },
  }
}

async function repeatAttempt(
  { now, wait }: Asking,
  attempt: Attempt,
  { patienceMs, mostMs = MAX_RISING_MS, signal }: RetryTimeout,
  mayHelp: (result: EngineAnswer | EngineError, attempts: number) => boolean,
): Promise<EngineAnswer> {
  let end = now().getTime() + patienceMs
  const lastEnd = Math.max(end, now().getTime() + mostMs)
  let highestBlock = 0
  for (let attempts = 1; ; attempts++) {
    const result = await attempt()
    if (!(result instanceof EngineError) && result.block !== undefined && result.block > highestBlock) {
      highestBlock = result.block
      end = Math.min(now().getTime() + patienceMs, lastEnd)
    }
    if (!mayHelp(result, attempts) || now().getTime() >= end) {
      if (result instanceof EngineError) throw result
      return result
    }
    await wait(Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempts - 1)))
    signal?.throwIfAborted()
  }
}

async function catchEngineError(answer: Promise<EngineAnswer>): Promise<EngineAnswer | EngineError> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof EngineError) return error
    throw error
  }
}

/** Tests whether an error of one of the first attempts may not be that of the next. */
function mayPass(error: EngineError, attempts: number): boolean {
  return isNotReady(error) || (isTemporaryError(error) && attempts < ATTEMPTS)
}

/** Tests whether another attempt may have another outcome. */
function isTemporaryError({ code, status = 0, problem }: EngineError): boolean {
  if (code === 'unreachable' || code === 'deadline') return true
  // A contract of a moment ago may not have been noticed.
  return code === 'engine-refused' && (status === 429 || status >= 500 || problem === 'unknown-contract')
}

/**
 * Tests whether an engine says that it is not ready yet. A quota is not waited for, since it may last until the next
 * day.
 */
function isNotReady({ code, status, problem }: EngineError): boolean {
  if (code !== 'engine-refused' || problem === 'transaction-quota') return false
  return status === 429 || status === 503 || problem === 'unknown-contract'
}
