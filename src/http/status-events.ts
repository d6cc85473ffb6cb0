/**
 * Event streams of the status of a session: the current status, and each change, whichever process made it. The store
 * is polled once for all streams of a session.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { sharedPoll } from '../async/shared-poll.ts'
import { digestOf } from '../codec/digest.ts'
import { ProtocolError, refuse } from '../protocol/error.ts'
import type { App } from './app-type.ts'
import type { Effects } from './effects.ts'
import { EVENT_STREAM_TYPE, type EventStream, type EventStreamLimits, openEventStream } from './event-stream.ts'
import type { SessionParams } from './openapi-responses.ts'

export interface StatusSource<Status> {
  /** Returns the status of a session. Refuses with `not_found`. */
  readonly read: (sessionId: string) => Promise<Status>
  /** Tests whether the status cannot change any more. */
  readonly isFinal: (status: Status) => boolean
  /** Called for each sent status. */
  readonly onSend?: (status: Status, request: FastifyRequest) => void
}

interface Limits extends EventStreamLimits {
  /** The maximum number of open streams of this process. */
  readonly streams: number
  /** The pause between two polls. */
  readonly pollMs: number
}

const LIMITS: Limits = {
  streams: 1000,
  pollMs: 700,
  milliseconds: 15 * 60_000,
  heartbeatMs: 15_000,
  unsentBytes: 64 * 1024,
}
/** The `Retry-After` of refused clients, in seconds. */
const RETRY_SECONDS = 5
/** How long streams may take to end when the service stops. */
const STOPPING_MS = 1000

/** Creates the route handler that streams the status of a session. */
export function createStatusEventHandler<Status>(
  app: App,
  { log, observer }: Pick<Effects<unknown>, 'log' | 'observer'>,
  source: StatusSource<Status>,
  limits: Limits = LIMITS,
): (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply> {
  const poll = sharedPoll(source.read, limits.pollMs)
  const takePlace = createPlaceLimit(limits.streams, (takenPlaces) => observer?.setOpenStreams(takenPlaces))
  const openStreams = trackStreams(app)
  const logFailure = limitToOncePerMinute((err) =>
    log.warn({ event: 'status_not_read', err }, 'the status for event streams was not read'),
  )
  return async (request, reply) => {
    takePlace(reply)
    const { session_id: sessionId } = request.params as Static<typeof SessionParams>
    const first = await source.read(sessionId)
    if (openStreams.isStopping()) refuseForNow('the service is stopping; ask another instance')
    if (request.method === 'HEAD') return reply.type(EVENT_STREAM_TYPE).send()
    // The client has disconnected meanwhile, so no event would end the stream.
    if (reply.raw.destroyed) return reply.hijack()
    const stream = openEventStream(app, reply, limits)
    openStreams.add(stream, reply)
    const { take, sendEnd } = createStatusWriter(stream, source, request)
    const fail = (error: unknown): void => {
      if (error instanceof ProtocolError && error.code === 'not_found') sendEnd()
      else logFailure(error)
    }
    reply.raw.once('close', poll(sessionId, { take, fail }))
    take(first)
    return reply
  }
}

/** Creates the function that sends each changed status, and ends the stream after the final one. */
function createStatusWriter<Status>(stream: EventStream, source: StatusSource<Status>, request: FastifyRequest) {
  let latest = ''
  const sendEnd = (lastStatus: { readonly status?: string } = {}): void => {
    // A large status is unsent for a moment, so that a piece of its own for the end would meet the limit.
    stream.send({ ...lastStatus, end: '{}' })
    stream.end()
  }
  const take = (status: Status): void => {
    const text = JSON.stringify(status)
    const digest = digestOf(text)
    if (digest === latest || !stream.isOpen()) return
    latest = digest
    source.onSend?.(status, request)
    if (source.isFinal(status)) sendEnd({ status: text })
    else stream.send({ status: text })
  }
  return { take, sendEnd }
}

/** Creates the function that limits concurrent streams. It refuses a request over the limit of `most`. */
function createPlaceLimit(most: number, onChange: (takenPlaces: number) => void): (reply: FastifyReply) => void {
  let takenPlaces = 0
  const changeTakenPlaces = (by: number): void => {
    takenPlaces += by
    onChange(takenPlaces)
  }
  return ({ raw: response }) => {
    if (takenPlaces >= most) refuseForNow('too many event streams are open; try again in a moment')
    changeTakenPlaces(1)
    response.once('close', () => changeTakenPlaces(-1))
  }
}

/** Tracks the open streams of a server, and ends them when it stops. */
function trackStreams(app: App) {
  const streams = new Set<EventStream>()
  let isStopping = false
  const stop = (): void => {
    isStopping = true
    for (const stream of streams) stream.end(STOPPING_MS)
  }
  app.connections.onEnding(stop)
  app.addHook('preClose', (done) => {
    stop()
    done()
  })
  return {
    isStopping: () => isStopping,
    add: (stream: EventStream, { raw: response }: FastifyReply): void => {
      streams.add(stream)
      response.once('close', () => streams.delete(stream))
    },
  }
}

/**
 * Makes a function that calls `act` at most once a minute, since a failure of the store affects all sessions at once.
 */
function limitToOncePerMinute(act: (error: unknown) => void): (error: unknown) => void {
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
