/** The routes of queries, for the application. */
import { adminRoute } from '../http/app.ts'
import type { App } from '../http/app-type.ts'
import type { VerifierContext } from './context.ts'
import { createQuery, refuseWrappedQuery, requireQuery } from './queries.ts'
import * as schemas from './schemas.ts'
import { simulateQuery } from './simulation.ts'

/** Adds the routes that create, return and simulate queries. */
export function addQueryRoutes(app: App, context: VerifierContext): void {
  app.post(
    '/verification-query/create',
    { ...adminRoute, schema: schemas.createQueryRoute },
    async ({ body, apiKeyLabel }, reply) => {
      const id = await createQuery(context, body.dcql_query, apiKeyLabel)
      return reply.code(201).type('text/plain').send(id)
    },
  )
  app.post(
    '/dcql-query/create',
    { ...adminRoute, schema: schemas.createBareQueryRoute },
    async ({ body, apiKeyLabel }, reply) => {
      refuseWrappedQuery(body)
      const id = await createQuery(context, body, apiKeyLabel)
      return reply.code(201).type('text/plain').send(id)
    },
  )
  app.post('/verification-query/simulate', { ...adminRoute, schema: schemas.simulateQueryRoute }, ({ body }) =>
    simulateQuery(body, context.config),
  )
  app.get(
    '/verification-query/:verification_query_id',
    { ...adminRoute, schema: schemas.getQueryRoute },
    async ({ params }) => ({
      ...params,
      dcql_query: await requireQuery(context, params.verification_query_id),
    }),
  )
}
