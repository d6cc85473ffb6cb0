/** The type of the servers, and what the routes add to the types of Fastify. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyTypeProvider, RawServerDefault } from 'fastify'
import type { Static, TSchema } from 'typebox'
import type { ErrorCode } from '../protocol/error.ts'

/** The connections of a server. */
export interface ServerConnections {
  readonly open: () => number
  readonly areEnding: () => boolean
  /** Makes each response the last of its connection (`Connection: close`). RFC 9112 section 9.6. */
  readonly endAfterAnswers: () => void
  /** Has `listener` called by `endAfterAnswers`, for answers that would not end by themselves. */
  readonly whenEnding: (listener: () => void) => void
  /** Has `answer` end a connection whose bytes cannot be read, when the requests before these are answered. */
  readonly answerBroken: (socket: Socket, answer: () => void) => void
  /** Closes idle connections repeatedly: a browser opens some before it needs them. */
  readonly closeQuiet: () => void
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** An API key is required, and no other origin may call. */
    admin?: boolean
    /** A person's browser goes there itself, and no script of another origin may. RFC 9700 section 2.6. */
    isForBrowsers?: boolean
    /** The error code for a malformed request of this route; `invalid_request` when absent. */
    malformed?: ErrorCode
    /** The name of this wallet endpoint in the status of a session, which lists its refusals. */
    endpoint?: string
    /** The event that the log records for a response, by status. */
    logged?: Readonly<Record<number, string>>
    /** The answer lasts for as long as the client likes to listen: its time is no measure of the service. */
    isStream?: boolean
  }
  interface FastifyInstance {
    connections: ServerConnections
    /** Counts the bytes of a response that its client has not read yet; with them, the oldest may have to go. */
    countUnread: (reply: FastifyReply, bytes: number) => void
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
