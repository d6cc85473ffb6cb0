/** The routes of issuance sessions, for the application. */
import { adminRoute, adminStreamRoute } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import { answerIdempotently, readIdempotentRequest } from '../http/idempotency.ts'
import { createStatusEventHandler } from '../http/status-events.ts'
import { completeSession } from './complete-session.ts'
import type { IssuerContext } from './context.ts'
import { listIssuanceRoute } from './list-schemas.ts'
import { decryptAnswer, startIssuanceSession } from './new-session.ts'
import * as schemas from './schemas.ts'
import { listIssuanceSessions } from './session-list.ts'
import { getIssuanceStatus } from './session-status.ts'

/** Adds the routes that start, complete and list sessions, and those of their status. */
export function addIssuanceSessionRoutes(app: App, context: IssuerContext): void {
  app.post('/issuance/oid4vci/new-session', { ...adminRoute, schema: schemas.newIssuanceRoute }, async (request) => {
    const { body, apiKeyLabel } = request
    const idempotentRequest = readIdempotentRequest(request, 'issuance', context.now())
    const answer = await answerIdempotently(context, idempotentRequest, (makeAnswerChanges) =>
      startIssuanceSession(context, body, { caller: apiKeyLabel, makeAnswerChanges }),
    )
    request.sessionId = answer.session_id
    return decryptAnswer(context, answer)
  })
  app.post(
    '/issuance/oid4vci/complete/:session_id',
    { ...adminRoute, schema: schemas.completeSessionRoute },
    (request) => completeSession(context, request.params.session_id, request.body, request.apiKeyLabel),
  )
  app.get(
    '/issuance/oid4vci/status/:session_id',
    { ...adminRoute, schema: schemas.issuanceStatusRoute },
    ({ params }) => getIssuanceStatus(context, params.session_id),
  )
  const events = createStatusEventHandler(app, context, {
    read: (sessionId) => getIssuanceStatus(context, sessionId),
    // The status may change after SUCCEEDED, by a revocation or a notification.
    isFinal: ({ status }) => status === 'EXPIRED',
  })
  app.get('/issuance/oid4vci/events/:session_id', { ...adminStreamRoute, schema: schemas.issuanceEventsRoute }, events)
  app.get('/issuance/oid4vci/sessions', { ...adminRoute, schema: listIssuanceRoute }, ({ query }) =>
    listIssuanceSessions(context, query),
  )
}
