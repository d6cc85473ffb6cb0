/** Posts one event to the application. */
import { createHmac } from 'node:crypto'
import type { JsonObject } from '../codec/json.ts'
import { epochSeconds } from '../codec/time.ts'
import type { SessionCallback } from '../config/session-callback.ts'
import { type HttpClientResponse, type Outbound, OutboundError } from '../http/outbound.ts'
import type { PendingCallback } from './queue.ts'

/** The result of a delivery. */
export type DeliveryResult =
  | { readonly delivered: true }
  | {
      readonly delivered: false
      readonly problem: string
      /** The pause that the receiver requested by `Retry-After`; 0 without one. */
      readonly retryAfterMs: number
      /** The error of this service that prevented the request, for the log; absent when the receiver failed. */
      readonly error?: unknown
    }

const TIMEOUT_MS = 10_000
/** The most bytes of a response; the content is ignored. */
const MAX_ANSWER_BYTES = 64 * 1024

/** Posts the event with its data. Never rejects. */
export async function postCallback(
  { sessionCallback, outbound }: { readonly sessionCallback: SessionCallback; readonly outbound: Outbound },
  event: PendingCallback,
  data: JsonObject,
  now: Date,
): Promise<DeliveryResult> {
  const { url, apiKey, secret } = sessionCallback
  const { id, type, at, trace } = event
  const body = JSON.stringify({ id, type, timestamp: new Date(at).toISOString(), data })
  const headers = {
    'content-type': 'application/json',
    ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    ...(secret === undefined ? {} : signatureHeaders(id, now, body, secret)),
  }
  try {
    // The address is from the configuration, so an address of the operator's own network is intended.
    const limits = { timeoutMs: TIMEOUT_MS, maxBytes: MAX_ANSWER_BYTES, allowPrivateAddresses: true }
    return readDeliveryResult(await outbound({ url, method: 'POST', headers, body, trace, ...limits }), now)
  } catch (error) {
    return error instanceof OutboundError
      ? { delivered: false, problem: error.message, retryAfterMs: 0 }
      : makeInternalFailure(error)
  }
}

/** Returns the result of a delivery that an error of this service prevented. */
export function makeInternalFailure(error: unknown): DeliveryResult {
  const problem =
    'it was not sent, because of an internal error of this service; the line callback_failed of its log has the error'
  return { delivered: false, problem, retryAfterMs: 0, error }
}

function readDeliveryResult({ status, headers }: HttpClientResponse, now: Date): DeliveryResult {
  if (status >= 200 && status < 300) return { delivered: true }
  const problem = `the receiver answered ${status}${hintOf(status)}`
  return { delivered: false, problem, retryAfterMs: parseRetryAfterMs(headers['retry-after'], now) }
}

/** Returns what the operator may look at, for a status that says it. */
function hintOf(status: number): string {
  if (status >= 300 && status < 400) return ', and redirects are not followed'
  const isUnauthorized = status === 401 || status === 403
  return isUnauthorized ? '; compare its secret and API key with sessionCallback, and the clocks of both' : ''
}

/** Parses `Retry-After` (RFC 9110), which has seconds or a date. Returns 0 when it is absent or invalid. */
function parseRetryAfterMs(value: string | undefined, now: Date): number {
  if (value === undefined) return 0
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  const date = Date.parse(value)
  return Number.isNaN(date) ? 0 : Math.max(0, date - now.getTime())
}

/**
 * Creates the headers by which the receiver verifies that a callback is authentic and recent. `at` is the time of this
 * delivery; `id` is the same in every delivery of an event. Standard Webhooks, Signature scheme.
 */
export function signatureHeaders(id: string, at: Date, body: string, secret: Uint8Array): Record<string, string> {
  const timestamp = String(epochSeconds(at))
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
