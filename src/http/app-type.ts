/** The type of the servers, and what the routes add to the types of Fastify. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { ErrorCode } from '../protocol/error.ts'
import type { TakeIn } from './close-listener.ts'

/** The connections of a server. */
export interface ServerConnections {
  /** Counts the connections that are open. */
  readonly countOpen: () => number
  /** Tests whether the server is ending its connections. */
  readonly isEnding: () => boolean
  /** Makes each response the last of its connection (`Connection: close`). RFC 9112 section 9.6. */
  readonly endAfterAnswers: () => void
  /** Adds a listener that `endAfterAnswers` calls, for answers that would not end by themselves. */
  readonly onEnding: (listener: () => void) => void
  /** Calls `answer`, which ends a connection whose bytes cannot be read, when its earlier requests are answered. */
  readonly answerUnreadableBytes: (socket: Socket, answer: () => void) => void
  /**
   * Stops listening once `takeIn` has taken in no connection, so that none is lost; requests wait meanwhile. Open
   * connections stay.
   */
  readonly closeListener: (takeIn: TakeIn) => Promise<void>
  /** Closes idle connections from now on, again and again: a browser opens some before it needs them. */
  readonly closeIdle: () => void
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** An API key is required, and no other origin may call. */
    admin?: boolean
    /** A person's browser opens the route itself, and no script of another origin may call it. RFC 9700 section 2.6. */
    isForBrowsers?: boolean
    /** The error code for a malformed request of this route; `invalid_request` when absent. */
    malformed?: ErrorCode
    /** The name of this wallet endpoint in the status of a session, which lists its refusals. */
    endpoint?: string
    /** The event that the log records for a response, by status. */
    logged?: Readonly<Record<number, string>>
    /** The answer is a stream, which lasts as long as the client listens: its duration does not measure the service. */
    isStream?: boolean
  }
  interface FastifyInstance {
    connections: ServerConnections
    /** Counts the bytes of a response that its client has not read, and closes the oldest responses over the limit. */
    countUnreadBytes: (response: ServerResponse, bytes: number) => void
  }
  interface FastifyRequest {
    /** The label of the API key, on administrative routes. */
    apiKeyLabel: string
    /** The session id in the request, whether the session exists or not; empty when there is none. */
    sessionId: string
  }
}

/** A value in which nothing can be changed, at any depth. */
export type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

/** The types of requests and answers, by the schemas of their route. */
interface RouteTypes extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  serializer: this['schema'] extends TSchema ? DeepReadonly<Static<this['schema']>> : unknown
}

export type App = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, RouteTypes>
