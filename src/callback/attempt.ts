/** One attempt to tell the application of one event. */
import type { JsonObject } from '../codec/json.ts'
import type { SessionCallback } from '../config/session-callback.ts'
import { type Outbound, OutboundError, type OutboundResponse } from '../http/outbound.ts'
import type { PendingCallback } from './queue.ts'
import { signatureHeaders } from './signature.ts'

/** What became of it. `retryAfterMs` is what the receiver asked for. */
export type Attempt =
  | { readonly delivered: true }
  | { readonly delivered: false; readonly problem: string; readonly retryAfterMs: number }

const TIMEOUT_MS = 10_000
/** What a receiver answers is not looked at. */
const MAX_ANSWER_BYTES = 64 * 1024

/** Posts the event with its data. Never rejects. */
export async function attempt(
  { sessionCallback, outbound }: { readonly sessionCallback: SessionCallback; readonly outbound: Outbound },
  event: PendingCallback,
  data: JsonObject,
  now: Date,
): Promise<Attempt> {
  const { url, apiKey, secret } = sessionCallback
  const { id, type, at } = event
  const body = JSON.stringify({ id, type, timestamp: new Date(at).toISOString(), data })
  const headers = {
    'content-type': 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    ...(secret === undefined ? {} : signatureHeaders(id, now, body, secret)),
  }
  try {
    // The address comes from the configuration alone, so that one of the operator's own network is meant.
    const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_ANSWER_BYTES, allowPrivateAddresses: true }
    return judge(await outbound({ url, method: 'POST', headers, body, ...limits }), now)
  } catch (error) {
    const problem = error instanceof OutboundError ? error.message : 'it could not be sent'
    return { delivered: false, problem, retryAfterMs: 0 }
  }
}

function judge({ status, headers }: OutboundResponse, now: Date): Attempt {
  if (status >= 200 && status < 300) return { delivered: true }
  const redirected = status >= 300 && status < 400
  const problem = `the receiver answered ${status}${redirected ? ', and redirects are not followed' : ''}`
  return { delivered: false, problem, retryAfterMs: retryAfterMs(headers['retry-after'], now) }
}

/** RFC 9110, Retry-After: seconds or a date; 0 when it says nothing that can be read. */
function retryAfterMs(value: string | undefined, now: Date): number {
  if (value === undefined) return 0
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? 0 : Math.max(0, date - now.getTime())
}
