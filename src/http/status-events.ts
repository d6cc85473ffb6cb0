/**
 * Streams of the status of a session: the status as it is, and each change of it, whichever process made it. The store
 * is polled, once for all streams of a session.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { sharedPoll } from '../async/shared-poll.ts'
import { digestOf } from '../codec/digest.ts'
import { ProtocolError, refuse } from '../protocol/error.ts'
import type { SessionParams } from './answers.ts'
import type { App } from './app-type.ts'
import type { Effects } from './effects.ts'
import { EVENT_STREAM_TYPE, type EventStream, type EventStreamLimits, openEventStream } from './event-stream.ts'

export interface StatusSource<Status> {
  /** Reads the status of a session. Refuses with `not_found`. */
  readonly read: (sessionId: string) => Promise<Status>
  /** Tests whether no other status follows this one. */
  readonly isFinal: (status: Status) => boolean
  /** Is called with each status that is sent. */
  readonly onSend?: (status: Status, request: FastifyRequest) => void
}

interface Limits extends EventStreamLimits {
  /** The most open streams of this process. */
  readonly streams: number
  /** The pause between two rounds of reading. */
  readonly pollMs: number
}

const LIMITS: Limits = {
  streams: 1000,
  pollMs: 700,
  milliseconds: 15 * 60_000,
  heartbeatMs: 15_000,
  unsentBytes: 64 * 1024,
}
/** The seconds after which a refused client tries again. */
const RETRY_SECONDS = 5
/** The time that a client has for the rest of its stream when the service stops. */
const STOPPING_MS = 1000

/** Makes the handler of a route whose answer is the stream of a session. */
export function statusEvents<Status>(
  app: App,
  { log, observer }: Pick<Effects<unknown>, 'log' | 'observer'>,
  source: StatusSource<Status>,
  limits: Limits = LIMITS,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const poll = sharedPoll(source.read, limits.pollMs)
  const takePlace = limitedPlaces(limits.streams, (taken) => observer?.streams(taken))
  const openStreams = streamsUntilStop(app)
  const logFailure = oncePerMinute((err) =>
    log.warn({ event: 'status_not_read', err }, 'the status for event streams was not read'),
  )
  return async (request, reply) => {
    takePlace(reply)
    const { session_id: sessionId } = request.params as Static<typeof SessionParams>
    const first = await source.read(sessionId)
    if (openStreams.isOver()) refuseForNow('the service is stopping; ask another instance')
    if (request.method === 'HEAD') return reply.type(EVENT_STREAM_TYPE).send()
    // A client that has gone meanwhile gets no stream, which nothing would end.
    if (reply.raw.destroyed) return reply.hijack()
    const stream = openEventStream(app, reply, limits)
    openStreams.add(stream, reply)
    const { take, ended } = statusWriter(stream, source, request)
    const fail = (error: unknown): void => {
      if (error instanceof ProtocolError && error.code === 'not_found') ended()
      else logFailure(error)
    }
    reply.raw.once('close', poll(sessionId, { take, fail }))
    take(first)
    return reply
  }
}

/** Makes the function that sends each status that differs from the one before, and the end after the last. */
function statusWriter<Status>(stream: EventStream, source: StatusSource<Status>, request: FastifyRequest) {
  let latest = ''
  const ended = (): void => {
    stream.send('end', '{}')
    stream.end()
  }
  const take = (status: Status): void => {
    const text = JSON.stringify(status)
    const digest = digestOf(text)
    if (digest === latest || !stream.isOpen()) return
    latest = digest
    source.onSend?.(status, request)
    stream.send('status', text)
    if (source.isFinal(status)) ended()
  }
  return { take, ended }
}

/** Makes the function that gives a request one of `most` places until its answer is over, or refuses it. */
function limitedPlaces(most: number, onChange: (taken: number) => void): (reply: FastifyReply) => void {
  let taken = 0
  const change = (by: number): void => {
    taken += by
    onChange(taken)
  }
  return ({ raw: response }) => {
    if (taken >= most) refuseForNow('too many event streams are open; try again in a moment')
    change(1)
    response.once('close', () => change(-1))
  }
}

/** Returns the streams of a server, all of which end as soon as it stops. */
function streamsUntilStop(app: App) {
  const streams = new Set<EventStream>()
  let isOver = false
  const stop = (): void => {
    isOver = true
    for (const stream of streams) stream.end(STOPPING_MS)
  }
  app.connections.whenEnding(stop)
  app.addHook('preClose', (done) => {
    stop()
    done()
  })
  return {
    isOver: () => isOver,
    add: (stream: EventStream, { raw: response }: FastifyReply): void => {
      streams.add(stream)
      response.once('close', () => streams.delete(stream))
    },
  }
}

/** Makes a function that does something at most once a minute: what fails, fails for all sessions at once. */
function oncePerMinute(act: (error: unknown) => void): (error: unknown) => void {
  let last = Number.NEGATIVE_INFINITY
  return (error) => {
    const at = performance.now()
    if (at - last < 60_000) return
    last = at
    act(error)
  }
}

function refuseForNow(description: string): never {
  return refuse('temporarily_unavailable', description, { retryAfterSeconds: RETRY_SECONDS })
}
