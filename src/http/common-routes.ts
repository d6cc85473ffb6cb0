/** The routes of every server: whether it runs, whether it can do its work, and its OpenAPI document. */
import * as Type from 'typebox'
import { AnyObject, answers, refuses } from './answers.ts'
import type { App } from './app-type.ts'
import { type PublicDocument, publicDocument, sendDocument } from './document.ts'

/** The tag of the routes that tell the state of a service. */
export const OPERATION = 'operation'

interface CommonRoutes {
  /** Rejects, with what the server refuses a request with, while the service cannot do its work. */
  readonly checkReady: () => Promise<unknown>
  /** Makes what the server refuses a request with while it stops. */
  readonly stoppingRefusal: () => Error
  /** Makes the text of the OpenAPI document, once. */
  readonly openApi: () => string
}

export const COMMON_PATHS = ['/health/live', '/health/ready', '/openapi']

export function addCommonRoutes(app: App, { checkReady, stoppingRefusal, openApi }: CommonRoutes): void {
  const operation = { security: [], tags: [OPERATION] }
  const describing = { ...operation, operationId: 'getOpenApi', summary: 'This document' }
  let document: PublicDocument | undefined
  app.get('/openapi', { schema: { ...describing, response: answers(200, AnyObject) } }, (request, reply) => {
    document ??= publicDocument(openApi())
    return sendDocument(request, reply.type('application/json; charset=utf-8'), document)
  })
  const health = { ...operation, response: answers(200, Type.Object({ status: Type.Literal('ok') })) }
  const live = { ...health, operationId: 'getLiveness', summary: 'Whether the process runs' }
  app.get('/health/live', { schema: live }, () => ({ status: 'ok' }) as const)
  const readiness = {
    ...health,
    ...refuses('temporarily_unavailable'),
    operationId: 'getReadiness',
    summary: 'Whether the database can be written, and the service goes on',
  }
  app.get('/health/ready', { schema: readiness }, async () => {
    if (app.connections.areEnding()) throw stoppingRefusal()
    await checkReady()
    return { status: 'ok' } as const
  })
}
