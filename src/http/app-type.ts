/** The type of the servers, and their additions to the types of Fastify. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyInstance, FastifyTypeProvider, RawServerDefault } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { ErrorCode } from '../protocol/error.ts'
import type { AcceptArrived } from './close-listener.ts'

/** The connections of a server. */
export interface ServerConnections {
  /** Returns the number of open connections. */
  readonly countOpen: () => number
  /** Tests whether the server is closing its connections. */
  readonly isEnding: () => boolean
  /** Closes each connection after its next response (`Connection: close`). RFC 9112 section 9.6. */
  readonly endAfterAnswers: () => void
  /** Adds a listener that `endAfterAnswers` calls, to end responses that would not end by themselves. */
  readonly onEnding: (listener: () => void) => void
  /**
   * Calls `answer` for a connection that sent bytes that are not a request, after its earlier requests are answered.
   * `answer` closes the connection.
   */
  readonly answerBrokenRequest: (socket: Socket, answer: () => void) => void
  /**
   * Stops listening without losing a connection: first accepts those that have arrived, with `acceptArrived`. Requests
   * wait meanwhile, and open connections stay open.
   */
  readonly closeListener: (acceptArrived: AcceptArrived) => Promise<void>
  /** Closes idle connections repeatedly from now on. Browsers open connections before they need them. */
  readonly closeIdle: () => void
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the route requires an API key, and other origins cannot call it. */
    admin?: boolean
    /**
     * Whether browsers navigate to the route, so that scripts of other origins cannot call it. RFC 9700 section 2.6.
     */
    isForBrowsers?: boolean
    /** The error for a malformed request of this route; `invalid_request` when absent. */
    malformedError?: ErrorCode
    /** The name of this wallet endpoint in the session status, which lists its refusals. */
    walletEndpoint?: string
    /** The log event of a response, by status. */
    logEvents?: Readonly<Record<number, string>>
    /** Whether the response is a stream, so that its duration is not measured. */
    isStream?: boolean
  }
  interface FastifyInstance {
    connections: ServerConnections
    /**
     * Counts the bytes of a response that the client has not read yet, and closes the oldest responses over the limit.
     */
    countUnreadBytes: (response: ServerResponse, bytes: number) => void
  }
  interface FastifyRequest {
    /** The label of the API key, on administrative routes. */
    apiKeyLabel: string
    /** The session id in the request, even if there is no such session; undefined if the request has none. */
    sessionId: string | undefined
  }
}

/** A type that is readonly at every depth. */
export type DeepReadonly<T> = T extends object ? { readonly [K in keyof T]: DeepReadonly<T[K]> } : T

/** The types of requests and responses, from the schemas of the route. */
interface RouteTypes extends FastifyTypeProvider {
  validator: this['schema'] extends TSchema ? Static<this['schema']> : unknown
  serializer: this['schema'] extends TSchema ? DeepReadonly<Static<this['schema']>> : unknown
}

export type App = FastifyInstance<RawServerDefault, IncomingMessage, ServerResponse, FastifyBaseLogger, RouteTypes>
