/** Serves `GET /metrics` on its own port, for operators only. */
import Fastify from 'fastify'
import type { Registry } from 'prom-client'
import type { App } from './app-type.ts'
import { makeSchemaController } from './server.ts'

/** The metrics of a service in the Prometheus text format. */
export interface MetricsSource {
  readonly contentType: string
  metrics(): Promise<string>
}

/** The metrics of one process, also as data, to which those of other processes can be added. */
export interface ProcessMetrics extends MetricsSource {
  getMetricsAsJSON(): Promise<readonly MeasuredMetric[]>
}

/** A metric with its values, as processes send it to each other. */
export type MeasuredMetric = Awaited<ReturnType<Registry['getMetricsAsJSON']>>[number]

/** Creates the server of metrics. The caller makes it listen. */
export async function createMetricsServer(source: MetricsSource): Promise<App> {
  const options = { schemaController: makeSchemaController(), logger: false, forceCloseConnections: true }
  const app = Fastify(options as unknown as Parameters<typeof Fastify>[0]) as unknown as App
  app.get('/metrics', async (_request, reply) => {
    reply.header('content-type', source.contentType)
    return reply.send(await source.metrics())
  })
  await app.ready()
  return app
}
