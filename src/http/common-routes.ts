/** The routes of all servers: liveness, readiness, and the OpenAPI document. */
import * as Type from 'typebox'
import type { App } from './app-type.ts'
import { createPublicDocument, type PublicDocument, sendDocument } from './document.ts'
import { AnyObject, jsonResponse, refusalCodes, sentHeaders } from './openapi-responses.ts'

/** The tag of the routes for the state of a service. */
export const OPERATION = 'operation'

interface CommonRoutes {
  /** Rejects while the service is not ready, with the error to send. */
  readonly checkReady: () => Promise<unknown>
  /** Makes the error for readiness while the service is stopping. */
  readonly makeStoppingRefusal: () => Error
  /** Makes the text of the OpenAPI document, which is cached. */
  readonly makeOpenApiText: () => string
}

export const COMMON_PATHS = ['/health/live', '/health/ready', '/openapi']

/** Adds the routes `/health/live`, `/health/ready` and `/openapi`. */
export function addCommonRoutes(app: App, { checkReady, makeStoppingRefusal, makeOpenApiText }: CommonRoutes): void {
  const operation = { security: [], tags: [OPERATION] }
  const describing = { ...operation, ...sentHeaders('ETag'), operationId: 'getOpenApi', summary: 'This document' }
  let document: PublicDocument | undefined
  app.get('/openapi', { schema: { ...describing, response: jsonResponse(200, AnyObject) } }, (request, reply) => {
    document ??= createPublicDocument(makeOpenApiText())
    return sendDocument(request, reply.type('application/json; charset=utf-8'), document)
  })
  const health = { ...operation, response: jsonResponse(200, Type.Object({ status: Type.Literal('ok') })) }
  const live = { ...health, operationId: 'getLiveness', summary: 'Whether the process runs' }
  app.get('/health/live', { schema: live }, () => ({ status: 'ok' }) as const)
  const readiness = {
    ...health,
    ...refusalCodes('temporarily_unavailable'),
    operationId: 'getReadiness',
    summary: 'Whether the database can be written, and the service goes on',
  }
  app.get('/health/ready', { schema: readiness }, async () => {
    if (app.connections.isEnding()) throw makeStoppingRefusal()
    await checkReady()
    return { status: 'ok' } as const
  })
}
