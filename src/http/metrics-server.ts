/** `GET /metrics` on a port of its own, which is the operator's alone. */
import Fastify from 'fastify'
import type { App } from './app-type.ts'
import { WITHOUT_SCHEMAS } from './without-schemas.ts'

/** The metrics of a service, in a text format that monitoring reads. */
export interface MetricsSource {
  readonly contentType: string
  metrics(): Promise<string>
}

/** Makes a server of metrics that does not listen yet. */
export async function createMetricsServer(source: MetricsSource): Promise<App> {
  const app = Fastify({ ...WITHOUT_SCHEMAS, logger: false, forceCloseConnections: true } as Parameters<
    typeof Fastify
  >[0]) as unknown as App
  app.get('/metrics', async (_request, reply) => {
    reply.header('content-type', source.contentType)
    return reply.send(await source.metrics())
  })
  await app.ready()
  return app
}
