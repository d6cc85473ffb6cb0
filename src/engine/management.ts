/** `GET /metrics`, on a port of its own: it is the operator's, and nobody else's. */
import Fastify from 'fastify'
import type { App } from '../http/app-type.ts'
import { WITHOUT_SCHEMAS } from '../http/without-schemas.ts'
import type { Metrics } from './metrics.ts'

/** Does not listen. */
export async function createManagement({ registry }: Metrics): Promise<App> {
  const app = Fastify({ ...WITHOUT_SCHEMAS, logger: false, forceCloseConnections: true } as Parameters<
    typeof Fastify
  >[0]) as unknown as App
  app.get('/metrics', async (_request, reply) => {
    reply.header('content-type', registry.contentType)
    return reply.send(await registry.metrics())
  })
  await app.ready()
  return app
}
