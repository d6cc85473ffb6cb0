/** Server-sent events. HTML, section Server-sent events. */
import type { OutgoingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyReply } from 'fastify'

export const EVENT_STREAM_TYPE = 'text/event-stream'

export interface EventStreamLimits {
  /** The maximum duration of a stream. */
  readonly milliseconds: number
  /** The interval of comments, by which both ends and proxies detect a broken connection. */
  readonly heartbeatMs: number
  /** The maximum number of unsent bytes when more is to be sent. */
  readonly unsentBytes: number
}

export interface EventStream {
  /** Tests whether the stream is open. */
  isOpen(): boolean
  /** Sends events, by their names, as one piece. The data must not contain line breaks. */
  send(events: Readonly<Record<string, string>>): void
  /** Ends the stream. After `graceMs` it is closed even if the client has not read everything. */
  end(graceMs?: number): void
}

/** How long a client waits before it reconnects. */
const RETRY_MS = 2000

/** Makes the response an event stream. A client that does not read is disconnected when there is more to send. */
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
  return { isOpen, send: (events) => write(Object.entries(events).map(eventText).join('')), end }
}

function eventText([event, data]: readonly [string, string]): string {
  return `event: ${event}\ndata: ${data}\n\n`
}

function sendHead(reply: FastifyReply): void {
  reply.hijack()
  reply.headers({
    'content-type': EVENT_STREAM_TYPE,
    // The connection is closed after the stream, so that it does not delay stopping.
    connection: 'close',
    // Turns off buffering in nginx.
    'x-accel-buffering': 'no',
  })
  reply.raw.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders)
}
