/**
 * The signature by which a receiver verifies that a callback is authentic and fresh. Standard Webhooks, Signature
 * scheme.
 */
import { createHmac } from 'node:crypto'

/** Creates the headers; `at` is the time of this delivery, and the id stays the same for every delivery of an event. */
export function signatureHeaders(id: string, at: Date, body: string, secret: Uint8Array): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
