/** The routes for credential status: changes by the application, and status lists for verifiers. */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { statusPurposes } from '../../codec/status-list.ts'
import { acceptsGzip, preferredType } from '../../http/accept.ts'
import { addBodylessRoutes } from '../../http/app.ts'
import type { App } from '../../http/app-type.ts'
import { isKnownTag, sendPieces } from '../../http/document.ts'
import { refuse } from '../../protocol/error.ts'
import type { IssuerContext } from '../context.ts'
import { ISSUER_PATHS } from '../issuer-addresses.ts'
import { changeStatus, type StatusAct, statusActs } from './change-status.ts'
import { LIST_MEDIA_TYPES, type ListKind } from './documents.ts'
import { createPublishedListReader, type PublishedList } from './published-list.ts'
import * as schemas from './schemas.ts'

/** Adds the routes that revoke, suspend and reinstate credentials, and those that serve status lists. */
export function addStatusRoutes(app: App, context: IssuerContext): void {
  addBodylessRoutes(app, (scope) => {
    for (const act of Object.keys(statusActs) as StatusAct[]) {
      const url = `/credential-status/${act}/:session_id`
      const config = { admin: true, logEvents: { 200: statusActs[act].logEvent } }
      scope.post(url, { config, schema: schemas.changeStatusRoute[act] }, ({ params, apiKeyLabel }) =>
        changeStatus(context, { sessionId: params.session_id, act, caller: apiKeyLabel }),
      )
    }
  })
  const readList = createPublishedListReader(context)
  const { ttlSeconds } = context.config.statusList
  app.get(`${ISSUER_PATHS.statusList}/:list_id`, { schema: schemas.statusListRoute }, async (request, reply) => {
    if (Object.hasOwn(request.query, 'time')) {
      refuse('not_implemented', 'time: only the present status is kept; ask without it')
    }
    const kind = kindFor(request.headers.accept)
    return sendList(request, reply, { ...(await readList(request.params.list_id, kind)), kind, ttlSeconds })
  })
  for (const purpose of statusPurposes) {
    const schema = schemas.bitstringListRoute[purpose]
    app.get(`${ISSUER_PATHS.statusList}/:list_id/${purpose}`, { schema }, async (request, reply) => {
      const { list_id: listId } = request.params
      return sendList(request, reply, { ...(await readList(listId, purpose)), kind: purpose, ttlSeconds })
    })
  }
}

function kindFor(accept: string | undefined): ListKind {
  return preferredType(accept, [LIST_MEDIA_TYPES.jwt, LIST_MEDIA_TYPES.cwt]) === LIST_MEDIA_TYPES.cwt ? 'cwt' : 'jwt'
}

/** Sends a status list, or 304 if the client has it. RFC 9110 sections 13.1.2 and 12.5.3; RFC 9111 section 5.2.2.1. */
async function sendList(
  { headers }: FastifyRequest,
  reply: FastifyReply,
  { etag, makeDocument, kind, ttlSeconds }: PublishedList & { readonly kind: ListKind; readonly ttlSeconds: number },
): Promise<FastifyReply> {
  const encoding = acceptsGzip(headers['accept-encoding']) ? 'gzip' : 'identity'
  const isKnown = isKnownTag(headers['if-none-match'], etag)
  // A list that cannot be signed now is refused without these headers, so that no cache keeps the refusal.
  const document = isKnown ? undefined : await makeDocument(encoding)
  reply.headers({ etag, 'cache-control': `max-age=${ttlSeconds}`, vary: 'Accept, Accept-Encoding' })
  if (document === undefined) return reply.code(304).send()
  if (encoding === 'gzip') reply.header('content-encoding', encoding)
  return sendPieces(reply.type(LIST_MEDIA_TYPES[kind]), [document])
}
