/** The routes of what is fetched without an access token: offers, issuer and type metadata, the revocation list. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import { preferredType } from '../http/accept.ts'
import type { App } from '../http/app-type.ts'
import { sendDocument } from '../http/document.ts'
import { JSON_TYPE, JWT_TYPE, refusalCodes, SessionParams } from '../http/openapi-responses.ts'
import { IssuerMetadata } from '../protocol/oid4vci.ts'
import type { IssuerContext, MetadataVersion } from './context.ts'
import { ISSUER_PATHS, makeDocumentPaths } from './issuer-addresses.ts'
import { makeIssuerMetadata } from './metadata.ts'
import { getOffer } from './offer.ts'
import { getRevocationList, REVOCATION_LIST_TYPE, revocationListRoute } from './revocation-list.ts'
import * as schemas from './schemas.ts'
import { getTypeMetadata, TYPE_METADATA_PATH, typeMetadataRoute } from './type-metadata.ts'

/** Adds the routes of all documents. */
export function addDocumentRoutes(app: App, context: IssuerContext): void {
  addOfferRoute(app, context)
  addMetadataRoutes(app, context)
  addTypeRoute(app, context)
  addRevocationListRoute(app, context)
}

function addOfferRoute(app: App, context: IssuerContext): void {
  const config = { walletEndpoint: 'credential-offer' }
  app.get(`${ISSUER_PATHS.offer}/:session_id`, { config, schema: schemas.offerRoute }, ({ params, method }) =>
    // Previews of links and probes send HEAD.
    getOffer(context, params.session_id, method === 'GET'),
  )
}

/**
 * Adds the routes of the issuer metadata: for the service, and for a session with the well-known part inserted and, for
 * older drafts, appended.
 */
function addMetadataRoutes(app: App, context: IssuerContext): void {
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

function addTypeRoute(app: App, context: IssuerContext): void {
  app.get(`${TYPE_METADATA_PATH}/:name`, { schema: typeMetadataRoute }, async (request, reply) =>
    sendDocument(request, reply.type(JSON_TYPE), await getTypeMetadata(context, request.params.name)),
  )
}

function addRevocationListRoute(app: App, context: IssuerContext): void {
  app.get(ISSUER_PATHS.revocationList, { schema: revocationListRoute }, (request, reply) =>
    sendDocument(request, reply.type(REVOCATION_LIST_TYPE), getRevocationList(context)),
  )
}
