/** Streams of server-sent events as answers to requests. HTML, section Server-sent events. */
import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'

export const EVENT_STREAM_TYPE = 'text/event-stream'

export interface EventStreamLimits {
  /** How long a stream is open at most. */
  readonly milliseconds: number
  /** The time between two comments, by which both ends and proxies notice a broken connection. */
  readonly heartbeatMs: number
  /** The most bytes that the system has not taken yet when more are to be sent. */
  readonly unsentBytes: number
}

export interface EventStream {
  /** Tests whether the stream is neither ended nor closed. */
  isOpen(): boolean
  /** Sends an event; its data is text without line breaks. */
  send(event: string, data: string): void
  /** Ends the stream; a client that has not read everything after `graceMs` is disconnected. */
  end(graceMs?: number): void
}

/** The time for which a client waits before it connects anew. */
const RETRY_MS = 2000

/**
 * Makes the answer to a request a stream, which has its connection for itself. A client that does not read is
 * disconnected when there is more to send.
 */
export function openEventStream(
  { countUnreadBytes }: Pick<FastifyInstance, 'countUnreadBytes'>,
  reply: FastifyReply,
  limits: EventStreamLimits,
): EventStream {
  const { raw: response } = reply
  let unsent = 0
  const countUnsent = (change: number): void => {
    unsent += change
    if (!response.destroyed) countUnreadBytes(response, unsent)
  }
  const isOpen = (): boolean => !response.destroyed && !response.writableEnded
  const write = (text: string): void => {
    if (!isOpen()) return
    if (unsent > limits.unsentBytes) {
      response.destroy()
      return
    }
    const bytes = Buffer.from(text)
    countUnsent(bytes.length)
    response.write(bytes, () => countUnsent(-bytes.length))
  }
  const end = (graceMs?: number): void => {
    response.end()
    if (graceMs !== undefined) setTimeout(() => response.destroy(), graceMs).unref()
  }
  const heartbeat = setInterval(() => write(':\n\n'), limits.heartbeatMs).unref()
  const lifetimeTimer = setTimeout(end, limits.milliseconds).unref()
  response.once('close', () => {
    clearInterval(heartbeat)
    clearTimeout(lifetimeTimer)
  })
  sendHead(reply)
  write(`retry: ${RETRY_MS}\n`)
  return { isOpen, send: (event, data) => write(`event: ${event}\ndata: ${data}\n\n`), end }
}

function sendHead(reply: FastifyReply): void {
  reply.hijack()
  reply.headers({
    'content-type': EVENT_STREAM_TYPE,
    // The connection ends with the stream, so that nothing waits for it when the service stops.
    connection: 'close',
    // A proxy (nginx) passes each event on at once.
    'x-accel-buffering': 'no',
  })
  reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders)
}
