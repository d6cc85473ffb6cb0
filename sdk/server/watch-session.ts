/** Follows a session by its stream of events, over as many connections as that takes. */
import { parseJson } from '../../src/codec/json.ts'
import { readOrUndefined } from '../../src/codec/malformed.ts'
import {
  isTemporary,
  refusalOf,
  type ServiceOptions,
  serviceAddress,
  TIMEOUT_MS,
  unreachable,
  waitUnlessAborted,
} from './call-service.ts'
import { readEvents } from './event-source.ts'
import { ServiceError } from './service-error.ts'

export interface WatchOptions {
  readonly signal?: AbortSignal
}

/**
 * Yields the status of a session, and each change of it until the end. Rejects with a {@link ServiceError}, or with the
 * reason of the signal.
 */
export type WatchSession<Session> = (sessionId: string, options?: WatchOptions) => AsyncGenerator<Session, void>

/**
 * The time without a byte after which a stream counts as broken, since the service sends a comment every 15 seconds.
 */
const IDLE_MS = 45_000
/** The pause before the first attempt to connect again, until the service has named another. */
const RETRY_MS = 500
const MAX_PAUSE_MS = 15_000
const EVENT_STREAM = 'text/event-stream'

/**
 * Makes the function that follows sessions of one service, whose streams are below `path`. It connects again while the
 * service cannot be reached, is overloaded or stops, for as long as a call may take.
 */
export function createWatchSession<Session>(
  options: ServiceOptions,
  path: string,
  idleMilliseconds = IDLE_MS,
): WatchSession<Session> {
  const { timeoutMilliseconds = TIMEOUT_MS } = options
  return async function* (sessionId, { signal } = {}) {
    let latest: string | undefined
    let retryMs = RETRY_MS
    let attempt = 0
    let failingSince: number | undefined
    const onRetry = (milliseconds: number): void => {
      retryMs = milliseconds
    }
    for (;;) {
      signal?.throwIfAborted()
      let failure = new ServiceError('unreachable', 'the stream of the session closed before its end')
      try {
        const body = await connect(options, path + encodeURIComponent(sessionId), signal)
        for await (const { event, data } of readEvents(body, { idleMilliseconds, onRetry })) {
          attempt = 0
          failingSince = undefined
          if (event === 'end') return
          if (event !== 'status' || data === latest) continue
          latest = data
          yield statusOf(data) as Session
        }
      } catch (error) {
        signal?.throwIfAborted()
        failure = error instanceof ServiceError ? error : unreachable(error)
        if (!isTemporary(failure)) throw failure
      }
      failingSince ??= performance.now()
      const leastPause = (failure.retryAfterSeconds ?? 0) * 1000
      if (performance.now() - failingSince + leastPause >= timeoutMilliseconds) throw failure
      await waitUnlessAborted(Math.max(drawPause(retryMs, attempt), leastPause), signal)
      attempt += 1
    }
  }
}

/** Draws a pause, which grows with the attempts; clients that lost one service come back one after the other. */
function drawPause(retryMs: number, attempt: number): number {
  const [drawn = 0] = crypto.getRandomValues(new Uint8Array(1))
  return Math.min(retryMs * 2 ** attempt, MAX_PAUSE_MS) * (0.5 + drawn / 512)
}

async function connect(
  options: ServiceOptions,
  path: string,
  signal: AbortSignal | undefined,
): Promise<ReadableStream<Uint8Array>> {
  const { base, send, authorization } = serviceAddress(options)
  const headers = { authorization, accept: EVENT_STREAM }
  // The time is for the head of the answer alone.
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), options.timeoutMilliseconds ?? TIMEOUT_MS)
  const ending = signal === undefined ? late.signal : AbortSignal.any([late.signal, signal])
  try {
    const response = await send(base + path, { headers, redirect: 'manual', signal: ending })
    const isStream = response.ok && response.headers.get('content-type')?.startsWith(EVENT_STREAM) === true
    if (!isStream || response.body === null) throw refusalOf(response, await response.text())
    return response.body
  } finally {
    clearTimeout(timer)
  }
}

function statusOf(data: string): unknown {
  const status = readOrUndefined(() => parseJson(data))
  if (status === undefined) throw new ServiceError('foreign_answer', 'an event is not JSON; is this the service?')
  return status
}
