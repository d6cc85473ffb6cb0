/** Every path of the verification service, who may call it, and the function that answers. */
import Type from 'typebox'
import { formRoutes } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import { refuse } from '../protocol/error.ts'
import { receiveResponse } from './authorization-response.ts'
import type { VerifierContext } from './context.ts'
import { startSession } from './new-session.ts'
import { createQuery, getQuery } from './queries.ts'
import { getRequestObject } from './request-object.ts'
import { getStatus } from './session-status.ts'

const admin = { config: { admin: true } } as const
const adminSecurity = { security: [{ apiKey: [] }], tags: ['integration'] }
const walletSecurity = { security: [], tags: ['wallet'] }
const SessionParams = Type.Object({ session_id: Type.String() })

const QueryBody = Type.Object({ dcql_query: Type.Object({}) }, { additionalProperties: false })

const NewSessionBody = Type.Object(
  {
    verification_query_id: Type.String(),
    expires_in: Type.Optional(Type.Integer({ minimum: 1, maximum: 604_800, description: 'Seconds' })),
    redirect_uri: Type.Optional(Type.Unknown()),
    transaction_data: Type.Optional(Type.Unknown()),
  },
  { additionalProperties: false },
)

const ResponseBody = Type.Object({
  vp_token: Type.Optional(Type.String({ description: 'JSON object: credential query id to array of presentations' })),
  state: Type.Optional(Type.String()),
  error: Type.Optional(Type.String()),
  error_description: Type.Optional(Type.String()),
})

export function verifierRoutes(app: App, context: VerifierContext): void {
  queryRoutes(app, context)
  sessionRoutes(app, context)
  walletRoutes(app, context)
}

function queryRoutes(app: App, context: VerifierContext): void {
  const create = { ...adminSecurity, summary: 'Store a DCQL query', body: QueryBody }
  app.post('/verification-query/create', { ...admin, schema: create }, async ({ body }, reply) =>
    reply
      .code(201)
      .type('text/plain')
      .send(await createQuery(context, body.dcql_query)),
  )
  const bare = { ...adminSecurity, summary: 'Store a DCQL query (bare)', body: Type.Object({}) }
  app.post('/dcql-query/create', { ...admin, schema: bare }, async ({ body }, reply) =>
    reply
      .code(201)
      .type('text/plain')
      .send(await createQuery(context, body)),
  )
  const get = {
    ...adminSecurity,
    summary: 'A DCQL query as it was posted',
    params: Type.Object({ verification_query_id: Type.String() }),
  }
  app.get('/verification-query/:verification_query_id', { ...admin, schema: get }, async ({ params }) => ({
    ...params,
    dcql_query: await getQuery(context, params.verification_query_id),
  }))
}

function sessionRoutes(app: App, context: VerifierContext): void {
  const start = { ...adminSecurity, summary: 'Start a verification session', body: NewSessionBody }
  app.post('/presentation/oid4vp/new-session', { ...admin, schema: start }, async ({ body, headers }) => {
    refuseLater({ ...body, 'Idempotency-Key': headers['idempotency-key'] })
    return startSession(context, body)
  })
  const status = { ...adminSecurity, summary: 'The status of a session, and every check', params: SessionParams }
  app.get('/presentation/oid4vp/status/:session_id', { ...admin, schema: status }, ({ params }) =>
    getStatus(context, params.session_id),
  )
}

function walletRoutes(app: App, context: VerifierContext): void {
  const request = { ...walletSecurity, summary: 'The signed request object', params: SessionParams }
  app.get('/presentation/oid4vp/authorization-request/:session_id', { schema: request }, async ({ params }, reply) =>
    reply.type('application/oauth-authz-req+jwt').send(await getRequestObject(context, params.session_id)),
  )
  formRoutes(app, (scope) => {
    const schema = {
      ...walletSecurity,
      summary: 'Present, or say why not',
      consumes: ['application/x-www-form-urlencoded'],
      params: SessionParams,
      body: ResponseBody,
    }
    const config = { malformed: 'invalid_request' } as const
    scope.post(
      '/presentation/oid4vp/authorization-response/:session_id',
      { config, schema },
      async ({ params, body }) => {
        await receiveResponse(context, params.session_id, body)
        return {}
      },
    )
  })
}

/** Fields that a later release brings are refused by name, so that nobody relies on one that does nothing. */
function refuseLater(fields: Readonly<Record<string, unknown>>): void {
  for (const name of ['redirect_uri', 'transaction_data', 'Idempotency-Key']) {
    if (fields[name] !== undefined) refuse('invalid_request', `${name}: not yet supported`)
  }
}
