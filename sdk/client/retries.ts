/** Asking an engine again: when it may only be behind the chain, or busy, or out of reach for a moment. */
import type { Engine } from '../../src/chain/chain.ts'
import type { EngineAnswer, EngineRequest } from './call.ts'
import { componentRefused, type EngineClient } from './engine-client.ts'
import { EngineError } from './errors.ts'

export interface Persistence {
  /** What was done on the chain is in this block: an engine that answers by an older one does not know of it yet. */
  readonly block: number
  readonly patienceMs: number
}

/** An engine that cannot be reached is asked so often. */
const ATTEMPTS = 3
const FIRST_DELAY_MS = 200
const LONGEST_DELAY_MS = 2000

/** The answer of a component, below 300; each attempt is signed anew. Rejects with the last {@link EngineError}. */
export async function askUntil(
  client: EngineClient,
  engine: Engine,
  request: EngineRequest,
  { block, patienceMs, signal }: Persistence & { readonly signal?: AbortSignal },
): Promise<EngineAnswer> {
  const end = client.now().getTime() + patienceMs
  for (let attempt = 1; ; attempt++) {
    const tried = await attemptOf(client, engine, request, signal)
    const failed = tried instanceof EngineError
    if (!failed && tried.status < 300) return tried
    const isBehind = !failed && (tried.block === undefined || tried.block < block)
    const error = failed ? tried : componentRefused(tried)
    const mayHelp = isBehind || (isPassing(error) && (isWaitedFor(error) || attempt < ATTEMPTS))
    if (!mayHelp || client.now().getTime() >= end) throw error
    await client.wait(Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1)))
    signal?.throwIfAborted()
  }
}

async function attemptOf(
  client: EngineClient,
  engine: Engine,
  request: EngineRequest,
  signal: AbortSignal | undefined,
): Promise<EngineAnswer | EngineError> {
  try {
    return await client.call(engine, request, signal)
  } catch (error) {
    if (error instanceof EngineError) return error
    throw error
  }
}

/** What may be another answer the next time. */
function isPassing({ code, status = 0, problem }: EngineError): boolean {
  if (code === 'unreachable' || code === 'deadline') return true
  // A contract of a moment ago may not have been noticed.
  if (code === 'engine-refused') return status === 429 || status >= 500 || problem === 'unknown-contract'
  return code === 'component-refused' && status >= 500
}

/** The engine is there, and says that it is not ready. A quota may last until the next day. */
function isWaitedFor({ code, status, problem }: EngineError): boolean {
  if (code !== 'engine-refused' || problem === 'transaction-quota') return false
  return status === 429 || status === 503 || problem === 'unknown-contract'
}
