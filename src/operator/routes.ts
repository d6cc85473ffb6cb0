/** The routes for operators, which the issuer and the verifier share. */
import type { FastifyRequest } from 'fastify'
import type { EventCollections } from '../event/event.ts'
import { addBodylessRoutes, adminRoute } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import { partOf, type Store } from '../store/store.ts'
import { listAuditRecords, verifyAuditLog } from './audit.ts'
import { listDeadCallbacks, listWaitingCallbacks, redeliverCallback, redeliverCallbacks } from './callbacks.ts'
import type { OperatorContext } from './context.ts'
import * as schemas from './schemas.ts'

/** Adds the routes. `context` is that of the service, whose configuration may change while it runs. */
export function addOperatorRoutes<C extends EventCollections>(
  app: App,
  context: Omit<OperatorContext, 'store'> & { readonly store: Store<C> },
): void {
  const operator: OperatorContext = {
    ...context,
    store: partOf<C, EventCollections>(context.store),
    get config() {
      return context.config
    },
  }
  addCallbackRoutes(app, operator)
  addAuditRoutes(app, operator)
}

function addCallbackRoutes(app: App, context: OperatorContext): void {
  app.get('/callbacks/waiting', { ...adminRoute, schema: schemas.waitingCallbacksRoute }, ({ query }) =>
    listWaitingCallbacks(context, query),
  )
  app.get('/callbacks/dead', { ...adminRoute, schema: schemas.deadCallbacksRoute }, ({ query }) =>
    listDeadCallbacks(context, query),
  )
  app.post(
    '/callbacks/redeliver',
    { ...adminRoute, schema: schemas.redeliverCallbacksRoute },
    ({ body, apiKeyLabel }) => redeliverCallbacks(context, body, apiKeyLabel),
  )
  addBodylessRoutes(app, (scope) => {
    const path = '/callbacks/redeliver/:callback_id'
    scope.post(path, { ...adminRoute, schema: schemas.redeliverCallbackRoute }, async ({ params, apiKeyLabel }) => {
      await redeliverCallback(context, params.callback_id, apiKeyLabel)
      return params
    })
  })
}

function addAuditRoutes(app: App, context: OperatorContext): void {
  app.get('/audit/records', { ...adminRoute, schema: schemas.auditRecordsRoute }, (request) => {
    logAuditAccess(context, 'audit_read', request)
    return listAuditRecords(context, request.query, request.apiKeyLabel)
  })
  app.get('/audit/verification', { ...adminRoute, schema: schemas.auditVerificationRoute }, (request) => {
    logAuditAccess(context, 'audit_verified', request)
    return verifyAuditLog(context, request.query)
  })
}

function logAuditAccess({ log }: OperatorContext, event: string, { id, apiKeyLabel }: FastifyRequest): void {
  log.info({ event, request: id, caller: apiKeyLabel }, 'audit log read')
}
