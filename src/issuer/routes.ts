/**
 * The routes of the issuance service. The routes of the authorization, token and credential endpoints and of status
 * lists are in their folders.
 */

import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { preferredType } from '../http/accept.ts'
import { addBodylessRoutes, adminRoute, adminStreamRoute } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import { sendDocument } from '../http/document.ts'
import { answerIdempotently, readIdempotentRequest } from '../http/idempotency.ts'
import { JSON_TYPE, JWT_TYPE, refusalCodes, SessionParams } from '../http/openapi-responses.ts'
import { createStatusEventHandler } from '../http/status-events.ts'
import { createOverviewReader } from '../operator/overview.ts'
import { addOperatorRoutes } from '../operator/routes.ts'
import { recordRefusals } from '../progress/record-refusals.ts'
import { IssuerMetadata } from '../protocol/oid4vci.ts'
import { addAuthorizationRoutes } from './authorization-endpoint/routes.ts'
import { completeSession } from './complete-session.ts'
import { createConfiguration, getConfiguration, removeConfiguration } from './configurations.ts'
import type { IssuerContext, MetadataVersion } from './context.ts'
import { addCredentialRoutes } from './credential-endpoint/routes.ts'
import { ISSUER_PATHS, makeDocumentPaths } from './issuer-addresses.ts'
import { listIssuanceRoute } from './list-schemas.ts'
import { makeIssuerMetadata } from './metadata.ts'
import { decryptAnswer, startIssuanceSession } from './new-session.ts'
import { getOffer } from './offer.ts'
import { issuerOverviewRoute, readIssuerOverview } from './overview.ts'
import * as schemas from './schemas.ts'
import { listIssuanceSessions } from './session-list.ts'
import { getIssuanceStatus } from './session-status.ts'
import { addStatusRoutes } from './status-list/routes.ts'
import { addTokenRoutes } from './token-endpoint/routes.ts'
import { getTypeMetadata, TYPE_METADATA_PATH, typeMetadataRoute } from './type-metadata.ts'

/** Adds all routes of the issuance service. */
export function addIssuerRoutes(app: App, context: IssuerContext): void {
  recordRefusals(app, context)
  addConfigurationRoutes(app, context)
  addSessionRoutes(app, context)
  addDocumentRoutes(app, context)
  addTypeRoutes(app, context)
  const overview = createOverviewReader(context, (isReady) => readIssuerOverview(context, isReady))
  app.get('/operations/overview', { ...adminRoute, schema: issuerOverviewRoute }, overview)
  addStatusRoutes(app, context)
  addOperatorRoutes(app, context)
  // With an external authorization server, this service has no token and authorization endpoints.
  if (context.externalAuthorizationServer === undefined) {
    addTokenRoutes(app, context)
    addAuthorizationRoutes(app, context)
  }
  addCredentialRoutes(app, context)
}

function addConfigurationRoutes(app: App, context: IssuerContext): void {
  app.post(
    '/credential-configuration/create',
    { ...adminRoute, schema: schemas.createConfigurationRoute },
    async ({ body, apiKeyLabel }, reply) => {
      const id = await createConfiguration(context, body, apiKeyLabel)
      return reply.code(201).type('text/plain').send(id)
    },
  )
  app.get(
    '/credential-configuration/:credential_configuration_id',
    { ...adminRoute, schema: schemas.getConfigurationRoute },
    ({ params }) => getConfiguration(context, params.credential_configuration_id),
  )
  addBodylessRoutes(app, (scope) => {
    scope.post(
      '/credential-configuration/remove/:credential_configuration_id',
      { ...adminRoute, schema: schemas.removeConfigurationRoute },
      async ({ params, apiKeyLabel }) => {
        await removeConfiguration(context, params.credential_configuration_id, apiKeyLabel)
        return {}
      },
    )
  })
}

function addSessionRoutes(app: App, context: IssuerContext): void {
  app.post('/issuance/oid4vci/new-session', { ...adminRoute, schema: schemas.newIssuanceRoute }, async (request) => {
    const { body, apiKeyLabel } = request
    const idempotentRequest = readIdempotentRequest(request, 'issuance', context.now())
    const answer = await answerIdempotently(context, idempotentRequest, (remember) =>
      startIssuanceSession(context, body, { caller: apiKeyLabel, remember }),
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
  const config = { walletEndpoint: 'credential-offer' }
  app.get(`${ISSUER_PATHS.offer}/:session_id`, { config, schema: schemas.offerRoute }, ({ params, method }) =>
    // Previews of links and probes send HEAD.
    getOffer(context, params.session_id, method === 'GET'),
  )
}

function addTypeRoutes(app: App, context: IssuerContext): void {
  app.get(`${TYPE_METADATA_PATH}/:name`, { schema: typeMetadataRoute }, async (request, reply) =>
    sendDocument(request, reply.type(JSON_TYPE), await getTypeMetadata(context, request.params.name)),
  )
}

/**
 * Adds the routes of the issuer metadata: for the service, and for a session with the well-known part inserted and, for
 * older drafts, appended.
 */
function addDocumentRoutes(app: App, context: IssuerContext): void {
  const [base, inserted, appended] = makeDocumentPaths('openid-credential-issuer')
  const summary = 'Credential issuer metadata'
  const schema = schemas.signedDocumentRoute('getIssuerMetadata', summary, IssuerMetadata)
  const sessionSchema = (operationId: string) => ({
    ...schemas.signedDocumentRoute(operationId, `${summary} of a session`, IssuerMetadata),
    ...refusalCodes('not_found', 'temporarily_unavailable'),
    params: SessionParams,
  })
  app.get(base, { schema }, (request, reply) => answerMetadata(context, request, reply, 'final'))
  app.get(inserted, { schema: sessionSchema('getSessionIssuerMetadata') }, (request, reply) =>
    answerMetadata(context, request, reply, 'final'),
  )
  app.get(appended, { schema: sessionSchema('getSessionIssuerMetadataForDrafts') }, (request, reply) =>
    answerMetadata(context, request, reply, 'older'),
  )
}

/** Sends the metadata as JSON, or as a signed JWT if the client prefers it and it can be signed. */
async function answerMetadata(
  context: IssuerContext,
  request: FastifyRequest,
  reply: FastifyReply,
  version: MetadataVersion,
) {
  reply.header('vary', 'Accept')
  const metadata = await makeIssuerMetadata(
    context,
    (request.params as Partial<Static<typeof SessionParams>>).session_id,
    version,
  )
  const type = preferredType(request.headers.accept, [JSON_TYPE, JWT_TYPE])
  const signed = type === JWT_TYPE ? await context.signMetadata(metadata) : undefined
  return sendDocument(request, reply.type(signed ? JWT_TYPE : `${JSON_TYPE}; charset=utf-8`), signed ?? metadata)
}
