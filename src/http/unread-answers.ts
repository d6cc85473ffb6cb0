/**
 * Bounds the memory of responses that clients have not read yet, over all connections. When it is full, the connections
 * with the oldest responses are closed.
 */
import type { ServerResponse } from 'node:http'
import type { App } from './app-type.ts'

const MAX_BYTES = 64 * 1024 * 1024
/** The bytes that a connection holds of a response that is sent in pieces. */
const PIECES_BYTES = 128 * 1024

/**
 * Closes the connections whose responses have waited longest, as soon as all unread responses have more than
 * `maxBytes`.
 */
export function limitUnreadAnswers(app: App, maxBytes = MAX_BYTES): void {
  /** The size of each response that the system has not taken completely, the oldest first. */
  const unread = new Map<ServerResponse, number>()
  let total = 0
  const release = (response: ServerResponse): void => {
    total -= unread.get(response) ?? 0
    unread.delete(response)
  }
  app.addHook('onSend', (_request, reply, payload, done) => {
    const response = reply.raw
    const bytes = sizeOf(payload)
    unread.set(response, bytes)
    total += bytes
    response.once('close', () => release(response))
    for (const oldest of unread.keys()) {
      if (total <= maxBytes) break
      release(oldest)
      oldest.destroy()
    }
    done()
  })
}

function sizeOf(payload: unknown): number {
  if (typeof payload === 'string' || payload instanceof Uint8Array) return payload.length
  return payload === null || payload === undefined ? 0 : PIECES_BYTES
}
