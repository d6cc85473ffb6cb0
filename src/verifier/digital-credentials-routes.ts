/** The routes for pages that ask the browser for credentials: their request, and what the browser gave. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../http/app-type.ts'
import { createEarlyLookUp } from '../http/early-look-up.ts'
import { refuse } from '../protocol/error.ts'
import { receiveResponse } from './authorization-response.ts'
import { requireVerificationSession, type VerifierContext } from './context.ts'
import { makeDigitalCredentialsRequest, modeOfProtocol } from './digital-credentials.ts'
import * as schemas from './digital-credentials-schemas.ts'
import type { RequestQueue } from './request-object.ts'
import { refuseUnlessOpen, VERIFIER_PATHS } from './session.ts'

/** Adds the two routes of a session with an origin. Requests are signed by `signInTurn`, as request objects are. */
export function addDigitalCredentialsRoutes(app: App, context: VerifierContext, signInTurn: RequestQueue): void {
  const path = `${VERIFIER_PATHS['dc_api.jwt']}/:session_id`
  const config = { malformedError: 'invalid_request', walletEndpoint: 'digital-credentials' } as const
  const { onRequest, getResult } = createEarlyLookUp((request, reply) => requireSessionOfPage(context, request, reply))
  app.get(path, { config, onRequest, schema: schemas.digitalCredentialsRequestRoute }, (request) => {
    const { row, origin } = getResult(request)
    return signInTurn(request.params.session_id, () => makeDigitalCredentialsRequest(context, row.value, origin))
  })
  const bodyLimit = context.config.presentationBytes
  app.post(path, { config, onRequest, bodyLimit, schema: schemas.digitalCredentialRoute }, (request) => {
    const { row, origin } = getResult(request)
    const { protocol, data: form } = request.body
    const response = { httpRequestId: request.id, mode: modeOfProtocol(protocol), origin, form }
    return receiveResponse(context, request.params.session_id, row, response)
  })
}

/**
 * Returns the open session of a request and its origin, whose pages alone may read the answer. Refuses with
 * `not_found`, also if the session has no origin, and an ended session as the routes of a link do.
 */
async function requireSessionOfPage(context: VerifierContext, request: FastifyRequest, reply: FastifyReply) {
  const row = await requireVerificationSession(context.store, request.sessionId ?? '')
  const { origin } = row.value
  if (origin === undefined) return refuse('not_found', 'this session was started without an origin')
  reply.headers({ 'access-control-allow-origin': origin, vary: 'Origin' })
  refuseUnlessOpen(row.value, context.now(), request.method === 'POST' ? 'invalid_request' : 'gone')
  return { row, origin }
}
