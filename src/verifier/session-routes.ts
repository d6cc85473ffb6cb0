/** The routes of verification sessions, for the application. */
import type { FastifyRequest } from 'fastify'
import { digestOf } from '../codec/digest.ts'
import { adminRoute, adminStreamRoute } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import { answerIdempotently, readIdempotentRequest } from '../http/idempotency.ts'
import { createStatusEventHandler } from '../http/status-events.ts'
import type { VerifierContext } from './context.ts'
import { listVerificationRoute } from './list-schemas.ts'
import { startVerificationSession } from './new-session.ts'
import * as schemas from './schemas.ts'
import { listVerificationSessions } from './session-list.ts'
import { getVerificationStatus } from './session-status.ts'
import { verifyStaticPresentation } from './static-presentation.ts'

/** Adds the routes that start and list sessions, those of their status, and that of a static presentation. */
export function addVerificationSessionRoutes(app: App, context: VerifierContext): void {
  app.post('/presentation/oid4vp/new-session', { ...adminRoute, schema: schemas.newSessionRoute }, async (request) => {
    const { body, apiKeyLabel } = request
    const idempotentRequest = readIdempotentRequest(request, 'verification', context.now())
    const answer = await answerIdempotently(context, idempotentRequest, (makeAnswerChanges) =>
      startVerificationSession(context, body, { caller: apiKeyLabel, makeAnswerChanges }),
    )
    request.sessionId = answer.session_id
    return answer
  })
  app.post(
    '/presentation/oid4vp/static-presentation',
    { ...adminRoute, schema: schemas.staticPresentationRoute },
    ({ id, body, apiKeyLabel }) => verifyStaticPresentation(context, body, { requestId: id, caller: apiKeyLabel }),
  )
  app.get('/presentation/oid4vp/sessions', { ...adminRoute, schema: listVerificationRoute }, ({ query }) =>
    listVerificationSessions(context, query),
  )
  const path = '/presentation/oid4vp/status/:session_id'
  app.get(path, { ...adminRoute, schema: schemas.sessionStatusRoute }, async (request) => {
    const { params, query } = request
    const status = await getVerificationStatus(context, params.session_id, query.response_code)
    logResultRead(context, status, request)
    return status
  })
  addStatusEventsRoute(app, context)
}

function addStatusEventsRoute(app: App, context: VerifierContext): void {
  const events = createStatusEventHandler(app, context, {
    read: (sessionId) => getVerificationStatus(context, sessionId),
    isFinal: ({ status }) => status !== 'STARTED',
    onSend: (status, request) => logResultRead(context, status, request),
  })
  app.get(
    '/presentation/oid4vp/events/:session_id',
    { ...adminStreamRoute, schema: schemas.sessionEventsRoute },
    events,
  )
}

function logResultRead(
  { log }: VerifierContext,
  { result }: Awaited<ReturnType<typeof getVerificationStatus>>,
  request: FastifyRequest,
): void {
  const { id, sessionId, apiKeyLabel } = request
  const session = sessionId && digestOf(sessionId)
  const line = { event: 'result_read', request: id, session, caller: apiKeyLabel }
  if (result !== undefined) log.info(line, 'result read')
}
