/** The type of our servers, and what our routes add to Fastify's own types. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'
import type { ErrorCode } from '../protocol/error.ts'

/** The connections of a server, for whoever stops it. */
export interface ServerConnections {
  readonly open: () => number
  readonly areEnding: () => boolean
  /** From now on an answer is the last of its connection (`Connection: close`). RFC 9112 section 9.6. */
  readonly endAfterAnswers: () => void
  /** Closes the connections that ask nothing, again and again: a browser opens some before it needs them. */
  readonly closeQuiet: () => void
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** An API key is required, and no other origin may call. */
    admin?: boolean
    /** The code for a request of this route that cannot be read; `invalid_request` when absent. */
    malformed?: ErrorCode
    /** The name of this endpoint of wallets in the status of a session, which tells its refusals. */
    endpoint?: string
    /** By status: the event of the log line that an answer of that status leaves. */
    logged?: Readonly<Record<number, string>>
  }
  interface FastifyInstance {
    connections: ServerConnections
  }
  interface FastifyRequest {
    /** The label of the API key, on administrative routes. */
    apiKeyLabel: string
    /** The session that the request names, whether there is one or not; empty when none is known. */
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
