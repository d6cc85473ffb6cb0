/** The type of our servers, and what our routes add to Fastify's own types. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify'
import type { ErrorCode } from '../protocol/error.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** An API key is required, and no other origin may call. */
    admin?: boolean
    /** The code for a request of this route that cannot be read; `invalid_request` when absent. */
    malformed?: ErrorCode
  }
  interface FastifyRequest {
    /** The label of the API key, on administrative routes. */
    apiKeyLabel: string
  }
}

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>
