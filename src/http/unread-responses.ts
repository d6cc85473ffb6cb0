/**
 * Limits the memory for responses that clients have not read yet. When the limit is reached, the connections with the
 * oldest responses are closed.
 */
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { App } from './app-type.ts'

const MAX_BYTES = 64 * 1024 * 1024
/** The maximum memory for a response that is sent in pieces. */
const PIECES_BYTES = 128 * 1024

/** The response of a connection that is not completely sent; a connection has at most one. */
interface UnreadResponse {
  response: ServerResponse | undefined
  bytes: number
  /** The order of the responses, by when they began to wait. */
  position: number
}

/**
 * Closes the connections with the oldest responses while all unread responses exceed `maxBytes`. Adds
 * `app.countUnreadBytes`, for responses that bypass Fastify.
 */
export function limitUnreadResponses(app: App, maxBytes = MAX_BYTES): void {
  const unread = createUnreadResponses()
  const countUnreadBytes = (response: ServerResponse, bytes: number): void => {
    const { socket } = response.req
    // The client has disconnected meanwhile, so there is nothing to count.
    if (!socket.destroyed) unread.setBytes(socket, response, bytes)
    while (unread.countBytes() > maxBytes) unread.closeOldest()
  }
  app.decorate('countUnreadBytes', countUnreadBytes)
  app.addHook('onSend', (_request, reply, payload, done) => {
    countUnreadBytes(reply.raw, sizeOf(payload))
    done()
  })
}

/**
 * Counts the unread responses by connection. A map of the responses themselves would delay their garbage collection.
 */
function createUnreadResponses() {
  const byConnection = new Map<Socket, UnreadResponse>()
  let total = 0
  let position = 0
  const release = (unread: UnreadResponse): void => {
    total -= unread.bytes
    unread.bytes = 0
    unread.response = undefined
  }
  const addConnection = (socket: Socket): UnreadResponse => {
    const unread = { response: undefined, bytes: 0, position: 0 }
    byConnection.set(socket, unread)
    socket.once('close', () => {
      release(unread)
      byConnection.delete(socket)
    })
    return unread
  }
  return {
    countBytes: () => total,
    setBytes: (socket: Socket, response: ServerResponse, bytes: number): void => {
      const unread = byConnection.get(socket) ?? addConnection(socket)
      if (unread.response !== response) {
        release(unread)
        unread.response = response
        response.once('close', () => {
          if (unread.response === response) release(unread)
        })
      }
      // An event stream waits since it last had unsent data.
      if (unread.bytes === 0) unread.position = position += 1
      total += bytes - unread.bytes
      unread.bytes = bytes
    },
    closeOldest: (): void => {
      const oldest = oldestOf(byConnection.values())
      oldest?.response?.destroy()
      if (oldest !== undefined) release(oldest)
    },
  }
}

function oldestOf(all: Iterable<UnreadResponse>): UnreadResponse | undefined {
  let oldest: UnreadResponse | undefined
  for (const unread of all) {
    if (unread.bytes > 0 && (oldest === undefined || unread.position < oldest.position)) oldest = unread
  }
  return oldest
}

function sizeOf(payload: unknown): number {
  if (typeof payload === 'string' || payload instanceof Uint8Array) return payload.length
  return payload === null || payload === undefined ? 0 : PIECES_BYTES
}
