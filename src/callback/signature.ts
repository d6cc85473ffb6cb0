/** The headers by which a receiver knows that a callback is ours and fresh. Standard Webhooks, Signature scheme. */
import { createHmac } from 'node:crypto'

/** `at` is the time of this attempt; the id stays the same with every attempt. */
export function signatureHeaders(id: string, at: Date, body: string, secret: Uint8Array): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000))
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
