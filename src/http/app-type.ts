/** The type of the servers, and what the routes add to the types of Fastify. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'
import type { ErrorCode } from '../protocol/error.ts'

/** The connections of a server, for the code that stops it. */
export interface ServerConnections {
  readonly open: () => number
  readonly areEnding: () => boolean
  /** Makes each response the last of its connection (`Connection: close`). RFC 9112 section 9.6. */
  readonly endAfterAnswers: () => void
  /** Closes idle connections repeatedly: a browser opens some before it needs them. */
  readonly closeQuiet: () => void
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** An API key is required, and no other origin may call. */
    admin?: boolean
    /** The error code for a malformed request of this route; `invalid_request` when absent. */
    malformed?: ErrorCode
    /** The name of this wallet endpoint in the status of a session, which lists its refusals. */
    endpoint?: string
    /** The event that the log records for a response, by status. */
    logged?: Readonly<Record<number, string>>
  }
  interface FastifyInstance {
    connections: ServerConnections
  }
  interface FastifyRequest {
    /** The label of the API key, on administrative routes. */
    apiKeyLabel: string
    /** The session id in the request, whether the session exists or not; empty when there is none. */
    sessionId: string
  }
}

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>
